package change

import (
	"encoding/binary"
	"errors"
)

// State is what is kept of a page between two visits: fingerprints only. The zero State is a page
// never seen.
type State struct {
	Seen   bool
	Missed uint8      // visits in a row answered 404 or 410
	Whole  uint64     // of the main content in one piece
	Units  []unit     // of the main content, in order
	Others []uint32   // of the furniture, cut to 24 bits
	Spots  []flickers // places that differed before
	Past   []uint32   // prints of texts that took turns, cut to 24 bits, the latest last
	Slim   bool       // the page is long: Units hold 24 bits and no traits
	Coarse uint8      // it is very long: a unit stands for some 2^Coarse neighbours
	Exact  bool       // read from version 2: a unit's traits are the print of its text without digits
}

// unit is the trace of a sentence: its fingerprint and, in 24 bits, its traits.
type unit struct {
	print  uint64 // 40 bits
	traits uint32 // two of its words, each in wordBits, and whether it is plain and boxed
}

const (
	wordBits   = 11
	wordMask   = 1<<wordBits - 1
	traitPlain = 1 << 22 // it holds no number and tells of no call
	traitBoxed = 1 << 23 // and lies in a box of its own
)

func (u unit) is(trait uint32) bool { return u.traits&trait != 0 }

// words are what is kept of the words of u.
func (u unit) words() uint32 { return u.traits & (traitPlain - 1) }

// shares is true when u and v have a word in common, or one has no word.
func (u unit) shares(v unit) bool {
	a, b := u.traits>>wordBits&wordMask, u.traits&wordMask
	c, d := v.traits>>wordBits&wordMask, v.traits&wordMask
	return a == 0 || c == 0 || a == c || a == d || b != 0 && (b == c || b == d)
}

// short is the print of u in 24 bits.
func (u unit) short() uint32 { return uint32(u.print & otherMask) }

// flickers counts, for a place, the visits in a row at which it differed.
type flickers struct {
	place uint16
	runs  uint8
}

const (
	mostUnits  = 360
	mostSlim   = 900 // units of a long page
	mostOthers = 320
	mostSpots  = 40
	mostPast   = 36
	unitBytes  = 8
	exactBytes = 7 // of version 2
	shortBytes = 3 // of a print in 24 bits
	spotBytes  = 3
	stateV2    = 2 // without Past
	stateV3    = 3
	mostCoarse = 40
	flagSeen   = 1
	flagSlim   = 2
)

// ErrState says that bytes are not a State.
var ErrState = errors.New("change: not a state of this version")

// MarshalBinary is the state as it is stored: at most 4 KB. What was read from version 2 and not visited
// since is version 2 still.
func (s State) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 24+unitBytes*len(s.Units)+shortBytes*(len(s.Others)+len(s.Past))+spotBytes*len(s.Spots))
	version, flags := byte(stateV3), byte(0)
	if s.Exact {
		version = stateV2
	}
	if s.Seen {
		flags |= flagSeen
	}
	if s.Slim {
		flags |= flagSlim
	}
	b = append(b, version, flags, s.Missed, s.Coarse)
	b = binary.BigEndian.AppendUint64(b, s.Whole)
	b = binary.AppendUvarint(b, uint64(len(s.Units)))
	for _, u := range s.Units {
		if !s.Slim && !s.Exact {
			b = append(b, byte(u.traits>>16))
		}
		if !s.Slim {
			b = append(b, byte(u.traits>>8), byte(u.traits), byte(u.print>>32), byte(u.print>>24))
		}
		b = appendShort(b, u.short())
	}
	b = appendShorts(b, s.Others)
	b = binary.AppendUvarint(b, uint64(len(s.Spots)))
	for _, f := range s.Spots {
		b = append(binary.BigEndian.AppendUint16(b, f.place), f.runs)
	}
	if !s.Exact {
		b = appendShorts(b, s.Past)
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote, now or in version 2.
func (s *State) UnmarshalBinary(b []byte) error {
	*s = State{}
	if len(b) == 0 {
		return nil
	}
	if len(b) < 12 || b[0] != stateV2 && b[0] != stateV3 || b[1] > flagSeen|flagSlim || b[3] > mostCoarse {
		return ErrState
	}
	s.Seen, s.Slim, s.Missed, s.Coarse, s.Exact = b[1]&flagSeen != 0, b[1]&flagSlim != 0, b[2], b[3], b[0] == stateV2
	s.Whole = binary.BigEndian.Uint64(b[4:])
	b = s.units(b[12:])
	s.Others, b = shorts(b)
	spots, b := list(b, spotBytes)
	for ; len(spots) > 0; spots = spots[spotBytes:] {
		s.Spots = append(s.Spots, flickers{binary.BigEndian.Uint16(spots), spots[2]})
	}
	if !s.Exact {
		s.Past, b = shorts(b)
	}
	if b == nil || len(b) > 0 {
		return ErrState
	}
	return nil
}

// units reads the units off the front of b; the rest is nil when they are broken.
func (s *State) units(b []byte) []byte {
	size := unitBytes
	switch {
	case s.Slim:
		size = shortBytes
	case s.Exact:
		size = exactBytes
	}
	units, rest := list(b, size)
	for ; len(units) > 0; units = units[size:] {
		u := unit{print: uint64(short(units[size-shortBytes:]))}
		if !s.Slim {
			u.print |= uint64(binary.BigEndian.Uint16(units[size-5:])) << 24
			u.traits = uint32(binary.BigEndian.Uint16(units[size-7:]))
		}
		if size == unitBytes {
			u.traits |= uint32(units[0]) << 16
		}
		s.Units = append(s.Units, u)
	}
	return rest
}

func short(b []byte) uint32 { return uint32(b[0])<<16 | uint32(binary.BigEndian.Uint16(b[1:])) }

func appendShort(b []byte, v uint32) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }

func appendShorts(b []byte, prints []uint32) []byte {
	b = binary.AppendUvarint(b, uint64(len(prints)))
	for _, p := range prints {
		b = appendShort(b, p)
	}
	return b
}

// shorts reads a list of prints off the front of b.
func shorts(b []byte) (prints []uint32, rest []byte) {
	records, rest := list(b, shortBytes)
	for ; len(records) > 0; records = records[shortBytes:] {
		prints = append(prints, short(records))
	}
	return prints, rest
}

// list takes a counted list of records of size bytes off the front of b; the rest is nil when b has not so many.
func list(b []byte, size int) (records, rest []byte) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) || n*uint64(size) > uint64(len(b)-w) {
		return nil, nil
	}
	end := w + int(n)*size
	return b[w:end], b[end:len(b):len(b)]
}
