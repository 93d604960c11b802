package reader

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// fingerprintForm begins every fingerprint; it changes when equal pages would get other ones.
const fingerprintForm = "fp1_"

// fingerprint is a keyed digest of a page's title and text: nobody without the key can test a guess
// of the text against it, and two accounts' fingerprints of one page do not compare. Blanks and the
// form of accents make no difference. It is "" without a key.
func fingerprint(key []byte, title, text string) string {
	if len(key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	digest(mac, title)
	mac.Write([]byte{0})
	digest(mac, text)
	return fingerprintForm + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
}

// digest writes the words of s with single blanks between them, in composed form, a word at a time.
func digest(w io.Writer, s string) {
	composed := norm.NFC.Writer(w)
	first := true
	for word := range strings.FieldsSeq(s) {
		if !first {
			_, _ = composed.Write([]byte{' '}) // a digest takes everything
		}
		first = false
		_, _ = io.WriteString(composed, word)
	}
	_ = composed.Close()
}

// sameFingerprint compares in constant time; the empty fingerprint equals nothing.
func sameFingerprint(a, b string) bool {
	return a != "" && hmac.Equal([]byte(a), []byte(b))
}
