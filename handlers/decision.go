package handlers

import (
	"encoding/json"
	"strings"
	"unicode/utf16"

	"github.com/webreaderapi/webreader/reader"
)

// headerText is v as JSON in ASCII, fit for a header, or "" when it would be longer than 4 KB.
func headerText(v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 4096 {
		return ""
	}
	var b strings.Builder
	for _, r := range string(text) {
		if r < 0x7f {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u` + hex4(unit))
		}
	}
	return b.String()
}

func hex4(u uint16) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
}

// decisionHeader is WebReader-Decision: the decision without its hops.
func decisionHeader(d reader.Decision) string {
	d.Hops = nil
	return headerText(d)
}
