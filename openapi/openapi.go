// Package openapi is the contract in machine-readable form: the document itself, and the types, server
// interface and Go client generated from it.
package openapi

import (
	_ "embed"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config oapi-codegen.yaml openapi.yaml

// YAML is the document as it is written.
//
//go:embed openapi.yaml
var YAML []byte

// Load parses the document.
func Load() (*openapi3.T, error) {
	document, err := openapi3.NewLoader().LoadFromData(YAML)
	if err != nil {
		return nil, fmt.Errorf("the API's document: %w", err)
	}
	return document, nil
}

// JSON is the document as JSON.
func JSON() ([]byte, error) {
	document, err := Load()
	if err != nil {
		return nil, err
	}
	return document.MarshalJSON()
}
