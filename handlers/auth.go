package handlers

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/seal"
)

// authenticate finds the account behind the API key. It runs before the body is read.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key, err := bearer(c.Request().Header.Values("Authorization"))
		if err != nil {
			return err
		}
		ctx := c.Request().Context()
		principal, err := s.accounts.Authenticate(ctx, key)
		if err != nil {
			return err
		}
		call := callOf(ctx)
		call.principal = principal
		call.identity = func() (seal.Identity, error) { return seal.NewIdentity(key) }
		call.entry.Account, call.entry.Key = principal.Account, principal.Key
		return next(c)
	}
}

// bearer is the token of the Authorization header (RFC 6750 section 2.1).
func bearer(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", fault.New(fault.Unauthorized, "No key was sent. Send it as 'Authorization: Bearer wr_…'.")
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.New(fault.Unauthorized, "The Authorization header is not of the form 'Bearer wr_…'.")
	}
	return token, nil
}
