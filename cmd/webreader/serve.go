package main

// serveCommands are the commands that run the server: a field and a struct each.
type serveCommands struct{}
