package origintest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// Proxy is a forward proxy on loopback, an exit in a country: it speaks SOCKS5 and HTTP CONNECT and
// takes IPv4 literals only, since whoever tells it a name has not judged the address.
type Proxy struct {
	l    net.Listener
	wg   sync.WaitGroup
	stop chan struct{}

	mu    sync.Mutex
	asked []string
}

// NewProxy starts a proxy and stops it when the test ends.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("origintest: cannot listen on loopback: %v", err)
	}
	p := &Proxy{l: l, stop: make(chan struct{})}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(p.Close)
	return p
}

// Close stops the proxy: from then on the exit is down.
func (p *Proxy) Close() {
	p.mu.Lock()
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	p.mu.Unlock()
	_ = p.l.Close()
	p.wg.Wait()
}

// SOCKS and HTTP are the proxy's address in the two forms of WEBREADER_EGRESS.
func (p *Proxy) SOCKS() string { return "socks5://" + p.l.Addr().String() }

// HTTP is the proxy's address for CONNECT.
func (p *Proxy) HTTP() string { return "http://" + p.l.Addr().String() }

// Asked are the addresses that connections were asked for, "name" for those not given as a literal.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

func (p *Proxy) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-p.stop:
			_ = c.Close()
		case <-done:
		}
	}()
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	site, greeting := "", ""
	if first[0] == 5 {
		site, greeting = bySOCKS(c, r), "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"
	} else if req, err := http.ReadRequest(r); err == nil && req.Method == http.MethodConnect {
		site, greeting = req.Host, "HTTP/1.1 200 OK\r\n\r\n"
	}
	literal, err := netip.ParseAddrPort(site)
	if err != nil {
		site = "name"
	}
	p.mu.Lock()
	p.asked = append(p.asked, site)
	p.mu.Unlock()
	if err != nil {
		return
	}
	far, err := net.Dial("tcp", literal.String())
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	if _, err := io.WriteString(c, greeting); err != nil {
		return
	}
	back := make(chan struct{})
	go func() { defer close(back); _, _ = io.Copy(c, far); _ = c.Close() }()
	_, _ = io.Copy(far, r)
	_ = far.Close()
	<-back
}

// bySOCKS reads a SOCKS5 greeting and request (RFC 1928) without authentication.
func bySOCKS(c net.Conn, r *bufio.Reader) string {
	hello := make([]byte, 2)
	if _, err := io.ReadFull(r, hello); err != nil {
		return ""
	}
	_, _ = r.Discard(int(hello[1]))
	if _, err := io.Copy(c, strings.NewReader("\x05\x00")); err != nil {
		return ""
	}
	ask := make([]byte, 10)
	if _, err := io.ReadFull(r, ask); err != nil || ask[3] != 1 {
		return ""
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(ask[4:8])), binary.BigEndian.Uint16(ask[8:])).String()
}
