package extract

import (
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strings"
)

// The bounds of JSON-LD: a script larger or deeper is not read.
const (
	largeLD = 2 << 20
	deepLD  = 64
	manyLD  = 5000
)

// ldPage is what the JSON-LD of a page says about the page.
type ldPage struct {
	headline, image, description, language, published, modified, publisher, site string
	authors, keywords                                                            []string
}

type ldNode = map[string]any

// readLD reads the JSON-LD scripts of the page at address, of which titles are what other sources
// call it; those tell the page's own node from others.
func readLD(scripts []string, address string, titles []string) ldPage {
	var top []ldNode
	ids := make(map[string]ldNode)
	for _, s := range scripts {
		for _, v := range parseLD(s) {
			top = spread(v, top, ids)
		}
	}
	var p ldPage
	l := ldReader{ids: ids}
	for _, n := range top {
		if kindRank(n) == rankSite && p.site == "" {
			p.site = l.text(n["name"])
		}
	}
	main := choose(top, l, address, titles)
	if main == nil {
		return p
	}
	l.fill(&p, main)
	for _, n := range top { // what the page's node leaves out, the node of the page around it may say
		if kindRank(n) == rankPage {
			l.fill(&p, n)
			break
		}
	}
	return p
}

// parseLD gives the values of a script, which is often not quite JSON.
func parseLD(s string) []any {
	s = strings.TrimSpace(s)
	if len(s) > largeLD || !shallow(s) {
		return nil
	}
	var v any
	if json.Unmarshal([]byte(s), &v) == nil {
		return []any{v}
	}
	s = mend(s)
	dec := json.NewDecoder(strings.NewReader(s))
	var all []any
	for len(all) < 50 {
		var one any
		if dec.Decode(&one) != nil {
			break
		}
		all = append(all, one)
	}
	return all
}

// shallow is true when s is nested no deeper than the bound, as far as brackets tell.
func shallow(s string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > deepLD {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// mend repairs what is often wrong: comments and CDATA around it, line ends in strings, a comma
// before a bracket, quotes written as entities.
func mend(s string) string {
	for _, cut := range [...]string{"<!--", "//<![CDATA[", "/*<![CDATA[*/", "// <![CDATA[", "<![CDATA[", "\ufeff"} {
		s = strings.TrimSpace(strings.TrimPrefix(s, cut))
	}
	for _, cut := range [...]string{"-->", "//]]>", "/*]]>*/", "// ]]>", "]]>", ";"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, cut))
	}
	if strings.HasPrefix(s, "{&quot;") || strings.HasPrefix(s, "[{&quot;") {
		s = html.UnescapeString(s)
	}
	out := make([]byte, 0, len(s))
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted && c == '\\' && i+1 < len(s):
			if strings.IndexByte(`"\/bfnrtu`, s[i+1]) < 0 {
				out = append(out, '\\', '\\')
				continue
			}
			out = append(out, c, s[i+1])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case quoted && c < 0x20:
			c = ' '
		case !quoted && (c == '}' || c == ']'):
			out = trimComma(out)
		}
		out = append(out, c)
	}
	return string(out)
}

func trimComma(out []byte) []byte {
	k := len(out)
	for k > 0 && (out[k-1] == ' ' || out[k-1] == '\n' || out[k-1] == '\t' || out[k-1] == '\r') {
		k--
	}
	if k > 0 && out[k-1] == ',' {
		return out[:k-1]
	}
	return out
}

// spread puts the nodes that v holds at its top, in arrays and graphs, behind top, and takes down
// the ids of all nodes below.
func spread(v any, top []ldNode, ids map[string]ldNode) []ldNode {
	type item struct {
		v     any
		outer bool
	}
	todo := []item{{v, true}}
	for n := 0; len(todo) > 0 && n < manyLD; n++ {
		it := todo[0]
		todo = todo[1:]
		switch x := it.v.(type) {
		case []any:
			for _, e := range x {
				todo = append(todo, item{e, it.outer})
			}
		case ldNode:
			if id, ok := x["@id"].(string); ok && len(x) > 1 && ids[id] == nil {
				ids[id] = x
			}
			if it.outer && x["@type"] != nil {
				top = append(top, x)
			}
			for _, key := range slices.Sorted(maps.Keys(x)) {
				e := x[key]
				switch e.(type) {
				case []any, ldNode:
					todo = append(todo, item{e, it.outer && (key == "@graph" || key == "mainEntity" || key == "mainEntityOfPage")})
				}
			}
		}
	}
	return top
}

type rank uint8

const (
	rankNone rank = iota
	rankSite
	rankPage
	rankThing
	rankArticle
)

// kindRank says how likely a node of this type is to be what the page is about.
func kindRank(n ldNode) rank {
	best := rankNone
	for _, kind := range words(n["@type"]) {
		kind = kind[strings.LastIndexAny(kind, "/#:")+1:]
		r := rankNone
		switch {
		case strings.HasSuffix(kind, "Article"), strings.HasSuffix(kind, "BlogPosting"), kind == "DiscussionForumPosting", kind == "SocialMediaPosting", kind == "LiveBlogPosting", kind == "Report", kind == "Question", kind == "BlogPost":
			r = rankArticle
		case kind == "WebSite":
			r = rankSite
		case strings.HasSuffix(kind, "Page"), kind == "WebContent", kind == "CreativeWork":
			r = rankPage
		case kind == "Product", kind == "ProductGroup", kind == "Recipe", kind == "Event", kind == "JobPosting", kind == "VideoObject", kind == "Course", kind == "Book", kind == "Movie", kind == "SoftwareApplication", kind == "Dataset",
			kind == "GovernmentService", kind == "Service", kind == "HowTo", kind == "Review", kind == "PodcastEpisode", kind == "MusicRecording", kind == "TVEpisode", kind == "Grant", kind == "MonetaryGrant":
			r = rankThing
		}
		best = max(best, r)
	}
	return best
}

// choose is the node that is about the page: of the highest rank, and when there are several, the
// one with the page's address or title; several that match nothing are a list of other pages.
func choose(top []ldNode, l ldReader, address string, titles []string) ldNode {
	for want := rankArticle; want >= rankPage; want-- {
		var found []ldNode
		for _, n := range top {
			if kindRank(n) == want {
				found = append(found, n)
			}
		}
		for _, n := range found {
			if l.about(n, address, titles) {
				return n
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 && want == rankPage {
			return found[0]
		}
	}
	return nil
}

type ldReader struct{ ids map[string]ldNode }

func (l ldReader) about(n ldNode, address string, titles []string) bool {
	for _, key := range [...]string{"url", "mainEntityOfPage", "@id"} {
		if s := l.link(n[key]); s != "" && address != "" && samePage(s, address) {
			return true
		}
	}
	name := l.text(n["headline"])
	if name == "" {
		name = l.text(n["name"])
	}
	for _, title := range titles {
		if name != "" && title != "" && (sameLetters(name, title) || strings.Contains(letters(title), letters(name)) && len(name) > 12) {
			return true
		}
	}
	return false
}

func samePage(a, b string) bool {
	cut := func(s string) string {
		s, _, _ = strings.Cut(s, "#")
		s = strings.TrimPrefix(strings.TrimPrefix(s, "https://"), "http://")
		return strings.TrimSuffix(strings.TrimPrefix(s, "www."), "/")
	}
	return cut(a) == cut(b)
}

// fill takes from n what p does not have yet.
func (l ldReader) fill(p *ldPage, n ldNode) {
	set := func(to *string, v string) {
		if *to == "" {
			*to = v
		}
	}
	set(&p.headline, l.text(n["headline"]))
	if kindRank(n) != rankPage {
		set(&p.headline, l.text(n["name"]))
	}
	set(&p.image, l.link(n["image"]))
	set(&p.image, l.link(n["primaryImageOfPage"]))
	set(&p.image, l.link(n["thumbnailUrl"]))
	set(&p.description, l.text(n["description"]))
	set(&p.language, l.text(n["inLanguage"]))
	set(&p.published, l.text(n["datePublished"]))
	set(&p.published, l.text(n["datePosted"]))
	set(&p.published, l.text(n["uploadDate"]))
	set(&p.published, l.text(n["dateCreated"]))
	set(&p.modified, l.text(n["dateModified"]))
	set(&p.publisher, l.name(n["publisher"]))
	set(&p.site, l.name(n["isPartOf"]))
	if len(p.authors) == 0 {
		p.authors = l.names(n["author"])
	}
	if len(p.authors) == 0 {
		p.authors = l.names(n["creator"])
	}
	if len(p.keywords) == 0 {
		for _, s := range words(n["keywords"]) {
			for one := range strings.SplitSeq(s, ",") {
				p.keywords = append(p.keywords, one)
			}
		}
	}
}

// words are the strings that v is or holds.
func words(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var all []string
		for _, e := range x {
			if s, ok := e.(string); ok && len(all) < 100 {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// text is v as a string: itself, its first, or its @value or name.
func (l ldReader) text(v any) string {
	for range 4 {
		switch x := v.(type) {
		case string:
			return tidy(x, longText)
		case []any:
			if len(x) == 0 {
				return ""
			}
			v = x[0]
		case ldNode:
			switch {
			case x["@value"] != nil:
				v = x["@value"]
			case x["alternateName"] != nil && x["name"] == nil:
				v = x["alternateName"]
			default:
				v = x["name"]
			}
		default:
			return ""
		}
	}
	return ""
}

// deref is the node that v is or refers to.
func (l ldReader) deref(v any) any {
	if n, ok := v.(ldNode); ok {
		if id, is := n["@id"].(string); is && n["name"] == nil && n["url"] == nil && n["contentUrl"] == nil && l.ids[id] != nil {
			return l.ids[id]
		}
	}
	return v
}

func (l ldReader) name(v any) string {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	switch x := l.deref(v).(type) {
	case ldNode:
		return l.text(x["name"])
	case string:
		if strings.Contains(x, "://") {
			return ""
		}
		return tidy(x, 200)
	}
	return ""
}

func (l ldReader) names(v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var all []string
	for _, e := range list {
		if n, ok := l.deref(e).(ldNode); ok {
			if several := words(n["name"]); len(several) > 1 {
				for _, s := range several[:min(len(several), 12-len(all))] {
					all = append(all, tidy(s, 200))
				}
				continue
			}
		}
		if s := l.name(e); s != "" && len(all) < 12 {
			all = append(all, s)
		}
	}
	return all
}

// link is the address that v is or holds.
func (l ldReader) link(v any) string {
	for range 5 {
		switch x := l.deref(v).(type) {
		case string:
			return strings.TrimSpace(x)
		case []any:
			if len(x) == 0 {
				return ""
			}
			v = x[0]
		case ldNode:
			switch {
			case x["url"] != nil:
				v = x["url"]
			case x["contentUrl"] != nil:
				v = x["contentUrl"]
			default:
				v = x["@id"]
			}
		default:
			return ""
		}
	}
	return ""
}
