package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Document is a page that was read. It has no field others can reach, no encoder, and shows
// "[document]" to loggers and printers; its only exits are Page, inside a hand-over, and SealTo.
type Document struct {
	page       Page
	receipt    Receipt
	verdict    policy.Verdict
	validators gate.Validators
	trace      Trace
	body       []byte // keyed digest
	trail      Trail
}

const shown = "[document]"

// Page is the page, to be handed over to its customer. It is called inside a hand-over only.
func (d *Document) Page() Page { return d.page }

// Verdict is the judgement that let the page through.
func (d *Document) Verdict() policy.Verdict { return d.verdict }

// Receipt proves the read.
func (d *Document) Receipt() Receipt { return d.receipt }

// Validators make the next request for the page conditional.
func (d *Document) Validators() gate.Validators { return d.validators }

// SealTo seals the page's object, as the API shows it with that charge and request, so that only r's
// identity opens it, and only as belonging to c.
func (d *Document) SealTo(r seal.Recipient, c seal.Context, charge Charge, requestID string) (seal.Envelope, error) {
	plain, err := json.Marshal(Answer{Page: d.page, Charge: charge, RequestID: requestID})
	if err != nil {
		return nil, errors.New("seal a document: its page has no JSON form")
	}
	return r.Seal(c, plain)
}

// Format shows no page to printers, whatever the verb.
func (d Document) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, shown) }

// LogValue shows no page to loggers.
func (d Document) LogValue() slog.Value { return slog.StringValue(shown) }

// MarshalText shows no page to encoders: JSON, XML and the like.
func (d Document) MarshalText() ([]byte, error) { return []byte(shown), nil }

// MarshalBinary shows no page to encoders: gob and the like.
func (d Document) MarshalBinary() ([]byte, error) { return []byte(shown), nil }
