package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// reference is the API's document in the form that the page /docs shows.
type reference struct {
	Intro      []string
	Operations []operationText
	Schemas    []schemaText
}

type operationText struct {
	ID, Method, Path, Summary string
	Text                      []string
	Open                      bool // needs no key
	Params                    []fieldText
	Body                      string
	Answer                    []answerText
	rank                      int // of its tag in the document
}

type answerText struct{ Media, Schema string }

type schemaText struct {
	Name, Text string
	Fields     []fieldText
}

type fieldText struct {
	Name, Type, Text string
	Required         bool
}

func referenceOf(spec *openapi3.T) reference {
	r := reference{Intro: paragraphs(spec.Info.Description)}
	for _, path := range slices.Sorted(maps.Keys(spec.Paths.Map())) {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPatch, http.MethodDelete} {
			if o := spec.Paths.Find(path).GetOperation(method); o != nil {
				r.Operations = append(r.Operations, operationOf(spec, method, path, o))
			}
		}
	}
	slices.SortStableFunc(r.Operations, func(a, b operationText) int { return a.rank - b.rank })
	names := make([]string, 0, len(spec.Components.Schemas))
	for name, s := range spec.Components.Schemas {
		if len(s.Value.Properties) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r.Schemas = append(r.Schemas, schemaOf(name, spec.Components.Schemas[name].Value))
	}
	return r
}

func operationOf(spec *openapi3.T, method, path string, o *openapi3.Operation) operationText {
	t := operationText{ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, Text: paragraphs(o.Description)}
	t.rank = slices.IndexFunc(spec.Tags, func(tag *openapi3.Tag) bool { return slices.Contains(o.Tags, tag.Name) })
	t.Open = o.Security != nil && len(*o.Security) == 0
	for _, p := range o.Parameters {
		text := p.Value.Description
		if text == "" && p.Value.Schema != nil {
			text = p.Value.Schema.Value.Description
		}
		t.Params = append(t.Params, fieldText{p.Value.Name, typeOf(p.Value.Schema), strings.ReplaceAll(text, "`", ""), p.Value.Required})
	}
	if o.RequestBody != nil {
		if media := o.RequestBody.Value.Content.Get("application/json"); media != nil {
			t.Body = refName(media.Schema)
		}
	}
	for _, status := range []int{http.StatusOK, http.StatusCreated, http.StatusAccepted} {
		answer := o.Responses.Status(status)
		if answer == nil {
			continue
		}
		for media, content := range answer.Value.Content {
			t.Answer = append(t.Answer, answerText{media, refName(content.Schema)})
		}
	}
	slices.SortFunc(t.Answer, func(a, b answerText) int { return strings.Compare(a.Media, b.Media) })
	return t
}

func schemaOf(name string, s *openapi3.Schema) schemaText {
	t := schemaText{Name: name, Text: strings.ReplaceAll(s.Description, "`", "")}
	for field, ref := range s.Properties {
		t.Fields = append(t.Fields, fieldText{field, typeOf(ref), strings.ReplaceAll(ref.Value.Description, "`", ""), slices.Contains(s.Required, field)})
	}
	slices.SortFunc(t.Fields, func(a, b fieldText) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return t
}

// typeOf is a schema's type in words: "list of markdown, text, html", "number", "Decision".
func typeOf(ref *openapi3.SchemaRef) string {
	if ref == nil || ref.Value == nil {
		return ""
	}
	s := ref.Value
	switch {
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			words[i] = fmt.Sprint(w)
		}
		return strings.Join(words, " | ")
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case len(s.Properties) > 0 && ref.Ref != "":
		return refName(ref)
	case s.Format != "" && s.Format != "int64":
		return s.Format
	case s.Type != nil:
		return strings.Join(s.Type.Slice(), " or ")
	}
	return "any"
}

func refName(ref *openapi3.SchemaRef) string {
	if ref == nil {
		return ""
	}
	return ref.Ref[strings.LastIndexByte(ref.Ref, '/')+1:]
}
