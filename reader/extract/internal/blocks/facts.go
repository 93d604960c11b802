package blocks

import (
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Facts are what the page says about itself as a whole.
type Facts struct {
	Title, Social string // the title of the document, and of its card
	Description   string
	OG            uint8  // kind of og:type
	Maker         uint8  // kind of generator
	Types         uint32 // schema.org types in JSON-LD and microdata, a bit each of schemaTypes
	Mains         int32
	Articles      int32
	H1s, H2s      int32
	Paras         int32
	Path          int32 // parts of the URL's path
	Slug          int32 // hyphens in its last part
	Query, Dated  bool
	Script        bool  // the address is one of a forum's programs
	Host          uint8 // kind of host name
	Word          uint32
}

var schemaTypes = [][]string{
	{"Article", "BlogPosting", "TechArticle", "ScholarlyArticle", "Report"},
	{"NewsArticle", "ReportageNewsArticle", "OpinionNewsArticle", "LiveBlogPosting", "AnalysisNewsArticle"},
	{"Product", "ProductGroup"},
	{"DiscussionForumPosting", "QAPage", "Comment", "Question"},
	{"ItemList", "CollectionPage", "SearchResultsPage", "OfferCatalog"},
	{"FAQPage"},
	{"Recipe"},
	{"Event"},
	{"JobPosting"},
	{"Organization", "LocalBusiness", "Corporation", "ProfessionalService"},
	{"Service", "SoftwareApplication", "WebApplication"},
	{"WebPage"},
	{"WebSite"},
	{"BreadcrumbList"},
	{"Review", "AggregateRating"},
	{"VideoObject"},
	{"Person"},
	{"GovernmentService", "GovernmentOrganization"},
}

var ogTypes = []string{"", "article", "website", "product", "profile", "video", "blog", "book", "object"}

// Kinds of programs that make pages, by a word in the generator tag.
var makers = [][]string{
	{}, {"wordpress"}, {"discourse", "flarum", "phpbb", "vbulletin", "xenforo", "invision", "mybb", "vanilla", "nodebb", "smf"},
	{"docusaurus", "sphinx", "mkdocs", "gitbook", "vitepress", "vuepress", "hugo", "jekyll", "mintlify", "asciidoctor", "doxygen", "javadoc", "rustdoc", "starlight", "astro", "antora"},
	{"shopify", "woocommerce", "magento", "prestashop", "opencart", "bigcommerce"},
	{"drupal", "typo3", "joomla", "plone", "contao", "liferay"}, {"mediawiki"},
	{"wix", "squarespace", "webflow", "weebly", "jimdo", "framer"}, {"blogger", "ghost", "medium", "movable", "substack"},
}

var urlWords = []string{
	"product products shop store item dp buy produkt p",
	"forum forums thread threads topic topics t viewtopic showthread discussion discussions questions question community comments r item status",
	"docs doc documentation api reference guide guides manual tutorial help support kb learn handbook wiki",
	"blog blogs post posts article articles story stories",
	"news nieuws hirek hir politik politics world sport sports business",
	"category categories tag tags collection collections archive search results browse catalog directory list listing",
	"about services service solutions pricing features company careers contact platform",
}

func (f *Facts) url(base *url.URL) {
	if base == nil {
		return
	}
	f.Query = base.RawQuery != ""
	last := ""
	for part := range strings.SplitSeq(base.Path, "/") {
		if part == "" {
			continue
		}
		f.Path++
		last = part
		if len(part) == 4 && (strings.HasPrefix(part, "20") || strings.HasPrefix(part, "19")) {
			f.Dated = true
		}
		f.Word |= urlWord(part)
		if name, _, ok := strings.Cut(strings.ToLower(part), "."); ok {
			f.Script = f.Script || name == "viewtopic" || name == "showthread" || name == "showtopic"
		}
	}
	f.Slug = int32(strings.Count(last, "-") + strings.Count(last, "_"))
	for part := range strings.SplitSeq(base.Hostname(), ".") {
		f.Word |= urlWord(part)
	}
}

func urlWord(part string) (set uint32) {
	part = strings.ToLower(part)
	for i, line := range urlWords {
		for w := range strings.FieldsSeq(line) {
			if w == part {
				set |= 1 << i
			}
		}
	}
	return set
}

// head reads the page's head.
func (p *Page) head(base *url.URL) {
	f := &p.Facts
	f.url(base)
	t := p.Tree
	head := t.First(dom.Root, atom.Head)
	if head == 0 {
		return
	}
	for n := t.Following(head, head); n != 0; n = t.Following(n, head) {
		switch t.Tag(n) {
		case atom.Title:
			if f.Title == "" {
				f.Title = strings.TrimSpace(t.Text(n))
			}
		case atom.Meta:
			f.meta(t, n)
		case atom.Script:
			p.script(n)
		}
	}
	p.say(f.Description, saidDescription)
}

func (f *Facts) meta(t *dom.Tree, n dom.ID) {
	key := t.Attr(n, "property")
	if key == "" {
		key = t.Attr(n, "name")
	}
	switch strings.ToLower(key) {
	case "og:title":
		f.Social = t.Attr(n, "content")
	case "og:description", "description":
		if f.Description == "" {
			f.Description = t.Attr(n, "content")
		}
	case "og:type":
		v := strings.ToLower(t.Attr(n, "content"))
		for i, name := range ogTypes {
			if name != "" && strings.HasPrefix(v, name) {
				f.OG = uint8(i)
			}
		}
	case "generator":
		v := strings.ToLower(t.Attr(n, "content"))
		for i, names := range makers {
			for _, name := range names {
				if strings.Contains(v, name) {
					f.Maker = uint8(i)
				}
			}
		}
	}
}

// mostJSON bounds how much of one JSON-LD script is searched for types.
const mostJSON = 1 << 20

// script notes the types that a JSON-LD script names.
func (p *Page) script(n dom.ID) {
	if !strings.Contains(p.Tree.Attr(n, "type"), "ld+json") {
		return
	}
	data := p.Tree.Data(p.Tree.FirstChild(n))
	data = data[:min(len(data), mostJSON)]
	p.sayJSON(data)
	for {
		i := strings.Index(data, `"@type"`)
		if i < 0 {
			return
		}
		data = data[i+7:]
		near := data[:min(len(data), 80)]
		if end := strings.IndexAny(near, ",}"); end >= 0 && !strings.Contains(near[:end], "[") {
			near = near[:end]
		}
		p.Facts.Types |= typesIn(near)
	}
}

func typesIn(s string) (set uint32) {
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return set
		}
		s = s[i+1:]
		j := strings.IndexByte(s, '"')
		if j < 0 {
			return set
		}
		set |= schemaType(s[:j])
		s = s[j+1:]
	}
}

func schemaType(name string) uint32 {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for i, names := range schemaTypes {
		for _, n := range names {
			if n == name {
				return 1 << i
			}
		}
	}
	return 0
}

// thread says that the page is a thread by its data, the program that made it, or its address.
func (f *Facts) thread() bool {
	asked := f.Types>>3&1 == 1 && f.Types>>5&1 == 0 // a list of frequent questions has Questions too
	return asked || f.Maker == 2 || f.Word>>1&1 == 1 || f.Script
}

// article says that the page calls itself an article.
func (f *Facts) article() bool { return f.OG == 1 || f.Types&3 != 0 }

// Kind is what a page says it is.
type Kind uint8

// The kinds of pages.
const (
	Other Kind = iota
	Article
	Docs
	Thread
	Product
	List
	Service
)

// Kind is what the page says it is, by its data first, then the program that made it, then its address.
func (f *Facts) Kind() Kind {
	has := func(line int) bool { return f.Types>>line&1 == 1 }
	in := func(line int) bool { return f.Word>>line&1 == 1 }
	switch {
	case f.thread():
		return Thread
	case has(2) || f.OG == 3:
		return Product
	case f.article():
		return Article
	case f.Maker == 3 || in(2):
		return Docs
	case has(4) || in(5):
		return List
	case in(0):
		return Product
	case in(3) || in(4) || f.Dated:
		return Article
	case has(10) || in(6):
		return Service
	}
	return Other
}
