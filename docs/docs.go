// Package docs holds the pages that the server shows under /docs.
package docs

import "embed"

// Errors has a page for each code of the API: errors/CODE.md.
//
//go:embed errors/*.md
var Errors embed.FS

// AcceptableUse is what customers may use the service for.
//
//go:embed acceptable-use.md
var AcceptableUse []byte
