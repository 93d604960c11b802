package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/internal/fault"
)

// What a request may bring at most, and how long its body may take.
const (
	maxBody   = 1 << 20
	bodyTime  = 30 * time.Second
	maxErrors = 20
)

// validate checks a request against the operation of the document that it is for. What it lets
// through has exactly the fields that the document lists.
func (s *Server) validate(next echo.HandlerFunc) echo.HandlerFunc {
	// Under a document of 3.1 the library compiles the schema anew for each request, which takes a
	// millisecond. Its own validator knows all that our request schemas say, so it is told 3.0. Tests
	// check answers with the full one.
	spec := *s.spec
	spec.OpenAPI = "3.0.3"
	options := &openapi3filter.Options{
		MultiError: true, KeepValidatedValue: true, SkipSettingDefaults: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, // authenticate has run
	}
	return func(c echo.Context) error {
		r := c.Request()
		path := documented(c.Path())
		item := s.spec.Paths.Find(path)
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // RFC 9110 section 9.3.2: the same without the body
		}
		if item == nil || item.GetOperation(method) == nil {
			return fmt.Errorf("%s %s is served but not documented", r.Method, path)
		}
		operation := item.GetOperation(method)
		fields, err := checkParameters(r, operation)
		if err != nil {
			return err
		}
		body, err := s.readBody(c, operation)
		if err != nil {
			return err
		}
		fields = append(fields, unknownFields(operation, body)...)
		params := map[string]string{}
		for i, name := range c.ParamNames() {
			params[name] = c.ParamValues()[i]
		}
		checks := options
		if isCSV(r) { // its reader says which line is wrong
			plain := *options
			plain.ExcludeRequestBody = true
			checks = &plain
		}
		err = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params, Options: checks,
			Route: &routers.Route{Spec: &spec, Path: path, PathItem: item, Method: method, Operation: operation},
		})
		fields = append(fields, fieldsOf(err, nil)...)
		if err == nil && len(fields) == 0 {
			return next(c)
		}
		return invalid(fields)
	}
}

// documented is Echo's form of a path in the document's: "/keys/:id" is "/keys/{id}".
func documented(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// invalid is the fault for fields that are wrong.
func invalid(fields []fault.Field) *fault.Error {
	slices.SortFunc(fields, func(a, b fault.Field) int { return strings.Compare(a.Name, b.Name) })
	fields = slices.CompactFunc(fields, func(a, b fault.Field) bool { return a.Name == b.Name })
	f := &fault.Error{Kind: fault.InvalidRequest, Fields: fields[:min(len(fields), maxErrors)]}
	if len(fields) == 1 {
		f.Detail = fields[0].Name + " " + fields[0].Detail + "."
	} else if len(fields) > 1 {
		f.Detail = fmt.Sprintf("%d fields are wrong; errors lists them. The first: %s %s.", len(fields), fields[0].Name, fields[0].Detail)
	}
	return f
}

// readBody reads the body within its limits, so that checking it cannot wait or grow.
func (s *Server) readBody(c echo.Context, operation *openapi3.Operation) ([]byte, error) {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxBody))
	if err != nil {
		return nil, bodyFault(err)
	}
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) // a connection without deadlines needs none lifted
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	if operation.RequestBody == nil {
		return nil, nil
	}
	if len(body) == 0 {
		return nil, fault.New(fault.InvalidRequest, "The request has no body. Send a JSON object and 'Content-Type: application/json'.")
	}
	media := mediaOf(r)
	if operation.RequestBody.Value.Content.Get(media) == nil {
		return nil, fault.New(fault.InvalidRequest, "The body's Content-Type is not one this address takes. Send JSON with 'Content-Type: application/json'.")
	}
	if isCSV(r) {
		return body, nil
	}
	return body, wellFormed(body)
}

func bodyFault(err error) error {
	var tooBig *http.MaxBytesError
	if errors.As(err, &tooBig) {
		return fault.New(fault.InvalidRequest, "The body is larger than 1 MB. Send less at once.")
	}
	return &fault.Error{Kind: fault.InvalidRequest, Detail: "The body did not arrive completely. Send it again, within 30 seconds.", Err: err}
}

func mediaOf(r *http.Request) string {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func isCSV(r *http.Request) bool { return mediaOf(r) == "text/csv" }

// wellFormed is nil for one JSON value in UTF-8 and nothing after it.
func wellFormed(body []byte) error {
	if !utf8.Valid(body) {
		return fault.New(fault.InvalidRequest, "The body is not valid UTF-8, as JSON must be.")
	}
	var syntax *json.SyntaxError
	var value json.RawMessage
	err := json.Unmarshal(body, &value)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return fault.New(fault.InvalidRequest, fmt.Sprintf("The body is not valid JSON; it breaks at byte %d.", syntax.Offset))
	}
	return fault.New(fault.InvalidRequest, "The body is not valid JSON.")
}

// checkParameters names the query's parameters that the operation does not have, or has once. Lists of
// words may be written with commas: they are repeated parameters from here on.
func checkParameters(r *http.Request, operation *openapi3.Operation) ([]fault.Field, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "The query cannot be read. Encode its values: ; is %3B, % is %25.")
	}
	var fields []fault.Field
	for name, values := range query {
		parameter := operation.Parameters.GetByInAndName("query", name)
		switch {
		case parameter == nil:
			detail := unknown
			if operation.Parameters.GetByInAndName("query", "url") != nil {
				detail += "; if it belongs to the page's own address, encode the whole address as a query value"
			}
			fields = append(fields, fault.Field{Name: shortName(name), Detail: detail})
		case isList(parameter.Schema):
			if isWord(parameter.Schema.Value.Items) {
				query[name] = strings.Split(strings.Join(values, ","), ",")
			}
		case len(values) > 1:
			fields = append(fields, fault.Field{Name: name, Detail: "is given more than once"})
		}
	}
	r.URL.RawQuery = query.Encode()
	for _, parameter := range operation.Parameters {
		if name := parameter.Value.Name; parameter.Value.In == openapi3.ParameterInHeader && len(r.Header.Values(name)) > 1 {
			fields = append(fields, fault.Field{Name: name, Detail: "is given more than once"})
		}
	}
	return fields, nil
}

func isList(ref *openapi3.SchemaRef) bool {
	return ref != nil && ref.Value != nil && ref.Value.Items != nil
}

// isWord is true for one of a few words, none of which has a comma.
func isWord(ref *openapi3.SchemaRef) bool {
	return ref != nil && ref.Value != nil && len(ref.Value.Enum) > 0
}

const unknown = "is not known here"

// unknownFields are the fields of a body that its schema does not list.
func unknownFields(operation *openapi3.Operation, body []byte) []fault.Field {
	if operation.RequestBody == nil {
		return nil
	}
	media := operation.RequestBody.Value.Content.Get(mediaJSON)
	var value any
	if media == nil || json.Unmarshal(body, &value) != nil {
		return nil
	}
	return unknownIn(media.Schema, value, "")
}

// unknownIn goes down value only as far as the schema does.
func unknownIn(ref *openapi3.SchemaRef, value any, at string) []fault.Field {
	if ref == nil || ref.Value == nil {
		return nil
	}
	var fields []fault.Field
	switch v := value.(type) {
	case map[string]any:
		if len(ref.Value.Properties) == 0 {
			return nil
		}
		for name, inner := range v {
			property, ok := ref.Value.Properties[name]
			if !ok {
				fields = append(fields, fault.Field{Name: at + shortName(name), Detail: unknown})
				continue
			}
			fields = append(fields, unknownIn(property, inner, at+name+".")...)
		}
	case []any:
		for i, inner := range v {
			if len(fields) > maxErrors {
				break
			}
			fields = append(fields, unknownIn(ref.Value.Items, inner, fmt.Sprintf("%s%d.", at, i))...)
		}
	}
	return fields
}

// shortName is a name of the caller's own, fit to be shown.
func shortName(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "") + "…"
	}
	return name
}

// fieldsOf names the fields that err, of the validator, is about. The validator's own words show
// whole schemas and values, so only its structure is used.
func fieldsOf(err error, at []string) []fault.Field {
	switch e := err.(type) { //nolint:errorlint // the tree of errors is walked by hand
	case openapi3.MultiError:
		var fields []fault.Field
		for _, one := range e {
			fields = append(fields, fieldsOf(one, at)...)
		}
		return fields
	case *openapi3filter.RequestError:
		if e.Parameter != nil {
			return parameterFields(e)
		}
		return fieldsOf(e.Err, at)
	case *openapi3.SchemaError:
		name := strings.Join(append(at, e.JSONPointer()...), ".")
		return schemaFields(name, e)
	case nil:
		return nil
	}
	return []fault.Field{{Name: "body", Detail: "cannot be read"}}
}

func parameterFields(e *openapi3filter.RequestError) []fault.Field {
	fields := fieldsOf(e.Err, []string{e.Parameter.Name})
	var parse *openapi3filter.ParseError
	switch {
	case errors.Is(e.Err, openapi3filter.ErrInvalidRequired), errors.Is(e.Err, openapi3filter.ErrInvalidEmptyValue):
		return []fault.Field{{Name: e.Parameter.Name, Detail: "is missing"}}
	case errors.As(e.Err, &parse):
		return []fault.Field{{Name: e.Parameter.Name, Detail: wantsType(e.Parameter.Schema)}}
	}
	return fields
}

func wantsType(ref *openapi3.SchemaRef) string {
	if ref == nil || ref.Value == nil || ref.Value.Type == nil {
		return "is not of the right form"
	}
	return "must be of type " + strings.Join(ref.Value.Type.Slice(), " or ")
}

// schemaFields say what rule of the document a value breaks. Unknown fields have been named before.
func schemaFields(name string, e *openapi3.SchemaError) []fault.Field {
	if strings.Contains(e.Reason, "unsupported") || strings.Contains(e.Reason, "additional properties") {
		return nil
	}
	if e.SchemaField == "required" {
		quoted := strings.FieldsFunc(e.Reason, func(r rune) bool { return r == '"' || r == '\'' })
		if name == "" && len(quoted) > 1 {
			name = quoted[1]
		}
		return []fault.Field{{Name: name, Detail: "is missing"}}
	}
	if name == "" {
		name = "body"
	}
	return []fault.Field{{Name: name, Detail: rule(e.SchemaField, e.Schema)}}
}

func rule(keyword string, s *openapi3.Schema) string {
	switch {
	case s == nil:
	case keyword == "enum" && len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			words[i] = fmt.Sprint(w)
		}
		return "must be one of " + strings.Join(words, ", ")
	case keyword == "type" && s.Type != nil:
		return "must be of type " + strings.Join(s.Type.Slice(), " or ")
	case keyword == "minimum" && s.Min != nil:
		return fmt.Sprintf("must be at least %.0f", *s.Min)
	case keyword == "maximum" && s.Max != nil:
		return fmt.Sprintf("must be at most %.0f", *s.Max)
	case keyword == "minLength" && s.MinLength == 1:
		return "must not be empty"
	case keyword == "minLength" && s.MinLength > 0:
		return fmt.Sprintf("must have at least %d characters", s.MinLength)
	case keyword == "maxLength" && s.MaxLength != nil:
		return fmt.Sprintf("must have at most %d characters", *s.MaxLength)
	case keyword == "minItems":
		return fmt.Sprintf("must have at least %d entries", s.MinItems)
	case keyword == "maxItems" && s.MaxItems != nil:
		return fmt.Sprintf("must have at most %d entries", *s.MaxItems)
	case keyword == "minProperties":
		return "must have at least one field"
	case keyword == "format":
		return "must be a " + s.Format + " (RFC 3339), such as 2026-01-31T12:00:00Z"
	case keyword == "nullable":
		return "must not be null"
	case keyword == "pattern" && s.Example != nil:
		return fmt.Sprintf("is not of the right form; an example: %v", s.Example)
	}
	return "is not of the right form"
}
