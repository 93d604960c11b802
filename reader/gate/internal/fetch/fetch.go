// Package fetch makes one HTTP GET for one Permit. It takes no URL: only the judge makes a Permit,
// and the permit is looked at again when the connection is ready, just before the request is written.
//
// It follows no redirect, keeps no cookie, sends no referer and no credentials, and tries nothing
// twice: every connection carries one request and is closed.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/policy"
)

// Config is what a Fetcher needs. Zero limits take their defaults.
type Config struct {
	Now     func() time.Time // the clock that permits live by
	Dialer  *netguard.Dialer
	RootCAs *x509.CertPool // nil is the system's

	TLSTimeout       time.Duration // default 5 s
	FirstByteTimeout time.Duration // default 10 s, from the request to the answer's headers
	Timeout          time.Duration // default 30 s, the whole fetch
	MaxBody          int64         // default 20 MB, counted after decoding
	MaxHeader        int64         // default 256 KB, 1xx answers included
}

func (c Config) withDefaults() Config {
	if c.TLSTimeout <= 0 {
		c.TLSTimeout = 5 * time.Second
	}
	if c.FirstByteTimeout <= 0 {
		c.FirstByteTimeout = 10 * time.Second
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxBody <= 0 {
		c.MaxBody = 20_000_000
	}
	if c.MaxHeader <= 0 {
		c.MaxHeader = 256 << 10
	}
	return c
}

// Options shape the request within what a permit allows. There is no option for a user agent, a
// cookie or any other header.
type Options struct {
	Accept       string
	Language     string
	ETag         string // makes the request conditional
	LastModified string
	MaxBody      int64 // lowers the fetcher's bound when not 0
	// Truncate keeps the first MaxBody bytes of a longer body instead of refusing it: robots.txt.
	Truncate bool
}

// Response is the answer, or what there is of it.
type Response struct {
	Status    int // 0 when no answer came
	Header    http.Header
	Body      []byte // decoded; of errors and odd answers only a part, of redirects none
	Truncated bool   // Body was cut at the bound
	Bytes     int64  // of the body, as they came over the wire
	Remote    netip.AddrPort
	// WrittenAt is when the request was written; zero when not one byte of it was.
	WrittenAt time.Time
	// AnsweredAt is when the first byte of an answer came; zero when none did.
	AnsweredAt time.Time
}

// ErrExpired says that the permit had lapsed when the connection was ready: nothing was written.
var ErrExpired = errors.New("fetch: the permit lapsed before the request was written")

// Fetcher fetches. It is safe for use by many goroutines and holds no connection between fetches.
type Fetcher struct {
	cfg       Config
	transport *http.Transport
}

// New makes a Fetcher.
func New(c Config) (*Fetcher, error) {
	if c.Now == nil || c.Dialer == nil {
		return nil, errors.New("fetch: a clock and a dialer are needed")
	}
	c = c.withDefaults()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &Fetcher{cfg: c, transport: &http.Transport{
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.TLSTimeout,
		ResponseHeaderTimeout:  c.FirstByteTimeout,
		MaxResponseHeaderBytes: c.MaxHeader,
		DisableCompression:     true, // decoded here, with a bound
		Protocols:              protocols,
	}}, nil
}

type dialKey struct{}

// dialled carries the exit down to the dialer and the site's address back.
type dialled struct {
	country string
	site    netip.AddrPort
}

func (c Config) dial(ctx context.Context, _, address string) (net.Conn, error) {
	d, _ := ctx.Value(dialKey{}).(*dialled)
	if d == nil {
		return nil, errors.New("fetch: a dial without a permit")
	}
	conn, err := c.Dialer.Dial(ctx, d.country, address)
	if err != nil {
		return nil, err
	}
	d.site = conn.Site
	return conn.Conn, nil
}

// Do makes the GET that p permits. The response is never nil: also beside an error it says whether the
// request was written, and where to. Errors are faults, ErrExpired, or the context's cause.
func (f *Fetcher) Do(ctx context.Context, p policy.Permit, o Options) (*Response, error) {
	r := new(Response)
	if !p.ValidAt(f.cfg.Now()) {
		return r, ErrExpired
	}
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	d := &dialled{country: p.Country()}
	conn, err := f.connect(context.WithValue(ctx, dialKey{}, d), p.Target())
	r.Remote = d.site
	if err != nil {
		return r, connectFault(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if !p.ValidAt(f.cfg.Now()) {
		return r, ErrExpired
	}
	return r, f.ask(ctx, conn, request(p, o), o, r)
}

func (f *Fetcher) connect(ctx context.Context, t policy.Target) (*http.ClientConn, error) {
	u := t.URL()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return f.transport.NewClientConn(ctx, u.Scheme, net.JoinHostPort(u.Hostname(), port))
}

// ask writes the request and reads the answer into r.
func (f *Fetcher) ask(ctx context.Context, conn *http.ClientConn, req *http.Request, o Options, r *Response) error {
	var written, answered moment
	written.set(f.cfg.Now()) // from here on bytes may be on the wire, even if the write fails
	defer func() { r.WrittenAt, r.AnsweredAt = written.get(), answered.get() }()
	trace := &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { written.set(f.cfg.Now()) },
		GotFirstResponseByte: func() { answered.set(f.cfg.Now()) },
	}
	answer, err := conn.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return answerFault(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	r.Status, r.Header = answer.StatusCode, answer.Header
	return f.read(ctx, answer, o, r)
}

// moment is told by the connection's own goroutines.
type moment struct {
	mu sync.Mutex
	at time.Time
}

func (m *moment) set(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

func (m *moment) get() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// request has the same headers for every site: what the profile is, and what can be read.
func request(p policy.Permit, o Options) *http.Request {
	t := p.Target()
	h := http.Header{
		"User-Agent":      {p.Profile().UserAgent()},
		"Accept":          {o.Accept},
		"Accept-Encoding": {"gzip, br, zstd"},
	}
	for name, value := range map[string]string{"Accept-Language": o.Language, "If-None-Match": o.ETag, "If-Modified-Since": o.LastModified} {
		if value != "" {
			h.Set(name, value)
		}
	}
	return &http.Request{Method: http.MethodGet, URL: exact(t), Host: t.URL().Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody}
}

// exact is the URL of t in a form that net/http sends as it stands: it must not escape anew.
func exact(t policy.Target) *url.URL {
	u := t.URL()
	if want := t.PathQuery(); u.RequestURI() != want && len(want) > 1 && want[1] != '/' {
		return &url.URL{Scheme: u.Scheme, Host: u.Host, Opaque: t.Path(), RawQuery: u.RawQuery, ForceQuery: u.ForceQuery}
	}
	return u
}

// connectFault: whatever went wrong before a request was written. Closed, filtered and refused ports
// are one class, so that nobody can scan ports through us.
func connectFault(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled) || isOther(context.Cause(ctx)):
		return fmt.Errorf("fetch: %w", context.Cause(ctx))
	case errors.Is(err, netguard.ErrNotAllowed):
		return notAllowed(err)
	case errors.Is(err, netguard.ErrNoExit):
		return noExit(err)
	}
	return unreachable(err)
}

// isOther is true for a cause that the caller gave: a suspension, a turn that ended.
func isOther(cause error) bool {
	return cause != nil && !errors.Is(cause, context.DeadlineExceeded)
}
