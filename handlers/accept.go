package handlers

import (
	"mime"
	"strconv"
	"strings"
)

// choose is the offer that an Accept header likes best; the first one for a header that likes none or
// is empty (RFC 9110 section 12.5.1 leaves that to us). A type named in full goes before a wildcard.
func choose(accept string, offers ...string) string {
	best, bestQuality := offers[0], 0.0
	for _, offer := range offers {
		if q := quality(accept, offer); q > bestQuality {
			best, bestQuality = offer, q
		}
	}
	return best
}

// quality is how much accept likes media: that of the most specific range which matches.
func quality(accept, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	best, q := -1, 0.0
	for _, part := range strings.SplitN(accept, ",", 50) {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		specific := map[string]int{"*/*": 0, kind + "/*": 1, media: 2}
		s, ok := specific[name]
		if !ok || s <= best {
			continue
		}
		best, q = s, 1
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil || q < 0 || q > 1 {
				q = 0
			}
		}
	}
	return q
}
