// Package openapi is the contract in machine-readable form: the document itself, and the types, server
// interface and Go client generated from it.
package openapi

import _ "embed"

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config oapi-codegen.yaml openapi.yaml

// YAML is the document as it is written.
//
//go:embed openapi.yaml
var YAML []byte
