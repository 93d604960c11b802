package main

import (
	"hash/fnv"
	"maps"
	"math"
	"regexp"
	"strings"

	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// shingle is the length of the runs of words that are compared.
const shingle = 4

// power is how the weight of a block in training grows with its words.
var power = 0.7

// A page weighs about the same whatever its size. How much a block matters for the F1 of its page goes
// with the words of the content, not with those of the page: poise is how far the weights follow that.
const (
	poise        = 0.7
	leastContent = 0.2
)

func hashRun(run []string) uint64 {
	h := fnv.New64a()
	for _, w := range run {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

func shingles(words []string) map[uint64]int {
	m := make(map[uint64]int)
	if len(words) == 0 {
		return m
	}
	for i := range max(1, len(words)-shingle+1) {
		m[hashRun(words[i:min(len(words), i+shingle)])]++
	}
	return m
}

// reference is the known main content as plain text, if there is one.
func (p *page) reference() (string, bool) {
	switch {
	case p.Text != nil:
		return *p.Text, true
	case p.Markdown != nil:
		return plain(*p.Markdown), true
	}
	return "", false
}

var markup = regexp.MustCompile("(?m)!\\[[^\\]]*\\]\\([^)]*\\)|\\]\\([^)\\s]*(?: \"[^\"]*\")?\\)|\\[\\^[^\\]]+\\]:?|</?[a-z][^>]*>|^\\s*(?:\\d+[.)]|[-*+>]|#+|`{3}.*|\\|[-:| ]+\\|)\\s|[*`\\\\\\[]")

// plain takes the marks of Markdown away, roughly.
func plain(md string) string { return markup.ReplaceAllString(md, "") }

// label says of each block how much of it is in the reference.
func (p *page) label(cut *blocks.Page) {
	n := len(p.tokens)
	p.want, p.heft = make([]float32, n), make([]float32, n)
	ref, ok := p.reference()
	if !ok {
		p.snippets()
		p.plain = p.heft
		return
	}
	p.truth = shingles(tokens(ref))
	covered := p.cover(ref)
	total, content := 0.0, 0.0
	for i, words := range p.tokens {
		if len(words) == 0 {
			continue
		}
		p.want[i] = float32(covered[i]) / float32(len(words))
		p.heft[i] = float32(math.Pow(float64(len(words))+1, power))
		total += float64(p.heft[i])
		content += float64(p.heft[i] * p.want[i])
		if p.Dataset == "grants" && cut.Blocks[i].Title {
			p.heft[i] = 0
		}
	}
	weight := 100.0
	if p.Dataset == "mozilla" || p.Dataset == "defuddle" || p.Dataset == "grants" {
		weight = 60
	}
	p.plain = make([]float32, n)
	for i, h := range p.heft {
		p.plain[i] = h * float32(weight/max(total, 1))
		p.heft[i] = h * float32(weight/max(total*leastContent, total*(1-poise)+2*content*poise, 1))
	}
}

// cover counts the words of each block that are in a run of words of the reference. A block too
// short for a run counts when it is a line of the reference and lies between blocks that count.
func (p *page) cover(ref string) []int {
	var all []string
	var owner []int
	for i, words := range p.tokens {
		for _, w := range words {
			all, owner = append(all, w), append(owner, i)
		}
	}
	hit := make([]bool, len(all))
	left := maps.Clone(p.truth)
	for i := 0; i+shingle <= len(all); i++ {
		h := hashRun(all[i : i+shingle])
		if left[h] == 0 {
			continue
		}
		left[h]--
		for k := range shingle {
			hit[i+k] = true
		}
	}
	covered := make([]int, len(p.tokens))
	for i, h := range hit {
		if h {
			covered[owner[i]]++
		}
	}
	p.short(ref, covered)
	return covered
}

func (p *page) short(ref string, covered []int) {
	lines := make(map[uint64]bool)
	for line := range strings.SplitSeq(strings.ReplaceAll(ref, "\t", "\n"), "\n") {
		if words := tokens(line); len(words) > 0 {
			lines[hashRun(words)] = true
		}
	}
	first, last := len(covered), -1
	for i, n := range covered {
		if n >= shingle && n*2 > len(p.tokens[i]) {
			first, last = min(first, i), i
		}
	}
	for i, words := range p.tokens {
		if len(words) > 0 && len(words) < 6 && i > first-3 && i < last+3 && lines[hashRun(words)] {
			covered[i] = len(words)
		}
		if len(words) < shingle && covered[i] < len(words) {
			covered[i] = 0
		}
	}
}

// snippets labels only the blocks that hold a snippet which must, or must not, be in the answer.
func (p *page) snippets() {
	fold := func(words []string) string { return " " + strings.ToLower(strings.Join(words, " ")) + " " }
	for i, words := range p.tokens {
		text := fold(words)
		for _, s := range p.With {
			if strings.Contains(text, fold(tokens(s))) {
				p.want[i], p.heft[i] = 1, 12
			}
		}
		for _, s := range p.Without {
			if strings.Contains(text, fold(tokens(s))) {
				p.want[i], p.heft[i] = 0, 12
			}
		}
	}
}
