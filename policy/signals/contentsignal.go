package signals

import (
	"slices"
	"strings"
)

// UseLevels are the values of Content-Signal's use key, from the one that permits least.
var UseLevels = []string{"immediate", "reference", "full"}

// ContentSignals is what a site says about the purposes a page may serve (contentsignals.org):
// search, ai-input and ai-train, each "yes" or "no", and use, one of UseLevels. A key it does not
// speak about is absent. The longest path decides per key; among equals, and between robots.txt and
// the response header, the stricter value.
func (s Set) ContentSignals(token, pathQuery string) map[string]Said {
	m := newStrictest(stricterSignal)
	m.robots(s.Robots.File, token, pathQuery, "content-signal")
	for _, v := range fields(s.Header, "Content-Signal") {
		m.header("Content-Signal", v, parseContentSignal(v))
	}
	return m.said
}

func stricterSignal(key, a, b string) bool {
	if key == "use" {
		return slices.Index(UseLevels, a) < slices.Index(UseLevels, b)
	}
	return a == "no" && b == "yes"
}

// parseContentSignal is tolerant in blanks, case, quotes and separators: the scheme has no grammar.
func parseContentSignal(value string) []pair {
	var pairs []pair
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ';' }) {
		key, v, ok := strings.Cut(part, "=")
		key, v = lower(trim(key)), strings.Trim(lower(trim(v)), `"'`)
		if ok && isSignal(key, v) {
			pairs = append(pairs, pair{key, v})
		}
	}
	return pairs
}

func isSignal(key, value string) bool {
	switch key {
	case "search", "ai-input", "ai-train":
		return value == "yes" || value == "no"
	case "use":
		return slices.Contains(UseLevels, value)
	}
	return false
}
