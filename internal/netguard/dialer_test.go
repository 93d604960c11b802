package netguard

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// touches is a listener that counts who connects and says hello.
type touches struct {
	net.Listener
	n atomic.Int64
}

func listen(t *testing.T, addr string) *touches {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &touches{Listener: l}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.n.Add(1)
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return c
}

func (c *touches) port() uint16 { return netip.MustParseAddrPort(c.Addr().String()).Port() }

// nameServer answers each A question by the next list of answers, and no AAAA at all.
func nameServer(t *testing.T, answers ...[]string) (addr netip.AddrPort, asked *atomic.Int64) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int64)
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				i := min(int(asked.Add(1)), len(answers)) - 1
				for _, s := range answers[i] {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(s).As4()},
					})
				}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = pc.WriteTo(out, from)
			}
		}
	})
	t.Cleanup(func() { _ = pc.Close(); wg.Wait() })
	return netip.MustParseAddrPort(pc.LocalAddr().String()), asked
}

func TestANameThatTurnsInwardAfterTheCheckIsNotFollowed(t *testing.T) {
	good := listen(t, "127.0.0.1:0")
	bad := listen(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), good.port()).String())
	dns, asked := nameServer(t, []string{"127.0.0.1"}, []string{"127.0.0.2"})
	d, err := New(Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, DNS: dns})
	if err != nil {
		t.Fatal(err)
	}
	hostport := net.JoinHostPort("rebind.example", portText(good.port()))
	c, err := d.Dial(t.Context(), "", hostport)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(c); string(b) != "hello" || c.Site.Addr().String() != "127.0.0.1" {
		t.Errorf("read %q from %v", b, c.Site)
	}
	_ = c.Close()
	if asked.Load() != 1 {
		t.Errorf("the name was resolved %d times in one fetch", asked.Load())
	}
	if _, err := d.Dial(t.Context(), "", hostport); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("second fetch: %v", err)
	}
	if bad.n.Load() != 0 {
		t.Error("the inner address was touched")
	}
}

func portText(p uint16) string {
	_, s, _ := net.SplitHostPort(netip.AddrPortFrom(netip.IPv4Unspecified(), p).String())
	return s
}

func TestMixedAnswersTouchNobody(t *testing.T) {
	good := listen(t, "127.0.0.1:0")
	dns, _ := nameServer(t, []string{"127.0.0.1", "127.0.0.2"})
	d, _ := New(Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, DNS: dns})
	if _, err := d.Dial(t.Context(), "", net.JoinHostPort("mixed.example", portText(good.port()))); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("%v", err)
	}
	if good.n.Load() != 0 {
		t.Error("the good address was touched")
	}
}

func TestAnUnknownNameDoesNotResolve(t *testing.T) {
	dns, _ := nameServer(t, []string{})
	d, _ := New(Config{DNS: dns})
	if _, err := d.Dial(t.Context(), "", "none.example:443"); !errors.Is(err, ErrResolve) {
		t.Errorf("%v", err)
	}
}

func TestASilentResolverEndsInTime(t *testing.T) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	d, _ := New(Config{DNS: netip.MustParseAddrPort(pc.LocalAddr().String()), ResolveTimeout: 50 * time.Millisecond})
	if _, err := d.Dial(t.Context(), "", "slow.example:443"); !errors.Is(err, ErrResolve) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// connectProxy is an HTTP CONNECT proxy that notes what it is asked for.
func connectProxy(t *testing.T, asked chan<- string, answer string) *url.URL {
	t.Helper()
	return proxyServer(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		user, _, _ := (&http.Request{Header: http.Header{"Authorization": req.Header["Proxy-Authorization"]}}).BasicAuth()
		asked <- user + "@" + req.Host
		_, _ = io.WriteString(c, answer)
		if answer[:12] == "HTTP/1.1 200" {
			splice(c, r, req.Host)
		}
	}, "http://user:pw@")
}

// socksProxy is a SOCKS5 proxy without authentication that takes IPv4 literals only.
func socksProxy(t *testing.T, asked chan<- string) *url.URL {
	t.Helper()
	return proxyServer(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		hello := make([]byte, 2)
		if _, err := io.ReadFull(r, hello); err != nil {
			return
		}
		_, _ = r.Discard(int(hello[1]))
		_, _ = c.Write([]byte{5, 0})
		ask := make([]byte, 10)
		if _, err := io.ReadFull(r, ask); err != nil || ask[3] != 1 {
			asked <- "no IPv4 literal"
			return
		}
		site := netip.AddrPortFrom(netip.AddrFrom4([4]byte(ask[4:8])), binary.BigEndian.Uint16(ask[8:])).String()
		asked <- site
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		splice(c, r, site)
	}, "socks5://")
}

func proxyServer(t *testing.T, serve func(net.Conn), prefix string) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	u, err := url.Parse(prefix + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func splice(c net.Conn, _ io.Reader, site string) {
	far, err := net.Dial("tcp", site)
	if err != nil {
		return
	}
	defer far.Close()
	_, _ = io.Copy(c, far)
}

func TestACountrysExitIsToldTheJudgedAddressAndNeverTheName(t *testing.T) {
	site := listen(t, "127.0.0.1:0")
	asked := make(chan string, 1)
	want := site.Addr().String()
	for name, exit := range map[string]*url.URL{"socks5": socksProxy(t, asked), "http": connectProxy(t, asked, "HTTP/1.1 200 OK\r\n\r\n")} {
		d, err := New(Config{
			AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Egress: map[string]*url.URL{"nl": exit},
			Resolve: []Mapping{{Pattern: "shop.example", Addr: netip.MustParseAddr("127.0.0.1"), Port: site.port()}, {Pattern: "in.example", Addr: netip.MustParseAddr("10.0.0.1")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Dial(t.Context(), "nl", "shop.example:443")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, _ := io.ReadAll(c)
		_ = c.Close()
		if got := <-asked; string(b) != "hello" || got != want && got != "user@"+want || c.Site.String() != want {
			t.Errorf("%s: read %q, proxy was asked for %s, site %v", name, b, got, c.Site)
		}
		if _, err := d.Dial(t.Context(), "nl", "in.example:443"); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: an inner address by the exit: %v", name, err)
		}
		if _, err := d.Dial(t.Context(), "hu", "shop.example:443"); !errors.Is(err, ErrNoExit) {
			t.Errorf("%s: unknown country: %v", name, err)
		}
		if len(asked) != 0 || site.n.Load() == 0 {
			t.Errorf("%s: the proxy was asked for a refused address", name)
		}
	}
}

func TestAProxyThatRefusesOrHangsIsNoConnection(t *testing.T) {
	asked := make(chan string, 1)
	silent := listenSilent(t)
	for name, exit := range map[string]*url.URL{
		"refuses": connectProxy(t, asked, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
		"hangs":   {Scheme: "http", Host: silent}, "hangs in SOCKS": {Scheme: "socks5", Host: silent}, "down": {Scheme: "http", Host: "127.0.0.1:1"},
	} {
		d, _ := New(Config{Egress: map[string]*url.URL{"nl": exit}, ConnectTimeout: 100 * time.Millisecond})
		if _, err := d.Dial(t.Context(), "nl", "8.8.8.8:443"); !errors.Is(err, ErrConnect) || !errors.Is(err, ErrExit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// listenSilent accepts connections (in the kernel) and never says a word.
func listenSilent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
