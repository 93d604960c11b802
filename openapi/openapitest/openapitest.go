// Package openapitest checks in tests that a server answers as the API's document says.
package openapitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/webreaderapi/webreader/openapi"
)

func init() {
	for _, media := range []string{"text/markdown", "text/html", "text/csv", "application/yaml", "application/x-ndjson", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.PlainBodyDecoder)
	}
}

// Transport sends requests by next and fails the test for each answer that is not as documented.
// Addresses that are not in the document, such as pages for people, pass.
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	spec, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	return transport{t, spec, next}
}

type transport struct {
	t    testing.TB
	spec *openapi3.T
	next http.RoundTripper
}

// RoundTrip sends r and checks its answer.
func (d transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	path, operation := d.find(r)
	if operation == nil {
		return answer, nil
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	if err != nil {
		return answer, nil //nolint:nilerr // the caller meets the error where it reads on
	}
	if err := d.check(r, path, operation, answer, body); err != nil {
		d.t.Errorf("%s %s: the answer is not as documented: %v\n%s", r.Method, path, err, body)
	}
	return answer, nil
}

// failing ends a body as the connection did.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// find is the operation of the document that r calls.
func (d transport) find(r *http.Request) (string, *openapi3.Operation) {
	for path, item := range d.spec.Paths.Map() {
		if matches(path, r.URL.Path) {
			return path, item.GetOperation(r.Method)
		}
	}
	return "", nil
}

// matches is true when path, with its {names}, stands for called.
func matches(path, called string) bool {
	want, got := strings.Split(path, "/"), strings.Split(called, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

func (d transport) check(r *http.Request, path string, operation *openapi3.Operation, answer *http.Response, body []byte) error {
	if answer.Header.Get("X-Request-Id") == "" {
		return fmt.Errorf("no X-Request-Id")
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{
			Spec: d.spec, Path: path, PathItem: d.spec.Paths.Find(path), Method: r.Method, Operation: operation}},
		Status: answer.StatusCode, Header: answer.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
}
