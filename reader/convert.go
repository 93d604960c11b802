package reader

import (
	"context"
	"fmt"
	"net/url"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Source is a page that the caller has already.
type Source struct {
	Body   []byte   // HTML
	Raw    bool     // Body is as it was served: its charset is to be found; else it is UTF-8
	Base   *url.URL // where the page came from, for its links; may be nil
	Engine string   // the extractor: one of extract's engines
}

// mostHTML bounds a page in bytes. Its tags and attributes are bounded where its tree is made.
const mostHTML = 16_000_000

// Convert makes a Page of HTML as Read would, without a site, a decision or a charge.
func Convert(ctx context.Context, s Source, options Options) (Page, error) {
	o, err := options.plan()
	if err != nil {
		return Page{}, err
	}
	o.engine, o.noTokens, o.noFingerprint = s.Engine, true, true
	if len(s.Body) > mostHTML {
		return Page{}, fault.New(fault.TooLarge, fmt.Sprintf("The page is too large to be read: HTML is read up to %d bytes.", mostHTML))
	}
	if s.Raw {
		s.Body, _ = gate.ToUTF8(s.Body, "", "text/html")
	}
	c, err := composeHTML(ctx, dom.Parse(s.Body, dom.Limits{}), s.Base, o)
	if err != nil {
		return Page{}, err
	}
	if c.empty() {
		return Page{}, empty(gate.Page{}, o)
	}
	p := Page{ContentType: "text/html", Warnings: []string{}}
	p.describe(c)
	p.write(c, o)
	return p, nil
}
