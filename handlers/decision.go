package handlers

import (
	"encoding/json"
	"fmt"
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
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// decisionHeader is WebReader-Decision: the decision without its hops.
func decisionHeader(d reader.Decision) string {
	d.Hops = nil
	return headerText(d)
}
