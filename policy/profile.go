package policy

import (
	"time"

	"github.com/webreaderapi/webreader/policy/signals"
)

// Profile is one described bot: data, merged with the house floor. It never changes once loaded.
//
// The tags are the schema: `yaml` is the key, `one` lists the words a value may be, from lax to strict
// where `strict:"word"` says they have an order, `strict:"max"` and `"min"` say which number is the
// stricter one, `strict:"more"` that a longer list is, `strict:"true"` that true is. `default` is the
// value when neither the profile nor the house says anything, `example` is a correct one for errors,
// `none` is the sentence for a field that may be and is "none", and `says` is the field in plain words, %v standing for the value; `means` has a sentence for each
// word a value may be, or for false and true.
type Profile struct {
	Name     string      `yaml:"name" kind:"name" example:"municipal-news" says:"the profile is called %v"`
	Identity Identity    `yaml:"identity"`
	Robots   RobotsRules `yaml:"robots"`
	Pace     Pace        `yaml:"pace"`
	Signals  SignalRules `yaml:"signals"`
	Scope    Scope       `yaml:"scope"`
	Schedule Schedule    `yaml:"schedule"`
	Answer   Answer      `yaml:"answer"`
	Texts    Texts       `yaml:"texts"`

	topics *Topics           // the words behind Scope.Topics
	set    map[string]string // the fields that the profile's own file gives, as it writes them
	floor  map[string]bool   // the fields that the house floor made stricter
	house  *Profile
}

// Identity is how the bot names itself at every request.
type Identity struct {
	Token   string `yaml:"product_token" kind:"token" example:"ExampleBot" says:"robots.txt groups for %q apply to it"`
	Version string `yaml:"version" kind:"version" default:"1.0" example:"\"1.0\"" says:"its version is %v"`
	InfoURL string `yaml:"info_url" kind:"url" example:"https://site.example/bot" says:"its page for site operators is %v"`
	Contact string `yaml:"contact" kind:"contact" example:"bot@site.example" says:"site operators reach its operator at %v"`
}

// RobotsRules says how robots.txt is fetched and read.
type RobotsRules struct {
	MaxAge      time.Duration `yaml:"max_age" strict:"min" default:"24h" example:"24h" says:"a robots.txt is used for at most %v"`
	MaxAgeFloor time.Duration `yaml:"max_age_floor" default:"5m" example:"5m" says:"robots.txt is asked for at most once in %v, whatever its Cache-Control says"`
	RefetchOn   []string      `yaml:"refetch_on" one:"crawl_start" strict:"more" example:"[crawl_start]" says:"robots.txt is fetched anew at: %v"`
	On4xx       string        `yaml:"on_4xx" one:"open closed" strict:"word" default:"open" example:"open" means:"when robots.txt answers 4xx, everything may be read|when robots.txt answers 4xx, nothing is read"`
	AuthErrors  string        `yaml:"auth_errors" one:"allow disallow" strict:"word" default:"allow" example:"allow" means:"when robots.txt answers 401 or 403, everything may be read|when robots.txt answers 401 or 403, nothing is read"`
	On429       string        `yaml:"on_429" one:"closed skip_round" strict:"word" default:"closed" example:"closed" means:"when robots.txt answers 429, nothing is read until it can be asked again|when robots.txt answers 429, the host is left alone for the whole round"`
	On5xx       string        `yaml:"on_5xx" one:"closed skip_round" strict:"word" default:"closed" example:"closed" means:"when robots.txt answers 5xx or not at all, nothing is read until it can be asked again|when robots.txt answers 5xx or not at all, the host is left alone for the whole round"`
	CrawlDelay  CrawlDelay    `yaml:"crawl_delay"`
}

// The words of RobotsRules.
const (
	CrawlStart    = "crawl_start"
	Open          = "open"
	Closed        = "closed"
	SkipRound     = "skip_round"
	AuthDisallows = "disallow"
)

// CrawlDelay says what becomes of Crawl-delay.
type CrawlDelay struct {
	Honour      bool          `yaml:"honour" strict:"true" default:"true" example:"true" means:"Crawl-delay is not honoured|Crawl-delay is honoured"`
	Cap         time.Duration `yaml:"cap" kind:"none" none:"Crawl-delay is followed however long it is" strict:"max" default:"none" example:"30s" says:"a longer Crawl-delay counts as %v"`
	OverCap     string        `yaml:"over_cap" one:"cap skip_host" strict:"word" default:"cap" example:"cap" means:"over that cap, the cap itself is kept|over that cap, the host is left alone"`
	AppliesTo   string        `yaml:"applies_to" one:"crawls all" strict:"word" default:"crawls" example:"crawls" means:"Crawl-delay slows down crawls and watches|Crawl-delay slows down every request"`
	RequestRate bool          `yaml:"request_rate" strict:"true" default:"false" example:"false" means:"Request-rate is not read|Request-rate is read as a Crawl-delay"`
}

// The words of CrawlDelay.
const (
	OverCapSkips = "skip_host"
	AppliesToAll = "all"
)

// Pace says how fast requests may follow each other.
type Pace struct {
	Per           string        `yaml:"per" one:"host registrable_domain" strict:"word" default:"host" example:"host" means:"the pace is kept per host|the pace is kept per registrable domain, all its hosts together"`
	MinGap        time.Duration `yaml:"min_gap" strict:"max" default:"0s" example:"2s" says:"at least %v pass between two requests"`
	InFlight      int           `yaml:"in_flight" kind:"positive" strict:"min" default:"1" example:"1" says:"requests under way at once at one site: %v"`
	InFlightTotal int           `yaml:"in_flight_total" kind:"none" none:"sites do not wait for each other" strict:"min" default:"none" example:"1" says:"requests under way at once over all sites: %v"`
	OwnHops       string        `yaml:"own_hops" one:"free counted" strict:"word" default:"free" example:"counted" means:"the robots.txt request and the redirects of one read do not wait for the gap|the robots.txt request and each redirect wait for the gap like any request"`
	OnBusy        string        `yaml:"on_429_5xx" one:"error next_round backoff" default:"error" example:"backoff" means:"after 429 or 5xx it does not ask again; the customer gets the error|after 429 or 5xx it asks again in the next round|after 429 or 5xx it waits longer each time before it asks again"`
	Backoff       Backoff       `yaml:"backoff"`
}

// The words of Pace.
const (
	PerHost   = "host"
	PerDomain = "registrable_domain"

	HopsFree    = "free"
	HopsCounted = "counted"

	BusyError     = "error"
	BusyNextRound = "next_round"
	BusyBackoff   = "backoff"
)

// Backoff is the growing wait after 429 and 5xx: base·factor^(failed−1), at most max.
type Backoff struct {
	Base   time.Duration `yaml:"base" strict:"max" default:"5s" example:"5s" says:"the first wait is %v"`
	Factor float64       `yaml:"factor" strict:"max" default:"2" example:"2" says:"each further wait is %v times as long"`
	Max    time.Duration `yaml:"max" kind:"none" none:"a wait of its own has no upper bound" strict:"max" default:"none" example:"1h" says:"a wait that the site did not ask for is at most %v"`
}

// SignalRules says which signal of a site refuses and which is only reported.
type SignalRules struct {
	ContentSignal ContentSignalRules `yaml:"content_signal"`
	EnforceUse    bool               `yaml:"enforce_use" strict:"true" default:"false" example:"true" means:"the use= level of Content-Signal is only told|the use= level of Content-Signal is enforced"`
	ContentUse    string             `yaml:"content_use" one:"immediate reference full" strict:"word" default:"immediate" example:"immediate" means:"what it does with a page counts as immediate use: nothing is kept|what it does with a page counts as reference: excerpts and links|what it does with a page counts as full use"`
	UsagePurposes []string           `yaml:"usage_purposes" one:"train-ai search" strict:"more" example:"[train-ai]" says:"Content-Usage that refuses a read: %v"`
	TDM           string             `yaml:"tdm" one:"report refuse" strict:"word" default:"report" example:"report" means:"a TDM reservation is told, the page is read|a TDM reservation means that the page is not read"`
	TDMFile       string             `yaml:"tdm_file" one:"skip fetch" strict:"word" default:"skip" example:"skip" means:"tdmrep.json is not asked for|tdmrep.json is asked for, once per host"`
	NoAI          string             `yaml:"noai" one:"report refuse" strict:"word" default:"report" example:"report" means:"noai is told, the page is read|noai means that the page is not read"`
	NoIndex       string             `yaml:"noindex" one:"report discard" strict:"word" default:"report" example:"discard" means:"noindex is told, the page is read|a page with noindex is not kept"`
	NoFollow      string             `yaml:"nofollow" one:"report obey" strict:"word" default:"obey" example:"obey" means:"nofollow is told, links are followed|links of a page with nofollow are not followed"`
}

// ContentSignalRules says what "no" to each purpose of Content-Signal does.
type ContentSignalRules struct {
	Search  string `yaml:"search" one:"report refuse" strict:"word" default:"report" example:"report" means:"Content-Signal search=no is told, the page is read|Content-Signal search=no means that the page is not read"`
	AIInput string `yaml:"ai-input" one:"report refuse" strict:"word" default:"refuse" example:"refuse" means:"Content-Signal ai-input=no is told, the page is read|Content-Signal ai-input=no means that the page is not read"`
	AITrain string `yaml:"ai-train" one:"report refuse" strict:"word" default:"report" example:"report" means:"Content-Signal ai-train=no is told, the page is read|Content-Signal ai-train=no means that the page is not read"`
}

// The words of SignalRules.
const (
	Report     = "report"
	RefuseWord = "refuse"
	Discard    = "discard"
	Obey       = "obey"
	FetchFile  = "fetch"
)

// Scope says what is read at all.
type Scope struct {
	Documents       []string `yaml:"documents" one:"pdf docx xlsx ods odt" example:"[pdf, docx]" says:"documents that belong to a page on the subject: %v"`
	DocumentsOnce   bool     `yaml:"documents_once" strict:"true" default:"false" example:"true" means:"documents are fetched whenever a page links to them|a document that was fetched is not fetched again unless something says it changed"`
	Topics          string   `yaml:"topics" kind:"word" example:"grants" says:"only links on this subject are followed: %v"`
	MaxPagesPerSite int      `yaml:"max_pages_per_site" kind:"none" none:"a site has no page limit per round" strict:"min" default:"none" example:"5" says:"pages per site and round: at most %v"`
	Feeds           string   `yaml:"feeds" one:"ignore prefer" default:"ignore" example:"prefer" means:"feeds that a site advertises are not used|a feed that a site advertises is used instead of its pages"`
}

// PreferFeeds is the word of Scope.Feeds that polls a site through the feed it advertises.
const PreferFeeds = "prefer"

// Schedule says when rounds run. At most one of Rounds, Cron and a plain Window is given.
type Schedule struct {
	Rounds   Rounds        `yaml:"rounds"`
	TimeZone string        `yaml:"time_zone" kind:"zone" default:"UTC" example:"Europe/Amsterdam" says:"its clock is that of %v"`
	Hours    Hours         `yaml:"hours" default:"00:00-24:00" example:"\"07:00-19:00\"" says:"rounds are spread over %v"`
	Window   Window        `yaml:"window" example:"\"22:00-06:00 Europe/Budapest\"" says:"it works only within %v"`
	Cron     string        `yaml:"cron" kind:"cron" example:"\"0 6 * * 1-5\"" says:"rounds begin at %v"`
	Listing  time.Duration `yaml:"listing" kind:"rate" strict:"max" example:"1/day" says:"a listing page is fetched at most once in %v"`
}

// Rounds is how many rounds each day of the week has.
type Rounds struct {
	Mon int `yaml:"mon" strict:"min" default:"0" example:"5" says:"rounds on a Monday: %v"`
	Tue int `yaml:"tue" strict:"min" default:"0" example:"5" says:"rounds on a Tuesday: %v"`
	Wed int `yaml:"wed" strict:"min" default:"0" example:"5" says:"rounds on a Wednesday: %v"`
	Thu int `yaml:"thu" strict:"min" default:"0" example:"5" says:"rounds on a Thursday: %v"`
	Fri int `yaml:"fri" strict:"min" default:"0" example:"5" says:"rounds on a Friday: %v"`
	Sat int `yaml:"sat" strict:"min" default:"0" example:"1" says:"rounds on a Saturday: %v"`
	Sun int `yaml:"sun" strict:"min" default:"0" example:"1" says:"rounds on a Sunday: %v"`
}

// Answer says what customers get of a change.
type Answer struct {
	ExcerptChars    int    `yaml:"excerpt_chars" kind:"none" none:"excerpts have no length limit" strict:"min" default:"280" example:"280" says:"an excerpt has at most %v characters"`
	AttributeSource bool   `yaml:"attribute_source" strict:"true" default:"true" example:"true" means:"excerpts do not name their source|every excerpt names its source"`
	PersonalData    string `yaml:"personal_data" one:"keep filter" strict:"word" default:"keep" example:"filter" means:"excerpts are given as they are|e-mail addresses, phone numbers and national identity numbers are taken out of excerpts"`
}

// FilterPersonal is the word of Answer.PersonalData that drops personal data from excerpts.
const FilterPersonal = "filter"

// Texts says in which languages the bot's own page is written.
type Texts struct {
	Languages []string `yaml:"languages" one:"nl hu en" default:"[en]" example:"[nl, en]" says:"its page for site operators is written in: %v"`
}

// UserAgent is the one User-Agent of every request: "Token/1.0 (+https://site.example/bot)", without
// the address when there is none.
func (p *Profile) UserAgent() string {
	ua := p.Identity.Token + "/" + p.Identity.Version
	if p.Identity.InfoURL != "" {
		ua += " (+" + p.Identity.InfoURL + ")"
	}
	return ua
}

// Token is the product token that robots.txt groups name.
func (p *Profile) Token() string { return p.Identity.Token }

// PaceKey is the name of the pace key of t: its host or its registrable domain.
func (p *Profile) PaceKey(t Target) string {
	if p.Pace.Per == PerDomain {
		return t.RegistrableDomain()
	}
	return t.Host()
}

// TotalKey is the name of the pace key of the whole bot; "" when requests are not counted over all sites.
func (p *Profile) TotalKey() string {
	if p.Pace.InFlightTotal == 0 {
		return ""
	}
	return "profile:" + p.Name
}

// Gap is a pause between two requests to a site, and what asked for it.
type Gap struct {
	Gap time.Duration
	// Line, Text and Group are those of the Crawl-delay that was read; Line is 0 when there was none.
	Line        int
	Text, Group string
	Skip        bool // the delay is over the cap, and the profile then leaves the host alone
}

// Gap is the least time between two requests to a site as the profile, its robots.txt and its
// operator ask for it; the longest counts.
func (p *Profile) Gap(c Cause, r signals.Robots, o OptOut) Gap {
	g := Gap{Gap: max(p.Pace.MinGap, o.Delay)}
	rule := p.Robots.CrawlDelay
	if r.File == nil || !rule.Honour || !c.Crawls() && rule.AppliesTo != AppliesToAll {
		return g
	}
	d := r.File.Delay(p.Token(), rule.RequestRate)
	g.Line, g.Text, g.Group = d.Line, d.Text, d.Group
	if rule.Cap > 0 && d.Gap > rule.Cap {
		g.Skip = rule.OverCap == OverCapSkips
		d.Gap = rule.Cap
	}
	g.Gap = max(g.Gap, d.Gap)
	return g
}
