package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/webreaderapi/webreader/internal/seal"
)

var page = []byte(`{"markdown":"# Paper lanterns"}`)

var home = seal.Context{Account: "acc_1", Job: "job_1", Item: "1"}

func identity(t *testing.T, key string) seal.Identity {
	t.Helper()
	id, err := seal.NewIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func sealed(t *testing.T, r seal.Recipient) seal.Envelope {
	t.Helper()
	e, err := r.Seal(home, page)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnEnvelopeOpensWithTheKeyItWasSealedTo(t *testing.T) {
	e := sealed(t, identity(t, "wr_one").Recipient())
	if bytes.Contains(e, []byte("lanterns")) {
		t.Error("the envelope shows its text")
	}
	if len(e) != len(page)+seal.Overhead {
		t.Errorf("envelope of %d bytes for %d", len(e), len(page))
	}
	got, err := identity(t, "wr_one").Open(home, e)
	if err != nil || !bytes.Equal(got, page) {
		t.Errorf("opened %q, %v", got, err)
	}
}

func TestAStoredPublicKeyIsTheSameRecipient(t *testing.T) {
	id := identity(t, "wr_one")
	r, err := seal.NewRecipient(id.Recipient().PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := id.Open(home, sealed(t, r)); err != nil || !bytes.Equal(got, page) {
		t.Errorf("opened %q, %v", got, err)
	}
}

func TestAnEnvelopeDoesNotOpen(t *testing.T) {
	e := sealed(t, identity(t, "wr_one").Recipient())
	cut := e[:len(e)-1]
	flipped := append(seal.Envelope{}, e...)
	flipped[len(flipped)/2] ^= 1
	for name, try := range map[string]struct {
		key string
		in  seal.Context
		e   seal.Envelope
	}{
		"with another key":           {"wr_two", home, e},
		"under another account":      {"wr_one", seal.Context{Account: "acc_2", Job: "job_1", Item: "1"}, e},
		"under another job":          {"wr_one", seal.Context{Account: "acc_1", Job: "job_2", Item: "1"}, e},
		"as another item":            {"wr_one", seal.Context{Account: "acc_1", Job: "job_1", Item: "2"}, e},
		"with the parts shifted":     {"wr_one", seal.Context{Account: "acc_1j", Job: "ob_1", Item: "1"}, e},
		"when a byte is missing":     {"wr_one", home, cut},
		"when a byte is changed":     {"wr_one", home, flipped},
		"when nothing was sealed":    {"wr_one", home, nil},
		"when it is only random":     {"wr_one", home, random(t, 200)},
		"when it is shorter than it": {"wr_one", home, random(t, 10)},
	} {
		if got, err := identity(t, try.key).Open(try.in, try.e); !errors.Is(err, seal.ErrCannotOpen) || got != nil {
			t.Errorf("%s: opened %q, %v", name, got, err)
		}
	}
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNothingIsSealedToNobody(t *testing.T) {
	if _, err := (seal.Recipient{}).Seal(home, page); !errors.Is(err, seal.ErrNoRecipient) {
		t.Errorf("sealing to the zero recipient: %v", err)
	}
	if _, err := (seal.Identity{}).Open(home, random(t, 99)); !errors.Is(err, seal.ErrCannotOpen) {
		t.Errorf("opening with the zero identity: %v", err)
	}
	for _, n := range []int{0, 31, 33} {
		if _, err := seal.NewRecipient(make([]byte, n)); err == nil {
			t.Errorf("a public key of %d bytes was taken", n)
		}
	}
}

func TestNothingSecretIsPrinted(t *testing.T) {
	id := identity(t, "wr_one")
	for _, shown := range []string{fmt.Sprint(id), fmt.Sprintf("%+v", id), fmt.Sprintf("%#v", id)} {
		if shown != "[identity]" {
			t.Errorf("an identity prints as %s", shown)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	id, err := seal.NewIdentity("wr_one")
	if err != nil {
		b.Fatal(err)
	}
	text := make([]byte, 64<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := id.Recipient().Seal(home, text); err != nil {
			b.Fatal(err)
		}
	}
}
