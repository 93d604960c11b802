package billing

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewID is prefix and 130 random bits: "acc_…", "key_…", "op_…". No one can guess another's.
func NewID(prefix string) string { return prefix + "_" + randomText(26) }

// ValidID is true for something NewID may have made.
func ValidID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix+"_")
	return ok && len(rest) == 26 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// randomText is n characters of 5 random bits each.
func randomText(n int) string {
	b := make([]byte, (n*5+7)/8)
	_, _ = rand.Read(b) // it never fails: it ends the program instead
	return lower.EncodeToString(b)[:n]
}
