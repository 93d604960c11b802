package watch

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/mmcdole/gofeed"
)

// Bounds of a listing.
const (
	mostItems    = 500    // of a feed
	mostEntries  = 20_000 // of a sitemap
	mostUnpacked = 20 << 20
	mostFeedSize = 4 << 20
	deepest      = 64 // elements within each other
	longLoc      = 8192
)

// entry is what a feed or sitemap says of one page.
type entry struct {
	url     string
	text    string // a feed item's title
	version string // differs when the page is said to have changed; empty when that is not said
}

// errListing says that a feed or sitemap cannot be read.
var errListing = errors.New("not a feed or sitemap that can be read")

// readFeed reads RSS, Atom or JSON Feed.
func readFeed(body []byte) ([]entry, error) {
	if len(body) > mostFeedSize || !shallow(body) {
		return nil, errListing
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil, errListing // its text may quote the feed
	}
	var items []entry
	for _, i := range feed.Items[:min(len(feed.Items), mostItems)] {
		link := strings.TrimSpace(i.Link)
		if link == "" && len(i.Links) > 0 {
			link = strings.TrimSpace(i.Links[0])
		}
		if link == "" && (strings.HasPrefix(i.GUID, "http://") || strings.HasPrefix(i.GUID, "https://")) {
			link = i.GUID
		}
		if link == "" || len(link) > longLoc {
			continue
		}
		items = append(items, entry{link, clip(i.Title, longText), digest16(i.Updated + "\x00" + i.Published + "\x00" + i.Title)})
	}
	return items, nil
}

const longText = 300 // bytes of a title or link text

func clip(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// shallow is false for XML nested deeper than any feed is; JSON has its own bound.
func shallow(body []byte) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("<")) {
		return true
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	depth := 0
	for {
		token, err := d.RawToken()
		if err != nil {
			return true // the feed's own reader judges it
		}
		switch token.(type) {
		case xml.StartElement:
			if depth++; depth > deepest {
				return false
			}
		case xml.EndElement:
			depth--
		}
	}
}

// readSitemap reads a sitemap or an index of sitemaps, as XML or as text, packed or not. What was read
// before a fault counts.
func readSitemap(body []byte) (pages, files []entry) {
	var in io.Reader = bytes.NewReader(body)
	if len(body) > 2 && body[0] == 0x1f && body[1] == 0x8b {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil
		}
		in = unpacked
	}
	text, err := io.ReadAll(io.LimitReader(in, mostUnpacked))
	if err != nil && len(text) == 0 {
		return nil, nil
	}
	if !bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("<")) {
		return addresses(text), nil
	}
	s := sitemapReader{}
	s.read(text)
	return s.pages, s.files
}

func addresses(text []byte) (pages []entry) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if (strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://")) && len(line) <= longLoc && len(pages) < mostEntries {
			pages = append(pages, entry{url: line})
		}
	}
	return pages
}

// sitemapReader goes from token to token: a loc and a lastmod in each url or sitemap element.
type sitemapReader struct {
	path         []string
	text         strings.Builder
	now          entry
	pages, files []entry
}

func (s *sitemapReader) read(text []byte) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for len(s.pages)+len(s.files) < mostEntries {
		token, err := d.RawToken()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(s.path) == deepest {
				return
			}
			s.path = append(s.path, strings.ToLower(t.Name.Local))
			s.text.Reset()
			if s.under() == "" && s.top() != "" {
				s.now = entry{}
			}
		case xml.CharData:
			if s.text.Len()+len(t) <= longLoc {
				s.text.Write(t)
			}
		case xml.EndElement:
			s.end()
		}
	}
}

// top is the innermost element when it is an entry; under is the entry whose direct child that is.
func (s *sitemapReader) top() string   { return s.entryAt(len(s.path) - 1) }
func (s *sitemapReader) under() string { return s.entryAt(len(s.path) - 2) }

func (s *sitemapReader) entryAt(i int) string {
	if i >= 0 && (s.path[i] == "url" || s.path[i] == "sitemap") {
		return s.path[i]
	}
	return ""
}

func (s *sitemapReader) end() {
	if len(s.path) == 0 {
		return
	}
	text := strings.TrimSpace(s.text.String())
	switch last := s.path[len(s.path)-1]; {
	case s.under() != "" && last == "loc":
		s.now.url = text
	case s.under() != "" && last == "lastmod":
		s.now.version = clip(text, 40)
	case s.top() == "url" && s.now.url != "":
		s.pages = append(s.pages, s.now)
	case s.top() == "sitemap" && s.now.url != "":
		s.files = append(s.files, s.now)
	}
	s.path = s.path[:len(s.path)-1]
	s.text.Reset()
}
