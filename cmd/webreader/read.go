package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/handlers"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// readCommands are the commands that need no server: a field and a struct each.
type readCommands struct {
	Read    readCmd    `cmd:"" help:"Read one page through the gate and print its Markdown."`
	Convert convertCmd `cmd:"" help:"Make Markdown of HTML that you have; no network."`
	Policy  policyCmd  `cmd:"" help:"Say whether a page may be read, and which line decides."`
	Profile profileCmd `cmd:"" help:"Look at the bots that can be read as."`
}

// localKey keys the fingerprints of the command line. It is no secret: whoever sees such a
// fingerprint has the page.
var localKey = []byte("webreader command line")

type readCmd struct {
	URL  string `arg:"" help:"Address of the page."`
	JSON bool   `help:"Print the object that the API would answer, for errors too."`

	contentFlags
	requestFlags
	engineFlags
}

// Help is shown by --help.
func (readCmd) Help() string {
	return `Markdown goes to standard output, the decision or the error as one line to standard error.
Ends with 0 when the page was read, 2 for a bad command, 3 when the site or its policy said no,
4 when the page could not be had, 1 for anything else.

Examples:

  webreader read https://example.com/news
  webreader read --json --formats markdown,links https://example.com/news`
}

// Run reads the page.
func (c readCmd) Run(a *app) error {
	limitMemory()
	id := billing.NewID("req")
	target, err := policy.ParseTarget(c.URL)
	if err != nil {
		return a.report(badURL(err), c.JSON, id)
	}
	profile, err := loadProfile(a.setting)
	if err != nil {
		return err
	}
	e, err := newEngine(a.setting, memoryRooms())
	if err != nil {
		return err
	}
	o := c.options()
	c.add(&o)
	order := billing.Order{
		Account: localAccount, Key: localAccount, Operation: billing.NewID("op"), Kind: string(policy.CauseRead), Longest: e.timeout * 2,
		Request: reader.Request{
			Profile: profile, Target: target, Options: o, FingerprintKey: localKey, NoTokens: !c.JSON,
			Cause: policy.Cause{Kind: policy.CauseRead, ID: id, Account: localAccount, Request: id},
		},
	}
	meter := billing.New(e.reader, newMemoryLedger())
	err = meter.Read(a.ctx, order, func(_ context.Context, d *reader.Document, h billing.Hold) error { return c.print(a, d, h, id) })
	return a.report(err, c.JSON, id)
}

// softMemory is what a lone read may take before garbage is collected more often: the largest page that is
// read stays well below 300 MB.
const softMemory = 192 << 20

// limitMemory sets softMemory, unless whoever runs the program set GOMEMLIMIT.
func limitMemory() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(softMemory)
	}
}

// print is the hand-over: the page to standard output, what decided to standard error.
func (c readCmd) print(a *app, d *reader.Document, h billing.Hold, id string) error {
	answer := reader.Answer{Page: d.Page(), Charge: reader.Charge{Units: h.Charge(d.Receipt())}, RequestID: id}
	answer.URL = c.URL
	if answer.Charge.Units > 0 {
		answer.Charge.Receipt = h.Receipt
	}
	var out []byte
	if c.JSON {
		text, err := marshal(answer)
		if err != nil {
			return err
		}
		out = text
	} else {
		out = plainPage(answer)
	}
	if _, err := a.Out.Write(out); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	_, _ = fmt.Fprintln(a.Err, "webreader: "+summary(answer))
	return nil
}

// plainPage is what was asked for, one format after the other.
func plainPage(p reader.Answer) []byte {
	var b bytes.Buffer
	for _, part := range []string{p.Markdown, p.Text, p.HTML} {
		writePart(&b, part)
	}
	for _, l := range p.Links {
		writePart(&b, l.URL)
	}
	for _, i := range p.Images {
		writePart(&b, i.URL)
	}
	return b.Bytes()
}

func writePart(b *bytes.Buffer, part string) {
	b.WriteString(part)
	if n := len(part); n > 0 && part[n-1] != '\n' {
		b.WriteByte('\n')
	}
}

// summary says in one line what was read, by which decision, at which price.
func summary(p reader.Answer) string {
	word := "read"
	if p.Unchanged {
		word = "unchanged"
	}
	line := fmt.Sprintf("%s %s (status %d), %s", word, p.FinalURL, p.TargetStatus, decisionLine(p.Decision))
	for _, w := range p.Warnings {
		line += "; warning: " + w
	}
	if p.Charge.Units == 1 {
		return line + "; 1 unit"
	}
	return line + fmt.Sprintf("; %d units", p.Charge.Units)
}

// marshal is v as one line of JSON, with < and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return b.Bytes(), nil
}

// report shows an error of a read: one line on standard error and, with --json, the API's object on
// standard output. It returns the error for its exit code.
func (a *app) report(err error, asJSON bool, requestID string) error {
	var bad *usageError
	if err == nil || errors.As(err, &bad) {
		return err
	}
	if errors.Is(err, context.Canceled) && a.ctx.Err() != nil {
		return errors.New("interrupted")
	}
	f := fault.As(err)
	_, _ = fmt.Fprintln(a.Err, "webreader: "+faultLine(f))
	if asJSON {
		a.writeProblem(a.Out, f, requestID)
	}
	return &reportedError{err}
}

func (a *app) writeProblem(w io.Writer, f *fault.Error, requestID string) {
	if text, err := marshal(handlers.ProblemOf(f, a.setting(envPublicURL), requestID)); err == nil {
		_, _ = w.Write(text)
	}
}

// faultLine is a fault as one line: code and reason, what the site answered, what decided, what to do.
func faultLine(f *fault.Error) string {
	line := f.Kind.String()
	if f.Reason != "" {
		line += " (" + f.Reason + ")"
	}
	if f.TargetStatus > 0 {
		line += fmt.Sprintf(", status %d", f.TargetStatus)
	}
	if d, ok := reader.DecisionIn(f.Err); ok && !d.Allowed {
		d.Reason = "" // it stands in front
		line += ": " + decisionLine(d)
	}
	switch {
	case f.Detail != "":
		line += ": " + f.Detail
	case f.Kind == fault.Internal && f.Err != nil:
		line += ": " + f.Err.Error() // this process is the service: who runs it may see why
	}
	if f.RetryAfter > 0 {
		line += fmt.Sprintf(" (retry after %s)", f.RetryAfter)
	}
	return oneLine(errors.New(line))
}
