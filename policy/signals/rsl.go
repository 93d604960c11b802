package signals

import (
	"net/url"
	"slices"
	"strings"
)

// rslType is the media type of a licence in the Really Simple Licensing format.
const rslType = "application/rsl+xml"

// maxLicences bounds how many licence addresses of a page are told.
const maxLicences = 20

// Licences are the absolute addresses of RSL licences that robots.txt, the Link header and the page
// name. They are only told, never fetched. Base is the page's URL.
func (s Set) Licences(base string) []string {
	var found []string
	add := func(ref string) {
		if a := absolute(base, ref); a != "" && len(found) < maxLicences && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	if s.Robots.File != nil {
		for _, l := range s.Robots.File.Licences {
			if isAbsolute(l) {
				add(l)
			}
		}
	}
	for _, v := range fields(s.Header, "Link") {
		for ref, params := range headerLinks(v) {
			if hasWord(params["rel"], "license") && mediaType(params["type"]) == rslType {
				add(ref)
			}
		}
	}
	for _, l := range s.Links {
		if hasWord(l.Rel, "license") && mediaType(l.Type) == rslType {
			add(l.Href)
		}
	}
	return found
}

func isAbsolute(ref string) bool {
	ref = lower(ref)
	return strings.HasPrefix(ref, "https://") || strings.HasPrefix(ref, "http://")
}

func absolute(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil || len(ref) > 2048 {
		return ""
	}
	u, err := b.Parse(trim(ref))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	return u.String()
}

func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return lower(trim(s))
}

// headerLinks are the targets of a Link header and their parameters (RFC 8288 section 3); of a
// repeated parameter the first one counts.
func headerLinks(value string) func(func(string, map[string]string) bool) {
	return func(yield func(string, map[string]string) bool) {
		for {
			_, after, ok := strings.Cut(value, "<")
			ref, rest, closed := strings.Cut(after, ">")
			if !ok || !closed {
				return
			}
			params := map[string]string{}
			value = linkParams(rest, params)
			if !yield(ref, params) {
				return
			}
		}
	}
}

// linkParams reads "; name=value" pairs and returns what follows them.
func linkParams(s string, params map[string]string) string {
	for {
		s = trim(s)
		if s == "" || s[0] != ';' {
			return s
		}
		end := strings.IndexAny(s[1:], "=;,")
		if end < 0 {
			return ""
		}
		name := lower(trim(s[1 : 1+end]))
		if s = s[1+end:]; s[0] != '=' {
			continue
		}
		var v string
		v, s = paramValue(trim(s[1:]))
		if _, known := params[name]; !known {
			params[name] = v
		}
	}
}

func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			return trim(s), ""
		}
		return trim(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:]
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}
