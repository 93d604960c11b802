// Command webreader reads web pages as Markdown, through a gate that asks the site first.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	for _, line := range misspelt(os.Environ()) {
		fmt.Fprintln(os.Stderr, line)
	}
	code := run(ctx, os.Args[1:], os.Getenv, stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
