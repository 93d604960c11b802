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
	Slim   bool       // the page is long: Units hold 24 bits and no place
	Coarse uint8      // it is very long: a unit stands for some 2^Coarse neighbours
}

// unit is the trace of a sentence: its fingerprint and the place where it stands.
type unit struct {
	print uint64 // 40 bits
	place uint16 // of its text without digits, or of its neighbours
}

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
	unitBytes  = 7
	slimBytes  = 3
	otherBytes = 3
	spotBytes  = 3
	stateV2    = 2
	mostCoarse = 40
	flagSeen   = 1
	flagSlim   = 2
)

// ErrState says that bytes are not a State.
var ErrState = errors.New("change: not a state of this version")

// MarshalBinary is the state as it is stored: at most 4 KB.
func (s State) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, 24+unitBytes*len(s.Units)+otherBytes*len(s.Others)+spotBytes*len(s.Spots))
	flags := byte(0)
	if s.Seen {
		flags |= flagSeen
	}
	if s.Slim {
		flags |= flagSlim
	}
	b = append(b, stateV2, flags, s.Missed, s.Coarse)
	b = binary.BigEndian.AppendUint64(b, s.Whole)
	b = binary.AppendUvarint(b, uint64(len(s.Units)))
	for _, u := range s.Units {
		if !s.Slim {
			b = binary.BigEndian.AppendUint16(b, u.place)
			b = append(b, byte(u.print>>32), byte(u.print>>24))
		}
		b = append(b, byte(u.print>>16), byte(u.print>>8), byte(u.print))
	}
	b = binary.AppendUvarint(b, uint64(len(s.Others)))
	for _, o := range s.Others {
		b = append(b, byte(o>>16), byte(o>>8), byte(o))
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
	if len(b) < 12 || b[0] != stateV2 || b[1] > flagSeen|flagSlim || b[3] > mostCoarse {
		return ErrState
	}
	s.Seen, s.Slim, s.Missed, s.Coarse = b[1]&flagSeen != 0, b[1]&flagSlim != 0, b[2], b[3]
	s.Whole = binary.BigEndian.Uint64(b[4:])
	b, ok := s.units(b[12:])
	if !ok {
		return ErrState
	}
	others, b, ok := list(b, otherBytes)
	if !ok {
		return ErrState
	}
	for ; len(others) > 0; others = others[otherBytes:] {
		s.Others = append(s.Others, uint32(others[0])<<16|uint32(binary.BigEndian.Uint16(others[1:])))
	}
	spots, b, ok := list(b, spotBytes)
	if !ok || len(b) > 0 {
		return ErrState
	}
	for ; len(spots) > 0; spots = spots[spotBytes:] {
		s.Spots = append(s.Spots, flickers{binary.BigEndian.Uint16(spots), spots[2]})
	}
	return nil
}

// units reads the units off the front of b.
func (s *State) units(b []byte) (rest []byte, ok bool) {
	size := uint64(unitBytes)
	if s.Slim {
		size = slimBytes
	}
	units, rest, ok := list(b, size)
	for ; len(units) > 0; units = units[size:] {
		u := unit{print: uint64(units[size-3])<<16 | uint64(binary.BigEndian.Uint16(units[size-2:]))}
		if !s.Slim {
			u.place = binary.BigEndian.Uint16(units)
			u.print |= uint64(binary.BigEndian.Uint16(units[2:])) << 24
		}
		s.Units = append(s.Units, u)
	}
	return rest, ok
}

// list takes a counted list of records of size bytes off the front of b.
func list(b []byte, size uint64) (records, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) || n*size > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n*size)], b[w+int(n*size):], true
}
