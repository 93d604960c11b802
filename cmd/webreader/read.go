package main

// readCommands are the commands that need no server: a field and a struct each.
type readCommands struct{}
