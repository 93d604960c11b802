package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// page is one page with what is known of it.
type page struct {
	ID, Dataset, Type, Lang, URL, Charset, Template string
	Text                                            *string
	Markdown                                        *string
	With, Without                                   []string

	file   string
	site   uint64
	rows   []uint8    // blocks.Features for each block
	kind   []uint8    // blocks.KindFeatures of the page
	want   []float32  // wanted probability of each block
	heft   []float32  // how much each block counts, by the content of its page
	plain  []float32  // how much each block counts, by the size of its page
	tokens [][]string // of each block
	view   *blocks.View
	truth  map[uint64]int
	facts  blocks.Facts
}

func load(dir string) ([]*page, error) {
	pages, err := index(dir)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(pages))
	var wait sync.WaitGroup
	for k := range 2 {
		wait.Go(func() {
			var cut blocks.Page
			for i := k; i < len(pages); i += 2 {
				errs[i] = pages[i].read(dir, &cut)
			}
		})
	}
	wait.Wait()
	return pages, errors.Join(errs...)
}

// index reads the list of the pages in dir.
func index(dir string) ([]*page, error) {
	file, err := os.Open(filepath.Join(dir, "index.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var pages []*page
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		p := new(page)
		if err := json.Unmarshal(lines.Bytes(), p); err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, lines.Err()
}

// ours are the pages of the extractor's own tests: a folder a page, named kind-language, but those that are held out.
func ours(dir string) ([]*page, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "truth.txt"))
	if err != nil {
		return nil, err
	}
	var pages []*page
	var cut blocks.Page
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		slug := filepath.Base(filepath.Dir(name))
		if strings.HasPrefix(slug, "grants-") || strings.HasPrefix(slug, "unseen-") {
			continue // it is in grants-dev, or there to show what the weights make of a kind they have not seen
		}
		kind, _, _ := strings.Cut(slug, "-")
		truth := string(text)
		p := &page{ID: slug, Dataset: "grants", Type: "government", Template: kind, URL: "https://www.example.org/grants/" + slug, Text: &truth}
		p.file = filepath.Join(filepath.Dir(name), "source.html")
		if err := p.read("", &cut); err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

func (p *page) read(dir string, cut *blocks.Page) error {
	if p.file == "" {
		p.file = filepath.Join(dir, "html", p.ID+".html")
	}
	raw, err := os.ReadFile(p.file)
	if err != nil {
		return err
	}
	if !unicodeBytes(p.Charset) {
		enc, err := htmlindex.Get(strings.Replace(p.Charset, "cp125", "windows-125", 1))
		if err != nil {
			return fmt.Errorf("%s: %w", p.ID, err)
		}
		if raw, err = enc.NewDecoder().Bytes(raw); err != nil {
			return fmt.Errorf("%s: %w", p.ID, err)
		}
	}
	base, err := url.Parse(p.URL)
	if err != nil {
		base = nil
	}
	p.site = site(base, p)
	cut.Prepare(dom.Parse(raw, dom.Limits{}), base)
	p.kind = cut.KindRow(nil)
	p.rows = append([]uint8(nil), cut.Describe()...)
	p.view = cut.View()
	p.facts = cut.Facts
	for i := range cut.Blocks {
		p.tokens = append(p.tokens, tokens(cut.Text(i)))
	}
	p.label(cut)
	return nil
}

// site is what pages of one maker share: they go into one fold.
func site(base *url.URL, p *page) uint64 {
	name := p.ID
	if base != nil && base.Hostname() != "" {
		parts := strings.Split(base.Hostname(), ".")
		n := min(2, len(parts))
		if len(parts) > 2 && len(parts[len(parts)-2]) <= 3 {
			n = 3
		}
		name = strings.Join(parts[len(parts)-n:], ".")
	}
	if p.Template != "" {
		name = p.Template
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// tokens cuts a text into words as the scorer does.
func tokens(s string) []string {
	var out []string
	start := -1
	for i, r := range s {
		switch {
		case blocks.Ignored(r):
			continue
		case blocks.Wide(r) && isWord(r):
			if start >= 0 {
				out = append(out, clean(s[start:i]))
				start = -1
			}
			out = append(out, string(r))
		case isWord(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			out = append(out, clean(s[start:i]))
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, clean(s[start:]))
	}
	return out
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if blocks.Ignored(r) {
			return -1
		}
		return r
	}, s)
}

// unicodeBytes says that pages of the charset can be read as they are.
func unicodeBytes(charset string) bool {
	switch charset {
	case "", "utf-8", "utf-8-sig", "utf8", "ascii":
		return true
	}
	return false
}
