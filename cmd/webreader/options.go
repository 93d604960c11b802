package main

import "github.com/webreaderapi/webreader/reader"

// contentFlags are the read options that say what is made of a page.
type contentFlags struct {
	Formats          []string `help:"What to make of the page: markdown, text, html, links, images." placeholder:"FORMAT" group:"Content"`
	OnlyMainContent  bool     `help:"Leave menus, banners and footers out." default:"true" negatable:"" group:"Content"`
	IncludeSelectors []string `help:"Take only what these CSS selectors match; can be given several times." sep:"none" placeholder:"CSS" group:"Content"`
	ExcludeSelectors []string `help:"Leave out what these CSS selectors match; can be given several times." sep:"none" placeholder:"CSS" group:"Content"`
	Links            string   `help:"How links are written: inline, references or none." placeholder:"inline" group:"Content"`
	Images           string   `help:"How images are written: inline, alt or none." placeholder:"inline" group:"Content"`
	MaxTokens        int      `help:"Cut the Markdown at the last block that ends within so many tokens." placeholder:"N" group:"Content"`
}

func (f contentFlags) options() reader.Options {
	return reader.Options{
		Formats: f.Formats, OnlyMainContent: &f.OnlyMainContent, IncludeSelectors: f.IncludeSelectors,
		ExcludeSelectors: f.ExcludeSelectors, Links: f.Links, Images: f.Images, MaxTokens: f.MaxTokens,
	}
}

// requestFlags are the read options that say how the page is asked for.
type requestFlags struct {
	Country       string `help:"Read from this country (ISO 3166-1, such as nl), or fail." placeholder:"CC" group:"Request"`
	Language      string `help:"Language to ask the site for, as Accept-Language." placeholder:"TAG" group:"Request"`
	Render        string `help:"Whether the page's scripts are run: only never works so far." placeholder:"never" group:"Request"`
	TimeoutMS     int    `name:"timeout-ms" help:"Give up after so many milliseconds." placeholder:"N" group:"Request"`
	IfFingerprint string `help:"Fingerprint of an earlier answer: an unchanged page is not printed." placeholder:"FINGERPRINT" group:"Request"`
}

func (f requestFlags) add(o *reader.Options) {
	o.Country, o.Language, o.Render, o.TimeoutMS, o.IfFingerprint = f.Country, f.Language, f.Render, f.TimeoutMS, f.IfFingerprint
}
