package origintest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// listener serves TLS and plain connections on one port: a TLS record begins with the byte 0x16.
type listener struct {
	net.Listener
	tls   *tls.Config
	conns *atomic.Int64 // accepted so far
	live  *atomic.Int64 // not closed yet
	ready chan net.Conn
	done  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // connections that have not said yet what they speak

	marking sync.Mutex
	marks   map[string]chan struct{} // connections that only mark a place in line, by their address
}

func newListener(l net.Listener, c *tls.Config, conns, live *atomic.Int64) *listener {
	both := &listener{Listener: l, tls: c, conns: conns, live: live, ready: make(chan net.Conn), done: make(chan struct{}), open: make(map[net.Conn]bool), marks: make(map[string]chan struct{})}
	both.wg.Add(1)
	go both.run()
	return both
}

func (l *listener) run() {
	defer l.wg.Done()
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return
		}
		if l.marked(c) {
			continue
		}
		l.conns.Add(1)
		l.live.Add(1)
		l.wg.Add(1)
		go l.sort(c)
	}
}

// settle answers when all connections that were there when it was called are counted: they are accepted
// in line, and it puts one of its own behind them.
func (l *listener) settle() {
	l.marking.Lock()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		l.marking.Unlock()
		return // the web is closed
	}
	reached := make(chan struct{})
	l.marks[c.LocalAddr().String()] = reached
	l.marking.Unlock()
	select {
	case <-reached:
	case <-l.done:
	}
	_ = c.(*net.TCPConn).SetLinger(0) // its port is free at once
	_ = c.Close()
}

// marked is true for the end of a mark.
func (l *listener) marked(c net.Conn) bool {
	l.marking.Lock()
	defer l.marking.Unlock()
	reached, ok := l.marks[c.RemoteAddr().String()]
	if ok {
		delete(l.marks, c.RemoteAddr().String())
		close(reached)
		_ = c.Close()
	}
	return ok
}

func (l *listener) sort(raw net.Conn) {
	defer l.wg.Done()
	c := &counted{Conn: raw, live: l.live}
	l.mu.Lock()
	l.open[c] = true
	l.mu.Unlock()
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
	if err != nil {
		_ = c.Close()
		return
	}
	var conn net.Conn = &peeked{Conn: c, r: r}
	if first[0] == 0x16 {
		conn = tls.Server(conn, l.tls)
	}
	select {
	case l.ready <- conn:
	case <-l.done:
		_ = c.Close()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	var err error
	l.once.Do(func() {
		close(l.done)
		err = l.Listener.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		for c := range l.open {
			_ = c.Close()
		}
	})
	return err
}

func (l *listener) wait() { l.wg.Wait() }

// counted takes itself off the count of live connections, once.
type counted struct {
	net.Conn
	live *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.live.Add(-1) })
	return c.Conn.Close()
}

type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// authority signs a certificate for every name it is asked for.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "origintest"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key, made: make(map[string]*tls.Certificate)}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func (a *authority) config() *tls.Config {
	return &tls.Config{NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return a.forName(h.ServerName)
	}}
}

func (a *authority) forName(name string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.made[name]; c != nil {
		return c, nil
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.made) + 2)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if name == "" {
		tmpl.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	} else {
		tmpl.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	a.made[name] = c
	return c, nil
}
