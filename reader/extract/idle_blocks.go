package extract

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// longestIdle is the most words of a block that may be an idle line.
const longestIdle = 24

// longestByline is the most words of a line that says who put the page there, and when: the byline and the
// date are fields of their own.
const longestByline = 16

// bylineStarts are how such lines begin: Dutch, Hungarian, English and German.
var bylineStarts = [...]string{"posted by ", "posted on ", "published by ", "published on ", "written by ", "geplaatst door ", "geplaatst op ", "gepubliceerd door ", "gepubliceerd op ",
	"geschreven door ", "közzétette", "közzétéve", "írta:", "feltöltötte", "veröffentlicht von ", "veröffentlicht am "}

func byline(text string) bool {
	text = strings.ToLower(text)
	for _, start := range bylineStarts {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// mostPrev is how many nodes before a definition are looked at for its term.
const mostPrev = 16

// withoutIdle drops the kept blocks that do nothing but count or tell the time, and bylines with a date. A value stays: what
// stands alone in a cell, or behind a label.
func withoutIdle(p *blocks.Page, keep []bool) {
	for i, k := range keep {
		b := &p.Blocks[i]
		if !k || b.Digits == 0 || b.Level > 0 || b.Words > longestIdle || value(p, b) {
			continue
		}
		var line strings.Builder
		for _, n := range p.Texts[b.Lo:b.Hi] {
			line.WriteString(p.Tree.Data(n))
			line.WriteByte(' ')
		}
		text := strings.TrimSpace(line.String())
		keep[i] = !Idle(text) && !(b.Year && b.Words <= longestByline && !b.Fluent() && byline(text))
	}
}

func value(p *blocks.Page, b *blocks.Block) bool {
	box := &p.Elems[b.Box]
	switch p.Tree.Tag(box.ID) {
	case atom.Td, atom.Th:
		return box.Blocks == 1
	case atom.Dd:
		// Without a term before it, it is a line like any other.
		for n, hops := p.Tree.Prev(box.ID), 0; n != 0 && hops < mostPrev; n, hops = p.Tree.Prev(n), hops+1 {
			if p.Tree.Tag(n) == atom.Dt {
				return true
			}
		}
	}
	return false
}
