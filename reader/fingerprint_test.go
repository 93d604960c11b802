package reader

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// What is digested word by word is the composed text with single blanks.
func TestFingerprintsDigestTheComposedText(t *testing.T) {
	for _, s := range []string{
		"", " ", "a", " a\u00a0 b\n\nc ", "ta\u0301mogata\u0301s \u0301x", "e\u0301\u0327 \u1100\u1161\u11a8", "bad \xff\xfe bytes", strings.Repeat("o\u0308", 50_000) + " \u0308",
	} {
		var got bytes.Buffer
		digest(&got, s)
		if want := norm.NFC.String(strings.Join(strings.Fields(s), " ")); got.String() != want {
			t.Errorf("%.40q: %.60q, want %.60q", s, got.String(), want)
		}
	}
}
