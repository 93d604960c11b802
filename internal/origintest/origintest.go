// Package origintest is a small hostile web on loopback for tests: hosts by name, canned answers of
// every bad kind, and a log of what the origin saw. It has the fake clock too.
//
//	web := origintest.New(t)
//	web.Robots("shop.test", "User-agent: *\nDisallow: /private/\n")
//	web.Page("shop.test", "/a", "<title>A</title><p>Text")
//	web.Handle("shop.test", "/wall", origintest.Challenge())
//	cfg, err := netguard.FromEnv(web.Getenv)   // *.test leads to this web, loopback is allowed
//	…
//	web.Log("shop.test") // ["GET /robots.txt", "GET /a"]
//
// Every host speaks http and https (HTTP/2 as well) on the same port; trust RootCAs for https.
package origintest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Request is one request as the origin saw it.
type Request struct {
	At       time.Time // by the web's clock
	Host     string    // lower case, without port
	Method   string
	Path     string // path and query as they came
	Proto    string // "HTTP/1.1", "HTTP/2.0"
	TLS      bool
	Header   http.Header
	BodySize int64
	Conn     string // the client's address: equal for requests on one connection
}

// URL is the address that was asked for.
func (r Request) URL() string {
	scheme := "http"
	if r.TLS {
		scheme = "https"
	}
	return scheme + "://" + r.Host + r.Path
}

// Web is a set of hosts on one loopback address. It is safe for use by many goroutines.
type Web struct {
	// Now stamps the log; set it before the first request. It is time.Now by default.
	Now func() time.Time

	addr     string
	server   *http.Server
	listener *listener
	pki      *authority
	conns    atomic.Int64
	live     atomic.Int64
	inFlight atomic.Int64
	stop     chan struct{}

	mu      sync.Mutex
	hosts   map[string]map[string]http.Handler
	before  func(Request)
	log     []Request
	maximum int64
}

// New starts a web and stops it when the test ends.
func New(t testing.TB) *Web {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("origintest: cannot listen on loopback: %v", err)
	}
	w := &Web{Now: time.Now, addr: l.Addr().String(), pki: newAuthority(t), stop: make(chan struct{}), hosts: make(map[string]map[string]http.Handler)}
	w.server = &http.Server{
		Handler:        http.HandlerFunc(w.serve),
		TLSConfig:      &tls.Config{NextProtos: []string{"h2", "http/1.1"}},
		ErrorLog:       log.New(io.Discard, "", 0),
		MaxHeaderBytes: 1 << 20,
	}
	both := newListener(l, w.pki.config(), &w.conns, &w.live)
	w.listener = both
	done := make(chan struct{})
	go func() { defer close(done); _ = w.server.Serve(both) }()
	t.Cleanup(func() {
		close(w.stop)
		_ = w.server.Close()
		_ = both.Close()
		<-done
		both.wait()
	})
	return w
}

// Addr is the loopback address, "127.0.0.1:34567".
func (w *Web) Addr() string { return w.addr }

// RootCAs trusts the certificates of this web's hosts.
func (w *Web) RootCAs() *x509.CertPool { return w.pki.pool() }

// Env are the settings that lead every *.test name here and allow loopback.
func (w *Web) Env() map[string]string {
	return map[string]string{"WEBREADER_RESOLVE": "*.test=" + w.addr, "WEBREADER_ALLOW_NETWORKS": "127.0.0.0/8"}
}

// Getenv is Env in the form of os.Getenv.
func (w *Web) Getenv(name string) string { return w.Env()[name] }

// Handle answers requests of host for a path; a path with a final slash is a folder and answers
// all below it that has no handler of its own; a query is ignored. The host "*" stands for every
// host that has nothing for the path. A later handler for the same path replaces the former one.
func (w *Web) Handle(host, path string, h http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts[host] == nil {
		w.hosts[host] = make(map[string]http.Handler)
	}
	w.hosts[host][path] = h
}

// HandleFunc is Handle for a function.
func (w *Web) HandleFunc(host, path string, f http.HandlerFunc) { w.Handle(host, path, f) }

// Robots makes text the robots.txt of host. Hosts without one answer 404.
func (w *Web) Robots(host, text string) { w.Handle(host, "/robots.txt", Body("text/plain", text)) }

// Page makes an HTML page.
func (w *Web) Page(host, path, html string) {
	w.Handle(host, path, Body("text/html; charset=utf-8", html))
}

// Redirect answers with a redirect to the address to, relative or absolute.
func (w *Web) Redirect(host, path string, status int, to string) {
	w.Handle(host, path, Status(status, "Location", to))
}

// Before calls f when a request has come in, before it is answered; nil takes it away.
func (w *Web) Before(f func(Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = f
}

func (w *Web) serve(rw http.ResponseWriter, r *http.Request) {
	now := w.inFlight.Add(1)
	defer w.inFlight.Add(-1)
	size, _ := io.Copy(io.Discard, r.Body)
	seen := Request{
		At: w.Now(), Host: hostOnly(r.Host), Method: r.Method, Path: r.URL.RequestURI(), Proto: r.Proto,
		TLS: r.TLS != nil, Header: r.Header.Clone(), BodySize: size, Conn: r.RemoteAddr,
	}
	w.mu.Lock()
	w.maximum = max(w.maximum, now)
	w.log = append(w.log, seen)
	before, h := w.before, w.find(seen.Host, r)
	w.mu.Unlock()
	if before != nil {
		before(seen)
	}
	h.ServeHTTP(&stoppable{ResponseWriter: rw, stop: w.stop}, r)
}

// find is called with the lock held.
func (w *Web) find(host string, r *http.Request) http.Handler {
	for _, name := range []string{host, "*"} {
		for _, path := range []string{r.URL.EscapedPath(), r.URL.Path} {
			if h := lookup(w.hosts[name], path); h != nil {
				return h
			}
		}
	}
	return Status(http.StatusNotFound)
}

// lookup finds the handler of path, or of the closest folder above it, folder of last resort "/".
// robots.txt has a handler only when it was given one by name.
func lookup(paths map[string]http.Handler, path string) http.Handler {
	if h := paths[path]; h != nil {
		return h
	}
	if path == "/robots.txt" {
		return nil
	}
	for i := strings.LastIndexByte(path, '/'); i >= 0; i = strings.LastIndexByte(path[:i], '/') {
		if h := paths[path[:i+1]]; h != nil {
			return h
		}
	}
	return nil
}

func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(host)
}

// Requests are all requests so far, in order of arrival.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Request(nil), w.log...)
}

// To are the requests that came for host.
func (w *Web) To(host string) []Request {
	var some []Request
	for _, r := range w.Requests() {
		if r.Host == host {
			some = append(some, r)
		}
	}
	return some
}

// Log is the short form of To: "GET /robots.txt", "GET /a?b=1".
func (w *Web) Log(host string) []string {
	lines := []string{}
	for _, r := range w.To(host) {
		lines = append(lines, r.Method+" "+r.Path)
	}
	return lines
}

// URLs are the addresses asked for, of all hosts, robots.txt included.
func (w *Web) URLs() []string {
	urls := []string{}
	for _, r := range w.Requests() {
		urls = append(urls, r.URL())
	}
	return urls
}

// Pages are the addresses asked for, robots.txt left out.
func (w *Web) Pages() []string {
	urls := []string{}
	for _, r := range w.Requests() {
		if r.Path != "/robots.txt" {
			urls = append(urls, r.URL())
		}
	}
	return urls
}

// Count is how many requests came for path of host.
func (w *Web) Count(host, path string) int {
	n := 0
	for _, r := range w.To(host) {
		if r.Path == path {
			n++
		}
	}
	return n
}

// Reset empties the log.
func (w *Web) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log, w.maximum = nil, 0
}

// InFlight is how many requests are being answered now.
func (w *Web) InFlight() int { return int(w.inFlight.Load()) }

// Live is how many connections are open, whether or not a request has come over them.
func (w *Web) Live() int { return int(w.live.Load()) }

// settled is Live when all connections that have been made are counted.
func (w *Web) settled() int {
	w.listener.settle()
	return w.Live()
}

// MostInFlight is the largest number of requests that were answered at the same time.
func (w *Web) MostInFlight() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(w.maximum)
}

// Conns is how many connections were opened, used or not.
func (w *Web) Conns() int { return int(w.conns.Load()) }
