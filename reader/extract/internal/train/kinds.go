package main

import (
	"log"

	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
	"github.com/webreaderapi/webreader/reader/extract/internal/forest"
)

func kindSettings() forest.Settings {
	return forest.Settings{Trees: 24, Leaves: 6, Rate: 0.2, Lambda: 3, MinWeight: 3, Columns: 0.4, Rows: 0.8, Seed: 5}
}

// sorted says of a page with a known type which of blocks.PageKinds it is, -1 for one of no known type.
func (p *page) sorted() int {
	name := p.Type
	if name == "news" {
		name = "article"
	}
	for k, kind := range blocks.PageKinds {
		if kind == name && (p.truth != nil) {
			return k
		}
	}
	return -1
}

// kindForests learn to tell the kinds of pages apart.
func kindForests(pages []*page) []*forest.Forest {
	all := make([]*forest.Forest, len(blocks.PageKinds))
	for k := range all {
		s := forest.Sample{Width: blocks.KindFeatures}
		for _, p := range pages {
			kind := p.sorted()
			if kind < 0 {
				continue
			}
			want := float32(0)
			if kind == k {
				want = 1
			}
			s.Rows = append(s.Rows, p.kind...)
			s.Want, s.Heft = append(s.Want, want), append(s.Heft, 1)
		}
		all[k] = forest.Train(s, kindSettings())
	}
	return all
}

func (p *page) kindOdds(all []*forest.Forest) []float32 {
	var odds []float32
	for _, f := range all {
		odds = append(odds, probabilities(f, p.kind, blocks.KindFeatures, 1)...)
	}
	return odds
}

// tellKinds writes into the rows of all pages how likely forests that have not seen the site take the
// page for each kind.
func tellKinds(pages []*page, o options) {
	right, known := 0, 0
	folds := 5
	for k := range folds {
		train, test := split(pages, k, folds)
		all := kindForests(train)
		for _, p := range test {
			odds := p.kindOdds(all)
			blocks.SetKinds(p.rows, odds)
			best := 0
			for k := range odds {
				if odds[k] > odds[best] {
					best = k
				}
			}
			if kind := p.sorted(); kind >= 0 {
				known++
				if kind == best {
					right++
				}
			}
		}
	}
	log.Printf("kinds right: %d of %d", right, known)
}
