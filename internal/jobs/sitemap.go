package jobs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"strings"
)

// Bounds of one sitemap file (sitemaps.org, and security).
const (
	mostSitemapURLs  = 50_000
	mostSitemapBytes = 50 << 20 // unpacked
	longestLoc       = 8192
	deepestSitemap   = 64 // elements within each other
)

// sitemap is what a sitemap file lists.
type sitemap struct {
	pages, files []string // addresses of pages, and of further sitemaps
}

// readSitemap reads a sitemap or an index of sitemaps, as XML or as text with an address on each line,
// packed or not. It reads as a stream and keeps addresses only; what is broken ends it, what was read
// before counts.
func readSitemap(body []byte) sitemap {
	var in io.Reader = bytes.NewReader(body)
	if len(body) > 2 && body[0] == 0x1f && body[1] == 0x8b {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return sitemap{}
		}
		in = unpacked
	}
	buffered := bufio.NewReader(io.LimitReader(in, mostSitemapBytes))
	if looksLikeXML(buffered) {
		return readSitemapXML(buffered)
	}
	return readSitemapText(buffered)
}

func looksLikeXML(r *bufio.Reader) bool {
	head, _ := r.Peek(512)
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	return bytes.HasPrefix(head, []byte("<"))
}

func readSitemapText(r io.Reader) (s sitemap) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), longestLoc)
	for lines.Scan() && len(s.pages) < mostSitemapURLs {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
			s.pages = append(s.pages, line)
		}
	}
	return s
}

// readSitemapXML goes from token to token: <loc> in <url> is a page, <loc> in <sitemap> a file.
func readSitemapXML(r io.Reader) (s sitemap) {
	d := xml.NewDecoder(r)
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // addresses are ASCII
	var path []string
	var loc strings.Builder
	for len(s.pages)+len(s.files) < mostSitemapURLs {
		token, err := d.RawToken()
		if err != nil {
			return s
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(path) == deepestSitemap {
				return s
			}
			path = append(path, strings.ToLower(t.Name.Local))
			loc.Reset()
		case xml.CharData:
			if isLoc(path) && loc.Len()+len(t) <= longestLoc {
				loc.Write(t)
			}
		case xml.EndElement:
			if isLoc(path) {
				s.add(path[len(path)-2], strings.TrimSpace(loc.String()))
			}
			path = path[:max(0, len(path)-1)]
		}
	}
	return s
}

// isLoc is true inside <url><loc> and <sitemap><loc>, and nowhere else: images and videos have their own.
func isLoc(path []string) bool {
	n := len(path)
	return n >= 2 && path[n-1] == "loc" && (path[n-2] == "url" || path[n-2] == "sitemap")
}

func (s *sitemap) add(parent, address string) {
	switch {
	case address == "":
	case parent == "sitemap":
		s.files = append(s.files, address)
	default:
		s.pages = append(s.pages, address)
	}
}
