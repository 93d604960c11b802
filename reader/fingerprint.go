package reader

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
	mac.Write([]byte(norm.NFC.String(strings.Join(strings.Fields(title), " "))))
	mac.Write([]byte{0})
	mac.Write([]byte(norm.NFC.String(strings.Join(strings.Fields(text), " "))))
	return fingerprintForm + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
}

// sameFingerprint compares in constant time; the empty fingerprint equals nothing.
func sameFingerprint(a, b string) bool {
	return a != "" && hmac.Equal([]byte(a), []byte(b))
}
