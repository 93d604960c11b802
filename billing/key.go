package billing

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"

	"github.com/webreaderapi/webreader/internal/seal"
)

const (
	keyPrefix   = "wr_"
	keyRandom   = 40 // characters of 5 bits: 200 random bits
	keyChecksum = 7  // characters that hold a CRC-32
	keyLength   = len(keyPrefix) + keyRandom + keyChecksum
)

// Secret is an API key as the customer holds it: "wr_", 200 random bits and a checksum, by which leak
// scanners tell it from other text. It is shown once and never stored; it hides itself from logs.
type Secret struct{ raw string }

// NewSecret makes an API key.
func NewSecret() Secret {
	body := randomText(keyRandom)
	return Secret{keyPrefix + body + checksum(body)}
}

// ParseSecret is the API key raw, and whether raw has the form of one.
func ParseSecret(raw string) (Secret, bool) {
	body, ok := strings.CutPrefix(raw, keyPrefix)
	if !ok || len(raw) != keyLength || checksum(body[:keyRandom]) != body[keyRandom:] {
		return Secret{}, false
	}
	return Secret{raw}, true
}

// Reveal is the key itself, for the one moment it is shown.
func (s Secret) Reveal() string { return s.raw }

// Hash is what is stored and looked up. A key has 200 random bits, so a plain SHA-256 is enough.
func (s Secret) Hash() string {
	sum := sha256.Sum256([]byte(s.raw))
	return hex.EncodeToString(sum[:])
}

// Prefix and Last4 are what is shown of a key later, to tell keys apart.
func (s Secret) Prefix() string { return s.raw[:min(len(s.raw), len(keyPrefix)+4)] }

// Last4 is the key's end.
func (s Secret) Last4() string { return s.raw[max(0, len(s.raw)-4):] }

// Identity opens what was sealed to the key.
func (s Secret) Identity() (seal.Identity, error) { return seal.NewIdentity(s.raw) }

// String hides the key.
func (s Secret) String() string { return "[api key]" }

// GoString hides the key from %#v.
func (s Secret) GoString() string { return "[api key]" }

func checksum(body string) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body)))
	return lower.EncodeToString(sum)
}
