package main

import (
	"fmt"
	"strings"

	"errors"

	"github.com/webreaderapi/webreader/internal/fault"
)

// The exit codes.
const (
	exitOK      = 0
	exitError   = 1
	exitUsage   = 2
	exitRefused = 3 // blocked by policy, refused by the site, address not allowed
	exitTarget  = 4 // the target failed
)

// usageError is a command line, a setting or an input file that cannot be used.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// reportedError is an error that its command has shown already: only its exit code counts.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// exitCode is the code a command ends with.
func exitCode(err error) int {
	var bad *usageError
	if errors.As(err, &bad) {
		return exitUsage
	}
	switch fault.Of(err) {
	case fault.InvalidRequest:
		return exitUsage
	case fault.BlockedBySitePolicy, fault.TargetRefused, fault.AddressNotAllowed:
		return exitRefused
	case fault.TargetNotFound, fault.TargetError, fault.TargetUnreachable, fault.TargetTimeout, fault.HostBusy,
		fault.UnsupportedContent, fault.TooLarge, fault.NoContent:
		return exitTarget
	}
	return exitError
}

// oneLine is err as one line for people.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
