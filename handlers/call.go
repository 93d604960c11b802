package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/policy"
)

// call is one request to the API on its way through the handlers.
type call struct {
	id        string
	base      string            // public address, without a slash at the end
	accept    string            // the header Accept
	languages string            // the header Accept-Language
	principal billing.Principal // zero without a key
	// identity opens what is sealed to the key of this call. It lives as long as the call.
	identity func() (seal.Identity, error)
	entry    telemetry.Request // the log line, as it fills
}

type callKey struct{}

// callOf is the call of ctx. The middleware observe puts it there.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

func requestID(c echo.Context) string { return callOf(c.Request().Context()).id }

func (s *Server) base(c echo.Context) string { return callOf(c.Request().Context()).base }

// setCode notes in the log line how the call failed.
func setCode(c echo.Context, f *fault.Error) {
	entry := &callOf(c.Request().Context()).entry
	entry.Code, entry.Reason = f.Kind.String(), f.Reason
	if f.Kind == fault.Internal && f.Reason != "client_gone" {
		entry.Err = f
		if f.Err != nil {
			entry.Err = f.Err
		}
	}
}

// aim notes in the log line which site the call is about.
func (c *call) aim(t policy.Target) {
	c.entry.TargetHost, c.entry.PathClass = t.Host(), telemetry.PathClass(t.URL())
}

// publicBase is the address under which r reached us. The host is taken only when it looks like one.
func publicBase(configured string, r *http.Request, scheme string) string {
	if configured != "" {
		return configured
	}
	if r.Host == "" || strings.ContainsAny(r.Host, "/\\@?# \"'<>&") {
		return ""
	}
	return scheme + "://" + r.Host
}
