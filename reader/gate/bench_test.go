package gate_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/gate"
)

// page100 is an ordinary page of about 100 KB.
func page100() string {
	var b strings.Builder
	b.WriteString("<!doctype html><html lang=en><head><meta charset=utf-8><title>Bench</title></head><body><nav><ul>")
	for i := range 60 {
		fmt.Fprintf(&b, `<li class="item"><a href="/section/%d?ref=nav">Section %d</a></li>`, i, i)
	}
	b.WriteString("</ul></nav><main><article><h1>Bench</h1>")
	for i := range 250 {
		fmt.Fprintf(&b, `<p class="text">Paragraph %d: the mill by the river was built of <b>oak</b> and <i>brick</i>, and it ground the corn of <a href="/v/%d">four villages</a> until the railway came; since then it has been a dwelling, a school and a museum, and for some years a store of ice for the fish market of the town, of which <span>little</span> is known.</p>`, i, i)
	}
	return b.String() + "</article></main></body></html>"
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bare is the least a client can do: what it costs is the origin's part, and the kernel's.
func bare(b *testing.B, addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"); err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGet reports the CPU of a read of a 100 KB page with a warm robots.txt, the loopback origin
// included, beyond the CPU of one parse of that page; and beside it what the origin costs by itself over
// plain HTTP.
func BenchmarkGet(b *testing.B) {
	free := *profile(b, "webreaderapi")
	free.Pace.MinGap = 0
	for _, scheme := range []string{"http", "https"} {
		b.Run(scheme, func(b *testing.B) {
			w := newWorld(b, "webreaderapi", func(c *gate.Config) {
				c.Clock = gate.SystemClock{}
				c.Turns = gate.NewMemoryTurns(gate.SystemClock{}, 0)
			})
			html := page100()
			w.web.Page("a.test", "/x", html)
			w.web.Robots("a.test", strings.Repeat("User-agent: other\nDisallow: /\n", 50)+"User-agent: *\nDisallow: /private/\n")
			a := gate.Ask{Profile: &free, Target: target(b, scheme+"://a.test/x"), Cause: policy.Cause{Kind: policy.CauseRead, ID: "r", Account: "a"}}
			if _, _, err := w.Get(b.Context(), a); err != nil {
				b.Fatal(err)
			}
			began := cpu()
			for b.Loop() {
				if _, _, err := w.Get(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
			reads := cpu() - began
			began = cpu()
			for range b.N {
				dom.Parse([]byte(html), dom.Limits{})
			}
			parses := cpu() - began
			began = cpu()
			for range b.N {
				bare(b, w.web.Addr())
			}
			b.ReportMetric(float64((cpu()-began).Microseconds())/float64(b.N), "µs-origin")
			b.ReportMetric(float64(len(html))/1000, "KB")
			b.ReportMetric(float64(parses.Microseconds())/float64(b.N), "µs-parse")
			b.ReportMetric(float64((reads-parses).Microseconds())/float64(b.N), "µs-beyond")
		})
	}
}

// BenchmarkDecide is a decision with a warm robots.txt.
func BenchmarkDecide(b *testing.B) {
	w := newWorld(b, "webreaderapi")
	w.web.Robots("a.test", strings.Repeat("User-agent: other\nDisallow: /\n", 50)+"User-agent: *\n"+strings.Repeat("Disallow: /private/*/x\n", 50))
	a := w.ask(b, "http://a.test/some/path?with=query")
	for b.Loop() {
		if v, err := w.Decide(context.Background(), a); err != nil || !v.Allowed() {
			b.Fatal(err)
		}
	}
}
