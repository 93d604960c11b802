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
	Units  []unit     // of the main content, in order
	Others []uint32   // of the furniture, cut to 32 bits
	Spots  []flickers // places that differed before
}

// unit is the trace of a sentence: its fingerprint and the place where it stands.
type unit struct {
	print uint64 // 48 bits are kept
	place uint16 // of its text without digits, or of its neighbours
}

// flickers counts, for a place, the visits in a row at which it differed.
type flickers struct {
	place uint16
	runs  uint8
}

const (
	mostUnits  = 420
	mostOthers = 160
	mostSpots  = 40
	stateV1    = 1
)

// ErrState says that bytes are not a State.
var ErrState = errors.New("change: not a state of this version")

// MarshalBinary is the state as it is stored: at most 4 KB.
func (s State) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 16+8*len(s.Units)+4*len(s.Others)+3*len(s.Spots))
	seen := byte(0)
	if s.Seen {
		seen = 1
	}
	b = append(b, stateV1, seen, s.Missed)
	b = binary.AppendUvarint(b, uint64(len(s.Units)))
	for _, u := range s.Units {
		b = append(b, byte(u.print>>40), byte(u.print>>32), byte(u.print>>24), byte(u.print>>16), byte(u.print>>8), byte(u.print))
		b = binary.BigEndian.AppendUint16(b, u.place)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Others)))
	for _, o := range s.Others {
		b = binary.BigEndian.AppendUint32(b, o)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Spots)))
	for _, f := range s.Spots {
		b = append(binary.BigEndian.AppendUint16(b, f.place), f.runs)
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (s *State) UnmarshalBinary(b []byte) error {
	*s = State{}
	if len(b) == 0 {
		return nil
	}
	if len(b) < 3 || b[0] != stateV1 {
		return ErrState
	}
	s.Seen, s.Missed = b[1] == 1, b[2]
	b = b[3:]
	units, b, ok := list(b, 8)
	if !ok {
		return ErrState
	}
	for ; len(units) > 0; units = units[8:] {
		print := uint64(binary.BigEndian.Uint16(units))<<32 | uint64(binary.BigEndian.Uint32(units[2:]))
		s.Units = append(s.Units, unit{print, binary.BigEndian.Uint16(units[6:])})
	}
	others, b, ok := list(b, 4)
	if !ok {
		return ErrState
	}
	for ; len(others) > 0; others = others[4:] {
		s.Others = append(s.Others, binary.BigEndian.Uint32(others))
	}
	spots, b, ok := list(b, 3)
	if !ok || len(b) > 0 {
		return ErrState
	}
	for ; len(spots) > 0; spots = spots[3:] {
		s.Spots = append(s.Spots, flickers{binary.BigEndian.Uint16(spots), spots[2]})
	}
	return nil
}

// list takes a counted list of records of size bytes off the front of b.
func list(b []byte, size uint64) (records, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) || n*size > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n*size)], b[w+int(n*size):], true
}
