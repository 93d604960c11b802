package reader

import (
	"time"

	"github.com/webreaderapi/webreader/policy"
)

// Page is a page as the API shows it. It has no String and no log form.
type Page struct {
	URL          string    `json:"url"`
	FinalURL     string    `json:"final_url"`
	CanonicalURL string    `json:"canonical_url,omitempty"`
	Title        string    `json:"title,omitempty"`
	Byline       string    `json:"byline,omitempty"`
	SiteName     string    `json:"site_name,omitempty"`
	Language     string    `json:"language,omitempty"`
	Excerpt      string    `json:"excerpt,omitempty"`
	PublishedAt  string    `json:"published_at,omitempty"`
	ModifiedAt   string    `json:"modified_at,omitempty"`
	ContentType  string    `json:"content_type,omitempty"`
	Markdown     string    `json:"markdown,omitempty"`
	Text         string    `json:"text,omitempty"`
	HTML         string    `json:"html,omitempty"`
	Links        []Link    `json:"links,omitempty"`
	Images       []Image   `json:"images,omitempty"`
	Fingerprint  string    `json:"fingerprint,omitempty"`
	Unchanged    bool      `json:"unchanged,omitempty"`
	Tokens       int       `json:"tokens"`
	Truncated    bool      `json:"truncated"`
	TargetStatus int       `json:"target_status"`
	FetchedAt    time.Time `json:"fetched_at"`
	Decision     Decision  `json:"decision"`
	Warnings     []string  `json:"warnings"`
}

// Link is a link of the main content.
type Link struct {
	URL  string `json:"url"`
	Text string `json:"text,omitempty"`
	Rel  string `json:"rel,omitempty"`
}

// Image is an image of the main content.
type Image struct {
	URL string `json:"url"`
	Alt string `json:"alt,omitempty"`
}

// Page is the page. It is called inside a hand-over only.
func (d *Document) Page() Page { return d.page }

// Verdict is the decision that allowed the read.
func (d *Document) Verdict() policy.Verdict { return d.verdict }
