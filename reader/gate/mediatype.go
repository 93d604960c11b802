package gate

import (
	"mime"
	"net/http"
	"strings"

	"github.com/webreaderapi/webreader/policy"
)

// mediaType is the type an answer gives itself, in lower case and without parameters. Only an answer
// that gives none is looked into.
func mediaType(h http.Header, body []byte) string {
	raw := h.Get("Content-Type")
	if strings.TrimSpace(raw) == "" {
		raw = http.DetectContentType(body)
	}
	bare := essence(raw)
	if last := strings.LastIndexByte(raw, ','); strings.Contains(bare, ",") && last >= 0 {
		bare = essence(raw[last+1:]) // two fields made one on the way: the last counts, as in browsers
	}
	if len(bare) > 100 || strings.Trim(bare, "abcdefghijklmnopqrstuvwxyz0123456789!#$&-^_.+/") != "" {
		return ""
	}
	return bare
}

// essence is the type in a Content-Type field, without parameters.
func essence(raw string) string {
	bare, _, _ := strings.Cut(raw, ";")
	if parsed, _, err := mime.ParseMediaType(raw); err == nil {
		bare = parsed
	}
	return strings.ToLower(strings.TrimSpace(bare))
}

func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

func isXML(mediaType string) bool {
	return mediaType == "application/xml" || mediaType == "text/xml" ||
		strings.HasSuffix(mediaType, "+xml") && !strings.HasPrefix(mediaType, "image/")
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json")
}

func isArchive(mediaType string) bool {
	switch mediaType {
	case "application/gzip", "application/x-gzip", "application/octet-stream":
		return true
	}
	return false
}

// readable is true for the types that a want can use. A sitemap may be a gzip file, which its reader
// unpacks.
func (r *reading) readable(mediaType string, t policy.Target) bool {
	switch {
	case isHTML(mediaType), isXML(mediaType), isJSON(mediaType):
		return true
	case mediaType == "text/plain", mediaType == "text/markdown", mediaType == "text/x-markdown":
		return true
	case isArchive(mediaType):
		packed := mediaType != "application/octet-stream" || strings.HasSuffix(t.Path(), ".gz")
		return r.ask.Want == WantSitemap && packed
	}
	return false
}
