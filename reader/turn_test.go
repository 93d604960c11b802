package reader

import (
	"context"
	"testing"
)

// A place that a read which has ended took would be lost to all others.
func TestAReadThatHasEndedTakesNoPlace(t *testing.T) {
	r := &Reader{slots: make(chan struct{}, 1)}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		if err := r.turn(ended); err == nil || len(r.slots) > 0 {
			t.Fatalf("%v, %d places taken", err, len(r.slots))
		}
	}
	if err := r.turn(t.Context()); err != nil || len(r.slots) != 1 {
		t.Fatalf("%v, %d places taken", err, len(r.slots))
	}
}
