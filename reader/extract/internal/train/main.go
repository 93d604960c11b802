// Command train makes the weights of the block classifier from pages whose main content is known,
// and measures what it can do on sites it has not seen.
//
//	train -dev DIR -grants DIR -folds 5            measure, by site
//	train -dev DIR -grants DIR -out weights.bin    make the weights
//
// A DIR holds index.jsonl and html/ID.html, as design/extraction.md describes. The same pages and
// the same settings give the same bytes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

type options struct {
	dev, grants, own, out, pred, odds, one1 string
	leaves2                                 int
	again                                   bool
	folds                                   int
	trees1, trees2, leaves                  int
	columns, rate                           float64
	one                                     bool
	least, lambda, part                     float64
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	flag.StringVar(&o.dev, "dev", "", "folder of extract-dev, unpacked")
	flag.StringVar(&o.grants, "grants", "", "folder of grants-dev, unpacked")
	flag.StringVar(&o.own, "own", "", "folder of the extractor's testdata")
	flag.StringVar(&o.out, "out", "", "write the weights to this file")
	flag.StringVar(&o.pred, "pred", "", "with -folds: write the answers, a JSON line a page")
	flag.IntVar(&o.folds, "folds", 0, "measure with so many folds")
	flag.IntVar(&o.trees1, "trees1", 90, "trees of each forest of the first stage")
	flag.IntVar(&o.trees2, "trees2", 50, "trees of the second stage")
	flag.IntVar(&o.leaves, "leaves", 16, "leaves of a tree")
	flag.Float64Var(&o.columns, "columns", 0.3, "share of the features that a tree may look at")
	flag.Float64Var(&o.rate, "rate", 0.13, "learning rate")
	flag.StringVar(&o.odds, "odds", "", "with -folds: save the probabilities; with -again: read them")
	flag.StringVar(&o.one1, "first", "", "with -folds: save the first stage's probabilities here, or read them if they are there")
	flag.IntVar(&o.leaves2, "leaves2", 8, "leaves of a tree of the second stage")
	flag.BoolVar(&o.again, "again", false, "measure the choice with saved probabilities")
	flag.BoolVar(&o.one, "one", false, "measure the first stage only")
	flag.Float64Var(&power, "power", 0.5, "how the weight of a block grows with its words")
	flag.Float64Var(&o.least, "least", 5, "least weight of the blocks in a leaf")
	flag.Float64Var(&o.lambda, "lambda", 5, "pull of leaves towards zero")
	flag.Float64Var(&o.part, "rows", 0.7, "share of the blocks that a tree learns from")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	pages, err := load(o.dev)
	if err != nil {
		return err
	}
	if o.grants != "" {
		more, err := load(o.grants)
		if err != nil {
			return err
		}
		pages = append(pages, more...)
	}
	if o.own != "" {
		more, err := ours(o.own)
		if err != nil {
			return err
		}
		pages = append(pages, more...)
	}
	log.Printf("%d pages, %d blocks", len(pages), blocksOf(pages))
	tellKinds(pages, o)
	if o.again {
		return again(pages, o)
	}
	if o.folds > 0 {
		return measure(pages, o)
	}
	return final(pages, outside(pages, o, 5), o)
}

func blocksOf(pages []*page) (n int) {
	for _, p := range pages {
		n += len(p.want)
	}
	return n
}
