package origintest

import (
	"net"
	"testing"
)

// A connection that was made counts, though nobody has taken it off the line yet.
func TestAConnectionCountsOnceItIsMade(t *testing.T) {
	w := New(t)
	for i := 1; i <= 200; i++ {
		c, err := net.Dial("tcp", w.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if n := w.settled(); n != i {
			t.Fatalf("%d connections are live, want %d", n, i)
		}
	}
}
