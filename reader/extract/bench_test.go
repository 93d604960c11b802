package extract

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// benchPages are the pages of WEBREADER_PAGES, a folder of HTML files, else those of testdata. At
// most 300 of them, so that a round stays short.
func benchPages(b *testing.B) (set [][]byte) {
	names, _ := filepath.Glob("testdata/*/source.html")
	if dir := os.Getenv("WEBREADER_PAGES"); dir != "" {
		names, _ = filepath.Glob(filepath.Join(dir, "*.html"))
	}
	step := max(1, len(names)/300)
	for i := 0; i < len(names); i += step {
		page, err := os.ReadFile(names[i])
		if err != nil {
			b.Fatal(err)
		}
		set = append(set, page)
	}
	if len(set) == 0 {
		b.Fatal("no pages: WEBREADER_PAGES must name a folder of HTML files")
	}
	return set
}

// BenchmarkPage compares, for a page: the bare parse of golang.org/x/net/html, our steps, and the
// baseline of go-readability and html-to-markdown. All take turns on each page and the best of the
// rounds counts, so that a busy machine disturbs them alike. "×parse" is the figure to keep.
func BenchmarkPage(b *testing.B) {
	set := benchPages(b)
	base, err := url.Parse("https://www.example.org/a/page")
	if err != nil {
		b.Fatal(err)
	}
	var tree dom.Tree
	var c Content
	steps := []struct {
		name string
		run  func(page []byte)
	}{
		{"parse", func(page []byte) { _, _ = html.Parse(bytes.NewReader(page)) }},
		{"tree", func(page []byte) { tree.Parse(page, dom.Limits{}) }},
		{"extract", func([]byte) { c = Extract(&tree, base, Options{}) }},
		{"markdown", func([]byte) { markdown.Render(&tree, c.Keep, markdown.Options{Base: base, NoTokens: true}) }},
		{"baseline", func(page []byte) { baseline(page, base) }},
	}
	best := make([][]time.Duration, len(steps))
	for k := range best {
		best[k] = make([]time.Duration, len(set))
	}
	for b.Loop() {
		for i, page := range set {
			for k, step := range steps {
				start := time.Now()
				step.run(page)
				if took := time.Since(start); best[k][i] == 0 || took < best[k][i] {
					best[k][i] = took
				}
			}
		}
	}
	sums := make([]float64, len(steps))
	for k := range best {
		for _, took := range best[k] {
			sums[k] += float64(took) / float64(len(set)) / 1e6
		}
	}
	b.ReportMetric(sums[0], "parse-ms")
	b.ReportMetric(sums[1]/sums[0], "tree-×parse")
	b.ReportMetric(sums[2]/sums[0], "extract-×parse")
	b.ReportMetric(sums[3]/sums[0], "markdown-×parse")
	b.ReportMetric((sums[1]+sums[2]+sums[3])/sums[0], "all-×parse")
	b.ReportMetric(sums[4]/sums[0], "baseline-×parse")
}

func baseline(page []byte, at *url.URL) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return
	}
	parser := readability.NewParser()
	article, err := parser.ParseAndMutate(doc, at)
	if err != nil || article.Node == nil {
		return
	}
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	_, _ = conv.ConvertNode(article.Node, converter.WithDomain("https://www.example.org"))
}

// BenchmarkOwn is our part alone, on trees made before.
func BenchmarkOwn(b *testing.B) {
	set := benchPages(b)
	trees := make([]*dom.Tree, len(set))
	for i, page := range set {
		trees[i] = dom.Parse(page, dom.Limits{})
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		Extract(trees[i%len(trees)], nil, Options{})
		i++
	}
}
