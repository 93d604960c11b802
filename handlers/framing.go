package handlers

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/internal/fault"
)

// Strict makes server refuse each request on l that two readers may end at different places, and with
// it the rest of its connection: what one takes for a body, the other takes for a request of somebody
// else (RFC 9112 section 11.2). net/http accepts some of these forms and does not tell handlers what
// it dropped, so heads are looked at as they arrive. Server must serve what Strict returns.
func (s *Server) Strict(server *http.Server, l net.Listener) net.Listener {
	handler := server.Handler
	server.DisableGeneralOptionsHandler = true // which would answer, and nobody would count
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, framedKey{}, c)
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(framedKey{}).(*framedConn); !ok || !c.next() {
			s.refuseForm(w, r)
			return
		}
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close") // where a chunked body ends is not looked at, so nothing follows it
		}
		handler.ServeHTTP(w, r)
	})
	return framedListener{l}
}

type framedKey struct{}

func (s *Server) refuseForm(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	refuse := s.observe(func(echo.Context) error {
		return fault.New(fault.InvalidRequest, "The request's head has a form that servers read differently. "+
			"End its lines with CRLF, and send one Content-Length of digits alone or 'Transfer-Encoding: chunked', never both.")
	})
	_ = refuse(s.echo.NewContext(r, w)) // it has been answered
}

type framedListener struct{ net.Listener }

// Accept waits for the next connection.
func (l framedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: c}, nil
}

// framedConn looks at the heads of the requests that are read from it, and changes nothing.
type framedConn struct {
	net.Conn
	line  []byte // one that has not ended yet
	head  head   // that of the next request, as far as it was read
	body  int64  // how much of a body is still to come
	heads int64  // that ended well
	over  bool   // nothing more is looked at

	broken atomic.Int64 // the number of the first head that is not good, 0 while all are
	served int64        // requests that the server began
}

// head is what tells where a request ends.
type head struct {
	begun, http11   bool
	length, chunked bool // has the field
	size            int64
}

// maxLine is more than net/http takes of a whole head.
const maxLine = 64 << 10

// next is true while the request that the server begins now has a good head. It is to be called once
// for each.
func (c *framedConn) next() bool {
	c.served++
	broken := c.broken.Load()
	return broken == 0 || c.served < broken
}

// CloseWrite lets the server's last answer arrive although the client is still sending.
func (c *framedConn) CloseWrite() error {
	if tcp, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return tcp.CloseWrite()
	}
	return nil
}

func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.look(p[:n])
	return n, err
}

func (c *framedConn) look(p []byte) {
	for len(p) > 0 && !c.over {
		if c.body > 0 {
			n := min(c.body, int64(len(p)))
			c.body, p = c.body-n, p[n:]
			continue
		}
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(c.line) > 0 || !ended {
			c.line = append(c.line, line...)
			line = c.line
		}
		if ended {
			c.take(line)
			c.line = c.line[:0]
		} else if len(line) > maxLine {
			c.end()
		}
		p = rest
	}
}

// take looks at a line of a head, which came with everything before its LF.
func (c *framedConn) take(line []byte) {
	line, crlf := bytes.CutSuffix(line, []byte("\r"))
	switch {
	case !crlf || bytes.IndexByte(line, '\r') >= 0: // section 2.2
		c.end()
	case !c.head.begun && len(line) == 0: // section 2.2: blank lines before a request mean nothing
	case !c.head.begun:
		c.head.begun, c.head.http11 = true, bytes.HasSuffix(line, []byte(" HTTP/1.1"))
		if bytes.Count(line, []byte(" ")) != 2 || !bytes.Contains(line, []byte(" HTTP/1.")) { // section 3
			c.end()
		}
	case len(line) == 0:
		c.endHead()
	case !c.head.takeField(line):
		c.end()
	}
}

func (c *framedConn) endHead() {
	h := c.head
	if h.chunked && (h.length || !h.http11) { // section 6.1
		c.end()
		return
	}
	c.heads++
	c.head, c.body = head{}, h.size
	if h.chunked {
		c.end()
	}
}

// end stops looking: nothing is good from the head on that has not ended well.
func (c *framedConn) end() {
	c.over, c.line = true, nil
	c.broken.Store(c.heads + 1)
}

// takeField is false for a field that is not of the one form in which everybody reads it.
func (h *head) takeField(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || bytes.ContainsAny(name, " \t") { // sections 5.1 and 5.2
		return false
	}
	value = bytes.Trim(value, " \t")
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")): // section 6.3
		size, err := strconv.ParseUint(string(value), 10, 63) // takes no sign
		if h.length || err != nil {
			return false
		}
		h.length, h.size = true, int64(size) //nolint:gosec // 63 bits
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		if h.chunked || !bytes.EqualFold(value, []byte("chunked")) {
			return false
		}
		h.chunked = true
	}
	return true
}
