package main

import (
	"cmp"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
	"github.com/webreaderapi/webreader/reader/extract/internal/forest"
)

// first are the settings of the first stage's two forests: one sees less and weighs blocks by the size
// of their pages. Their mean errs less than either.
func (o options) first() [2]forest.Settings {
	all := forest.Settings{Trees: o.trees1, Leaves: o.leaves, Rate: o.rate, Lambda: o.lambda, MinWeight: o.least, Columns: o.columns, Rows: o.part, Seed: 7}
	plain := all
	plain.Limit = blocks.Plain
	return [2]forest.Settings{plain, all}
}

// firstForests learn the first stage.
func firstForests(pages []*page, o options) (made [2]*forest.Forest) {
	rows := func(p *page) []uint8 { return p.rows }
	heft := [2]func(*page) []float32{func(p *page) []float32 { return p.plain }, func(p *page) []float32 { return p.heft }}
	for k, set := range o.first() {
		made[k] = forest.Train(sample(pages, blocks.Features, rows, heft[k]), set)
	}
	return made
}

// firstOf is the answer of the first stage for a page.
func firstOf(both [2]*forest.Forest, p *page) []float32 {
	odds := probabilities(both[0], p.rows, blocks.Features, len(p.want))
	blocks.Mix(probabilities(both[1], p.rows, blocks.Features, len(p.want)), odds)
	return odds
}

func (o options) second() forest.Settings {
	s := o.first()[1]
	s.Trees, s.Seed, s.Leaves, s.Columns = o.trees2, 11, o.leaves2, 0.5
	return s
}

// sample joins the rows of pages.
func sample(pages []*page, width int, rows func(*page) []uint8, heft func(*page) []float32) forest.Sample {
	s := forest.Sample{Width: width}
	for _, p := range pages {
		all := rows(p)
		for i, h := range heft(p) {
			if h > 0 {
				s.Rows = append(s.Rows, all[i*width:(i+1)*width]...)
				s.Want, s.Heft = append(s.Want, p.want[i]), append(s.Heft, h)
			}
		}
	}
	return s
}

func split(pages []*page, fold, folds int) (train, test []*page) {
	for _, p := range pages {
		if int(p.site>>8%uint64(folds)) == fold {
			test = append(test, p)
		} else {
			train = append(train, p)
		}
	}
	return train, test
}

// probabilities are those of one forest for a page.
func probabilities(f *forest.Forest, rows []uint8, width, n int) []float32 {
	out := make([]float32, n)
	f.Predict(rows, width, out)
	return out
}

// outside gives each page the first stage's answer of a forest that has not seen its site.
func outside(pages []*page, o options, folds int) map[*page][]float32 {
	answers := make(map[*page][]float32)
	for k := range folds {
		train, test := split(pages, k, folds)
		both := firstForests(train, o)
		for _, p := range test {
			answers[p] = firstOf(both, p)
		}
		if o.folds > 0 && k == 0 {
			seen, n := 0.0, 0.0
			for _, p := range train {
				if p.truth != nil && p.Dataset != "grants" {
					seen += p.f1(blocks.Choose(firstOf(both, p), p.view))
					n++
				}
			}
			log.Printf("pages seen in training: %.3f", seen/n)
		}
	}
	return answers
}

func measure(pages []*page, o options) error {
	report("labels", pages, func(p *page) []bool {
		kept := make([]bool, len(p.want))
		for i, w := range p.want {
			kept[i] = w >= 0.5
		}
		return kept
	})
	one, err := firstOdds(pages, o)
	if err != nil {
		return err
	}
	report("stage 1", pages, func(p *page) []bool { return blocks.Choose(one[p], p.view) })
	if o.one {
		return nil
	}
	rows := secondRows(pages, one)
	two := make(map[*page][]float32)
	for k := range o.folds {
		train, test := split(pages, k, o.folds)
		f := secondForest(train, rows, o)
		for _, p := range test {
			two[p] = probabilities(f, rows[p], blocks.Features2, len(p.want))
			blocks.Mix(one[p], two[p])
		}
		log.Printf("stage 2, fold %d", k)
	}
	if o.odds != "" {
		if err := saveOdds(o.odds, pages, two); err != nil {
			return err
		}
	}
	report("stage 2", pages, func(p *page) []bool { return blocks.Choose(two[p], p.view) })
	if o.pred != "" {
		if err := answers(o.pred, pages, func(p *page) []bool { return blocks.Choose(two[p], p.view) }); err != nil {
			return err
		}
	}
	if o.out == "" {
		return nil
	}
	return final(pages, one, o)
}

func secondForest(pages []*page, rows map[*page][]uint8, o options) *forest.Forest {
	return forest.Train(sample(pages, blocks.Features2, func(p *page) []uint8 { return rows[p] }, func(p *page) []float32 { return p.heft }), o.second())
}

func secondRows(pages []*page, one map[*page][]float32) map[*page][]uint8 {
	rows := make(map[*page][]uint8)
	for _, p := range pages {
		rows[p] = p.view.Second(p.rows, one[p], nil)
	}
	return rows
}

// final makes the weights of all pages. The second stage learns from first answers by forests that
// have not seen the site, since it will meet such answers.
func final(pages []*page, one map[*page][]float32, o options) error {
	rows := secondRows(pages, one)
	kinds := kindForests(pages)
	first, second := firstForests(pages, o), secondForest(pages, rows, o)
	report("the weights on the pages they come from", pages, func(p *page) []bool {
		blocks.SetKinds(p.rows, p.kindOdds(kinds))
		odds := firstOf(first, p)
		both := probabilities(second, p.view.Second(p.rows, odds, nil), blocks.Features2, len(p.want))
		blocks.Mix(odds, both)
		return blocks.Choose(both, p.view)
	})
	var made []byte
	for _, f := range append(kinds, first[0], first[1], second) {
		made = append(made, f.Bytes()...)
	}
	return os.WriteFile(o.out, made, 0o644)
}

// report prints the mean page F1 by data set, type and language.
func report(name string, pages []*page, keep func(*page) []bool) {
	sums := make(map[string][2]float64)
	add := func(key string, f float64) { s := sums[key]; sums[key] = [2]float64{s[0] + 1, s[1] + f} }
	var yes, no [2]float64
	for _, p := range pages {
		kept := keep(p)
		p.snippetScore(kept, &yes, &no)
		if p.truth == nil {
			continue
		}
		f := p.f1(kept)
		add("set "+p.Dataset, f)
		if p.Dataset == "grants" {
			add("tpl "+p.Template, f)
			continue
		}
		add("all", f)
		if f < .5 {
			add("low", 1)
		}
		add("type "+p.Type, f)
		add("lang "+p.Lang, f)
	}
	fmt.Printf("== %s; snippets: recall %.3f leak %.3f\n", name, yes[0]/yes[1], no[0]/no[1])
	keys := make([]string, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		fmt.Printf("%-22s %4.0f %.3f", k, sums[k][0], sums[k][1]/sums[k][0])
		if i%3 == 2 {
			fmt.Println()
		} else {
			fmt.Print("   ")
		}
	}
	fmt.Println()
}

func (p *page) keptWords(kept []bool) []string {
	var words []string
	for i, k := range kept {
		if k {
			words = append(words, p.tokens[i]...)
		}
	}
	return words
}

func (p *page) f1(kept []bool) float64 {
	got := shingles(p.keptWords(kept))
	same, all := 0, 0
	for h, n := range got {
		same += min(n, p.truth[h])
		all += n
	}
	for _, n := range p.truth {
		all += n
	}
	if all == 0 {
		return 1
	}
	return 2 * float64(same) / float64(all)
}

func (p *page) snippetScore(kept []bool, yes, no *[2]float64) {
	if len(p.With)+len(p.Without) == 0 {
		return
	}
	text := " " + strings.ToLower(strings.Join(p.keptWords(kept), " ")) + " "
	has := func(s string) float64 {
		if strings.Contains(text, " "+strings.ToLower(strings.Join(tokens(s), " "))+" ") {
			return 1
		}
		return 0
	}
	for _, s := range p.With {
		yes[0] += has(s)
		yes[1]++
	}
	for _, s := range p.Without {
		no[0] += has(s)
		no[1]++
	}
}

func answers(name string, pages []*page, keep func(*page) []bool) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	enc := json.NewEncoder(file)
	for _, p := range slices.SortedStableFunc(slices.Values(pages), func(a, b *page) int { return cmp.Compare(a.ID, b.ID) }) {
		var text []string
		for i, k := range keep(p) {
			if k {
				text = append(text, strings.Join(p.tokens[i], " "))
			}
		}
		f := -1.0
		if p.truth != nil {
			f = p.f1(keep(p))
		}
		if err := enc.Encode(map[string]any{"id": p.ID, "text": strings.Join(text, "\n"), "f": f}); err != nil {
			return err
		}
	}
	return nil
}

// firstOdds are the first stage's answers of forests that have not seen the site: from the file that
// -first names, or computed and saved there.
func firstOdds(pages []*page, o options) (map[*page][]float32, error) {
	if all, err := readOdds(o.one1); err == nil {
		one := make(map[*page][]float32)
		for _, p := range pages {
			one[p] = all[p.ID]
		}
		return one, nil
	}
	one := outside(pages, o, o.folds)
	if o.one1 == "" {
		return one, nil
	}
	return one, saveOdds(o.one1, pages, one)
}

func readOdds(name string) (map[string][]float32, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := make(map[string][]float32)
	return all, gob.NewDecoder(file).Decode(&all)
}

func saveOdds(name string, pages []*page, odds map[*page][]float32) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	all := make(map[string][]float32)
	for _, p := range pages {
		all[p.ID] = odds[p]
	}
	return gob.NewEncoder(file).Encode(all)
}

// again measures the choice with saved probabilities.
func again(pages []*page, o options) error {
	all, err := readOdds(o.odds)
	if err != nil {
		return err
	}
	keep := func(p *page) []bool { return blocks.Choose(all[p.ID], p.view) }
	report("again", pages, keep)
	if o.pred == "" {
		return nil
	}
	return answers(o.pred, pages, keep)
}
