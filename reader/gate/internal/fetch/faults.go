package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/webreaderapi/webreader/internal/fault"
)

// What customers read names the class of a failure and nothing more.

func notAllowed(err error) error {
	return &fault.Error{
		Kind: fault.AddressNotAllowed, Err: err,
		Detail: "The address is not a public one: only public host names on port 80 or 443 are read. Check the URL and where its redirects lead.",
	}
}

func noExit(err error) error {
	return &fault.Error{
		Kind: fault.InvalidRequest, Err: err, Fields: []fault.Field{{Name: "country", Detail: "no exit is available in this country"}},
		Detail: "No exit is available in the country asked for. Leave country out, or ask for one that the operator offers.",
	}
}

func unreachable(err error) error {
	return &fault.Error{
		Kind: fault.TargetUnreachable, Err: err,
		Detail: "The site could not be reached: its name, its certificate or the connection failed. Check the URL, or try again later.",
	}
}

func tooSlow(err error) error {
	return &fault.Error{Kind: fault.TargetTimeout, Err: err, Detail: "The site did not answer in time. Try again later."}
}

func tooLarge(what string) error {
	return &fault.Error{Kind: fault.TooLarge, Detail: "The answer is too large to be read: " + what + "."}
}

func badCoding(coding string) error {
	return &fault.Error{
		Kind:   fault.UnsupportedContent,
		Detail: fmt.Sprintf("The site sent the page under the content coding %q; gzip, br and zstd are read, one at a time.", coding),
	}
}

func damaged(err error) error {
	return &fault.Error{Kind: fault.UnsupportedContent, Err: err, Detail: "The site's answer is damaged: it cannot be decompressed."}
}

// answerFault: what went wrong after the request was written.
func answerFault(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	var timeout net.Error
	switch {
	case isOther(cause):
		return fmt.Errorf("fetch: %w", cause)
	case cause != nil, errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return tooSlow(err)
	case tooManyHeaders(err):
		return tooLarge("its headers are over the limit of 256 KB")
	}
	return unreachable(err)
}

// tooManyHeaders knows net/http's errors, which have no type, of both protocol versions.
func tooManyHeaders(err error) bool {
	s := err.Error()
	return strings.Contains(s, "response headers exceeded") || strings.Contains(s, "response header list larger")
}
