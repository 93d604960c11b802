package main

// accountCommands are the commands that work on the database: a field and a struct each.
type accountCommands struct{}
