package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract"
)

// watchCommands are the commands about changes of pages.
type watchCommands struct {
	Watch   watchCmd   `cmd:"" help:"Look at sites in rounds and print what changed. No server needed."`
	Changes changesCmd `cmd:"" help:"Detect changes in versions of pages, for tuning. No network."`
}

type changesCmd struct {
	JSONL bool `help:"Read lines of JSON and answer each with one." required:""`
}

func (changesCmd) Help() string {
	return `Reads {"page","seq","url","html"} or {"page","seq","url","status":404}, the versions of a page in order,
and answers each line with {"page","seq","kind","passages"}.

Example: webreader changes --jsonl < versions.jsonl`
}

type changeLine struct {
	Page   string          `json:"page"`
	Seq    json.RawMessage `json:"seq"`
	URL    string          `json:"url"`
	HTML   string          `json:"html"`
	Status int             `json:"status"`
}

type changeAnswer struct {
	Page     string           `json:"page"`
	Seq      json.RawMessage  `json:"seq"`
	Kind     change.Kind      `json:"kind,omitempty"`
	Passages []change.Passage `json:"passages,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// Run keeps the fingerprints of each page in memory, never a page.
func (changesCmd) Run(a *app) error {
	detector := change.NewDetector(change.Options{Key: []byte("webreader changes")})
	states := map[string]change.State{}
	in := bufio.NewReaderSize(a.In, 1<<20)
	out := bufio.NewWriter(a.Out)
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			if err := encode.Encode(answerChange(detector, states, line)); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the versions: %w", err)
		}
	}
}

func answerChange(d *change.Detector, states map[string]change.State, line []byte) changeAnswer {
	var v changeLine
	if err := json.Unmarshal(line, &v); err != nil {
		return changeAnswer{Seq: json.RawMessage("null"), Error: "not a line of JSON with page, seq, url and html or status"}
	}
	var r change.Report
	var state change.State
	if v.Status == http.StatusNotFound || v.Status == http.StatusGone {
		r, state = d.Missing(states[v.Page])
	} else {
		base, _ := url.Parse(v.URL)
		tree := dom.Parse([]byte(v.HTML), dom.Limits{})
		content := extract.Extract(tree, base, extract.Options{})
		r, state = d.Visit(states[v.Page], extract.TextBlocks(tree, content))
	}
	states[v.Page] = state
	return changeAnswer{Page: v.Page, Seq: v.Seq, Kind: r.Kind, Passages: r.Passages}
}
