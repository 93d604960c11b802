// Package change tells what changed on a page between two visits without a copy of it: a visit
// leaves behind keyed fingerprints of the page's sentences, which nobody can turn back into text.
//
// A change is a letter or digit of the main content that differs, or a link to a document that
// leads elsewhere. Clocks, counters, tokens, furniture and order are noise.
package change

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/webreaderapi/webreader/reader/extract"
)

// Kind is what a visit found.
type Kind string

// The kinds of a visit.
const (
	New       Kind = "new"
	Unchanged Kind = "unchanged"
	Changed   Kind = "changed"
	Gone      Kind = "gone"
	Back      Kind = "back"
)

// Passage is where something is new: the headings above it and a short quote.
type Passage struct {
	Heading []string `json:"heading"`
	Kind    string   `json:"kind"` // added or changed
	Excerpt string   `json:"excerpt"`
}

// Report is the outcome of one visit.
type Report struct {
	Kind     Kind
	Added    int // blocks that are new
	Removed  int // blocks that are gone
	Changed  int // blocks of which a part is new
	Passages []Passage
	// Ignored counts differences that were passed over: a count or time in a place that differed on most
	// of the visits before, a box or place whose texts take turns.
	Ignored int
	// Flickers tell of such differences, of the first ones on the page.
	Flickers []Flicker
}

// Flicker is a difference that was passed over.
type Flicker struct {
	Heading []string `json:"heading"`
	Why     string   `json:"why"`    // what differs: digits, or turns that texts take
	Visits  int      `json:"visits"` // in a row at which the place differed; a text that came back counts twice
}

// mostFlickers is how many of what was passed over a report tells of.
const mostFlickers = 8

// pass counts a difference that is passed over, which u shows now.
func (r *Report) pass(u textUnit, why string, visits uint8) {
	r.Ignored++
	if len(r.Flickers) < mostFlickers {
		r.Flickers = append(r.Flickers, Flicker{headings(u.owner.Heading), why, int(visits)})
	}
}

// Options of a Detector.
type Options struct {
	Key          []byte // of the customer: fingerprints of two customers cannot be compared
	ExcerptChars int    // longest excerpt in characters; 0 is 280
	MostPassages int    // 0 is 8
	Misses       int    // visits in a row with 404 or 410 until a page is gone; 0 is 1
}

// Detector compares visits of pages for one customer.
type Detector struct {
	o Options
}

// NewDetector makes a Detector.
func NewDetector(o Options) *Detector {
	if o.ExcerptChars <= 0 {
		o.ExcerptChars = 280
	}
	if o.MostPassages <= 0 {
		o.MostPassages = 8
	}
	if o.Misses <= 0 {
		o.Misses = 1
	}
	return &Detector{o}
}

// Missing records a visit that was answered 404 or 410. It returns the state to keep.
func (d *Detector) Missing(old State) (Report, State) {
	if old.Missed < 255 {
		old.Missed++
	}
	if int(old.Missed) == d.o.Misses && old.Seen {
		return Report{Kind: Gone}, old
	}
	return Report{Kind: Unchanged}, old
}

// Visit compares the blocks of a page with the state of the visit before, the zero State on the
// first. It returns the state to keep.
func (d *Detector) Visit(old State, blocks []extract.Block) (Report, State) {
	now := d.print(blocks)
	r, flicker := d.compare(old, &visit{keyed: now.keyed, units: now.joined(old.Coarse), others: now.others})
	state := now.state(flicker)
	if state.Whole == old.Whole {
		r = Report{Kind: Unchanged} // the same letters, set into other blocks
	}
	switch {
	case !old.Seen:
		r = Report{Kind: New}
	case int(old.Missed) >= d.o.Misses:
		r.Kind = Back
	}
	return r, state
}

// keyed makes fingerprints with the key of one customer.
type keyed struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func (d *Detector) keyed() *keyed { return &keyed{mac: hmac.New(sha256.New, d.o.Key)} }

// print is a keyed digest of a text, short enough that it gives nothing away.
func (k *keyed) print(text string) uint64 {
	k.mac.Reset()
	k.mac.Write([]byte(text))
	return binary.BigEndian.Uint64(k.mac.Sum(k.sum[:0]))
}
