package netguard

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

// connectBy reaches site through a proxy, which is told the judged address and never the name: a
// proxy that resolved the name itself would go round the judgement.
func (d *Dialer) connectBy(ctx context.Context, exit *url.URL, site netip.AddrPort) (net.Conn, error) {
	var c net.Conn
	var err error
	if exit.Scheme == "socks5" {
		c, err = bySOCKS(ctx, exit, site)
	} else {
		c, err = byConnect(ctx, exit, site)
	}
	if err != nil {
		return nil, connectError(ctx, fmt.Errorf("%w: %w", ErrExit, err))
	}
	return c, nil
}

func proxyAddress(exit *url.URL, port string) string {
	if p := exit.Port(); p != "" {
		port = p
	}
	return net.JoinHostPort(exit.Hostname(), port)
}

func bySOCKS(ctx context.Context, exit *url.URL, site netip.AddrPort) (net.Conn, error) {
	var auth *proxy.Auth
	if exit.User != nil {
		password, _ := exit.User.Password()
		auth = &proxy.Auth{User: exit.User.Username(), Password: password}
	}
	s, err := proxy.SOCKS5("tcp", proxyAddress(exit, "1080"), auth, &net.Dialer{KeepAlive: -1})
	if err != nil {
		return nil, err
	}
	byContext, ok := s.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("the SOCKS dialer takes no context")
	}
	return byContext.DialContext(ctx, "tcp", site.String())
}

// byConnect is HTTP CONNECT (RFC 9110 section 9.3.6).
func byConnect(ctx context.Context, exit *url.URL, site netip.AddrPort) (net.Conn, error) {
	c, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", proxyAddress(exit, "3128"))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	err = tunnel(c, exit, site)
	if !stop() || err != nil {
		_ = c.Close()
		return nil, errors.Join(err, ctx.Err())
	}
	return c, nil
}

const maxTunnelAnswer = 8 << 10

func tunnel(c net.Conn, exit *url.URL, site netip.AddrPort) error {
	var ask strings.Builder
	fmt.Fprintf(&ask, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", site, site)
	if exit.User != nil {
		password, _ := exit.User.Password()
		secret := base64.StdEncoding.EncodeToString([]byte(exit.User.Username() + ":" + password))
		fmt.Fprintf(&ask, "Proxy-Authorization: Basic %s\r\n", secret)
	}
	ask.WriteString("\r\n")
	if _, err := io.WriteString(c, ask.String()); err != nil {
		return err
	}
	// One byte at a time: what follows the answer's headers belongs to the site.
	r := bufio.NewReaderSize(&oneByte{io.LimitReader(c, maxTunnelAnswer)}, 16)
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("the proxy's answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy answered %d", answer.StatusCode)
	}
	return nil
}

type oneByte struct{ r io.Reader }

func (o *oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }
