package reader

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/webreaderapi/webreader/internal/fault"
)

// Bounds of the read options.
const (
	mostSelectors = 50
	longSelector  = 1000 // bytes
	mostTokens    = 10_000_000
	longTimeout   = 10 * time.Minute
	longText      = 200 // bytes of language and if_fingerprint
)

// The formats that can be asked for.
const (
	FormatMarkdown = "markdown"
	FormatText     = "text"
	FormatHTML     = "html"
	FormatLinks    = "links"
	FormatImages   = "images"
)

var (
	formatWords = []string{FormatMarkdown, FormatText, FormatHTML, FormatLinks, FormatImages}
	linkWords   = []string{"inline", "references", "none"}
	imageWords  = []string{"inline", "alt", "none"}
	renderWords = []string{"never", "auto", "always"}
	countryForm = regexp.MustCompile(`^[A-Za-z]{2}$`)
)

// Options are the read options of the contract, the same at every door.
type Options struct {
	Formats          []string `json:"formats,omitempty"` // markdown, text, html, links, images
	OnlyMainContent  *bool    `json:"only_main_content,omitempty"`
	IncludeSelectors []string `json:"include_selectors,omitempty"`
	ExcludeSelectors []string `json:"exclude_selectors,omitempty"`
	Links            string   `json:"links,omitempty"`  // inline, references, none
	Images           string   `json:"images,omitempty"` // inline, alt, none
	MaxTokens        int      `json:"max_tokens,omitempty"`
	Country          string   `json:"country,omitempty"`
	Language         string   `json:"language,omitempty"`
	Render           string   `json:"render,omitempty"` // never, auto, always
	TimeoutMS        int      `json:"timeout_ms,omitempty"`
	IfFingerprint    string   `json:"if_fingerprint,omitempty"`
}

// Validate is nil, or a fault InvalidRequest that names every field at fault.
func (o Options) Validate() error {
	_, err := o.plan()
	return err
}

// plan is what the options ask for, checked.
type plan struct {
	Options
	include, exclude []selector
	timeout          time.Duration
	engine           string // extract's, for Convert
	noTokens         bool   // the tokens need not be counted
	noFingerprint    bool   // no fingerprint is asked for
}

func (o Options) plan() (plan, error) {
	p := plan{Options: o, timeout: time.Duration(o.TimeoutMS) * time.Millisecond}
	var c checks
	for _, f := range o.Formats {
		c.word("formats", f, formatWords)
	}
	p.include = c.selectors("include_selectors", o.IncludeSelectors)
	p.exclude = c.selectors("exclude_selectors", o.ExcludeSelectors)
	c.word("links", o.Links, append(linkWords[:3:3], ""))
	c.word("images", o.Images, append(imageWords[:3:3], ""))
	c.render(o.Render)
	c.that("max_tokens", o.MaxTokens >= 0 && o.MaxTokens <= mostTokens, "must be a number from 1 to %d", mostTokens)
	c.that("timeout_ms", o.TimeoutMS >= 0 && p.timeout <= longTimeout, "must be a number of milliseconds from 1 to %d", longTimeout.Milliseconds())
	c.that("country", o.Country == "" || countryForm.MatchString(o.Country), "must be a two-letter country code, such as nl")
	c.that("language", len(o.Language) <= longText && isLanguage(o.Language), "must be an Accept-Language value, such as nl or nl, en;q=0.5")
	c.that("if_fingerprint", len(o.IfFingerprint) <= longText, "must be the fingerprint of an earlier answer")
	return p, c.fault()
}

func isLanguage(s string) bool {
	_, _, err := language.ParseAcceptLanguage(s)
	return err == nil
}

// wants is true when the answer is to have that format.
func (p plan) wants(format string) bool {
	if len(p.Formats) == 0 {
		return format == FormatMarkdown
	}
	return slices.Contains(p.Formats, format)
}

// mainOnly is true unless the whole page is asked for.
func (p plan) mainOnly() bool { return p.OnlyMainContent == nil || *p.OnlyMainContent }

// checks gathers the fields at fault.
type checks struct{ fields []fault.Field }

func (c *checks) that(field string, ok bool, problem string, args ...any) {
	if !ok {
		c.fields = append(c.fields, fault.Field{Name: field, Detail: fmt.Sprintf(problem, args...)})
	}
}

func (c *checks) word(field, value string, words []string) {
	known := words
	if n := len(words) - 1; words[n] == "" {
		known = words[:n]
	}
	c.that(field, slices.Contains(words, value), "%q is not known; use %s", short(value), strings.Join(known, ", "))
}

func (c *checks) render(value string) {
	if value == "auto" || value == "always" {
		c.that("render", false, "%q needs a renderer, which this service does not have; use never", value)
		return
	}
	c.word("render", value, append(renderWords[:1:1], ""))
}

func (c *checks) selectors(field string, raw []string) (list []selector) {
	c.that(field, len(raw) <= mostSelectors, "must hold at most %d selectors", mostSelectors)
	for _, s := range raw {
		parsed, err := parseSelectors(s)
		if err != nil {
			c.that(field, false, "%q: %s", short(s), err)
			continue
		}
		list = append(list, parsed...)
	}
	return list
}

func (c *checks) fault() error {
	if len(c.fields) == 0 {
		return nil
	}
	detail := make([]string, 0, len(c.fields))
	for _, f := range c.fields {
		detail = append(detail, f.Name+": "+f.Detail)
	}
	return &fault.Error{Kind: fault.InvalidRequest, Detail: strings.Join(detail, "; ") + ".", Fields: c.fields}
}

// short is a value of the caller's as far as an error shows it.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
