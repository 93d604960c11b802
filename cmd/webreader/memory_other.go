//go:build !linux

package main

import "runtime/debug"

// releaseStart gives back to the system what only the start needed.
func releaseStart() { debug.FreeOSMemory() }
