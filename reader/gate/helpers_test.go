package gate_test

import (
	"net"
	"net/netip"
	"testing"
)

// silentResolver is the address of a name server that never answers.
func silentResolver(t *testing.T) netip.AddrPort {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pc.Close() })
	return netip.MustParseAddrPort(pc.LocalAddr().String())
}
