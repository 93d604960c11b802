// Package seal encrypts a job's result to a key that only the customer's API key derives (HPKE, RFC
// 9180: X25519, HKDF-SHA256, the standard library's crypto/hpke). A stolen database shows no page.
package seal

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"
)

// PublicKeySize is the length of a recipient's public key in bytes.
const PublicKeySize = 32

// Overhead is how much longer an envelope is than what it holds: the encapsulated key and the tag.
const Overhead = PublicKeySize + 16

// derivation separates the sealing key from every other use of an API key. It is part of every key
// pair: it never changes.
const derivation = "webreader result key v1\x00"

// ErrNoRecipient is returned when something is sealed to the zero Recipient.
var ErrNoRecipient = errors.New("seal: no recipient")

// ErrCannotOpen is returned for an envelope that this identity, with this context, does not open.
var ErrCannotOpen = errors.New("seal: the envelope does not open with this key")

// Envelope is what was sealed. It shows nothing without the identity.
type Envelope []byte

// String hides even the sealed bytes from logs.
func (Envelope) String() string { return "[envelope]" }

// Context is what an envelope belongs to. It is bound into the seal: an envelope put under another
// account, job or item does not open.
type Context struct{ Account, Job, Item string }

// info is c with each part's length before it, so that no two contexts have one form.
func (c Context) info() []byte {
	info := []byte("webreader result v1")
	for _, part := range []string{c.Account, c.Job, c.Item} {
		info = binary.BigEndian.AppendUint32(info, uint32(len(part)))
		info = append(info, part...)
	}
	return info
}

// Recipient can be sealed to. The zero Recipient cannot.
type Recipient struct{ public hpke.PublicKey }

// NewRecipient is the recipient with a stored public key.
func NewRecipient(public []byte) (Recipient, error) {
	key, err := kem().NewPublicKey(public)
	if err != nil {
		return Recipient{}, fmt.Errorf("seal: public key: %w", err)
	}
	return Recipient{public: key}, nil
}

// IsZero is true for the recipient nothing can be sealed to.
func (r Recipient) IsZero() bool { return r.public == nil }

// PublicKey is what to store of r; nil for the zero Recipient.
func (r Recipient) PublicKey() []byte {
	if r.IsZero() {
		return nil
	}
	return r.public.Bytes()
}

// Seal encrypts plain so that only r's identity opens it, and only as belonging to c.
func (r Recipient) Seal(c Context, plain []byte) (Envelope, error) {
	if r.IsZero() {
		return nil, ErrNoRecipient
	}
	sealed, err := hpke.Seal(r.public, hpke.HKDFSHA256(), hpke.AES256GCM(), c.info(), plain)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return sealed, nil
}

// Identity opens what was sealed to its recipient. It exists only inside a request that carries the
// API key; it is never stored, and shows nothing to logs.
type Identity struct{ private hpke.PrivateKey }

// NewIdentity derives the identity of an API key. The same key always gives the same identity.
func NewIdentity(apiKey string) (Identity, error) {
	key, err := kem().DeriveKeyPair([]byte(derivation + apiKey))
	if err != nil {
		return Identity{}, fmt.Errorf("seal: derive the key pair: %w", err)
	}
	return Identity{private: key}, nil
}

// Recipient is who to seal to so that i opens it.
func (i Identity) Recipient() Recipient {
	if i.private == nil {
		return Recipient{}
	}
	return Recipient{public: i.private.PublicKey()}
}

// Open decrypts e, which must have been sealed to i's recipient as belonging to c.
func (i Identity) Open(c Context, e Envelope) ([]byte, error) {
	if i.private == nil {
		return nil, ErrCannotOpen
	}
	plain, err := hpke.Open(i.private, hpke.HKDFSHA256(), hpke.AES256GCM(), c.info(), e)
	if err != nil {
		return nil, ErrCannotOpen
	}
	return plain, nil
}

// String hides the key from logs.
func (Identity) String() string { return "[identity]" }

// GoString hides the key from %#v.
func (Identity) GoString() string { return "[identity]" }

func kem() hpke.KEM { return hpke.DHKEM(ecdh.X25519()) }
