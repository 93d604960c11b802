package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// language is what the page declares: on its html element, then in its head, then in its JSON-LD;
// else what its script and its commonest words tell beyond doubt.
func (p *papers) language() string {
	for _, raw := range [...]string{p.lang, p.first("content-language", "dc.language", "dcterms.language", "language"), p.first("og:locale"), p.ld.language} {
		if tag := languageTag(raw); tag != "" {
			return tag
		}
	}
	return detectLanguage(p.visible())
}

// visible is a sample of the text that the page shows.
func (p *papers) visible() []string {
	var all []string
	size := 0
	for n := range p.t.Descendants(dom.Root) {
		if p.t.Kind(n) != dom.Text || size > 60_000 {
			continue
		}
		switch p.t.Tag(p.t.Parent(n)) {
		case atom.Script, atom.Style, atom.Title, atom.A, atom.Option, atom.Button:
			continue
		}
		if s := tidy(p.t.Data(n), 2000); len(s) > 20 {
			all = append(all, s)
			size += len(s)
		}
	}
	return all
}

// languageTag is raw as a BCP 47 tag, or "".
func languageTag(raw string) string {
	raw, _, _ = strings.Cut(strings.TrimSpace(raw), ",")
	raw, _, _ = strings.Cut(raw, ".")
	parts := strings.Split(strings.ReplaceAll(strings.TrimSpace(raw), "_", "-"), "-")
	if len(parts) > 4 {
		return ""
	}
	for i, part := range parts {
		if part == "" || len(part) > 8 || strings.IndexFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9')
		}) >= 0 {
			return ""
		}
		switch {
		case i == 0:
			parts[i] = strings.ToLower(part)
		case len(part) == 2:
			parts[i] = strings.ToUpper(part)
		case len(part) == 4:
			parts[i] = strings.ToUpper(part[:1]) + strings.ToLower(part[1:])
		}
	}
	if n := len(parts[0]); n < 2 || n > 3 || parts[0] == "und" || parts[0] == "mul" || parts[0] == "zxx" {
		return ""
	}
	return strings.Join(parts, "-")
}

// scripts that only one language of weight is written in.
var scripts = []struct {
	table *unicode.RangeTable
	lang  string
}{{unicode.Hiragana, "ja"}, {unicode.Katakana, "ja"}, {unicode.Hangul, "ko"}, {unicode.Greek, "el"}, {unicode.Hebrew, "he"}, {unicode.Thai, "th"}, {unicode.Georgian, "ka"}, {unicode.Armenian, "hy"}}

var commonWords = map[string]string{
	"en": "the and of to in is that for it with as was on are this by be at from or have which not you",
	"nl": "de het een en van in is dat op te voor met zijn niet aan er om ook als bij door naar uit of deze worden wordt",
	"hu": "a az és hogy nem is egy van meg ez de már csak vagy mint még ha el volt amely illetve szerint lehet",
	"de": "der die das und ist in zu den mit von für auf nicht ein eine des im dem sich auch als an werden wird bei",
	"fr": "le la les et des est dans que pour une qui sur pas par au du avec ce il sont plus aux ne",
	"es": "el la los las y que de en un una por con para del se es no lo como más su al",
	"it": "il la di che è e un una per non con del della le si in i da sono al come gli nel",
	"pt": "o a os as que de do da em um uma para com não por se é dos das mais ao no na",
	"pl": "i w na z się nie że do jest to o jak po co dla są od przez oraz za być",
	"sv": "och att det som en på är av för med den till inte har ett om var de sig så",
	"da": "og at det som en på er af for med den til ikke har et om var de sig så være blev",
	"ru": "и в на не что с по это как из к для его от был но все у также или",
	"uk": "і в на не що з по це як та до для його від був але все у також або",
	"cs": "a se na je že v to s z do o pro by jako jsou které ale nebo při jsem",
	"ro": "și de în a la cu pe nu din este că care pentru un o sunt mai se prin sau",
}

// letterCount counts the letters of a text by script.
type letterCount struct {
	in       [8]int // of each of scripts
	han, all int
}

func (c *letterCount) add(s string) {
	for _, r := range s {
		if !unicode.IsLetter(r) {
			continue
		}
		c.all++
		if r < 0x370 {
			continue
		}
		if unicode.Is(unicode.Han, r) {
			c.han++
			continue
		}
		for i := range scripts {
			if unicode.Is(scripts[i].table, r) {
				c.in[i]++
				break
			}
		}
	}
}

// language is the one that the scripts alone tell, or "".
func (c *letterCount) language() string {
	if kana := c.in[0] + c.in[1]; kana*10 > c.all && kana > 0 {
		return "ja"
	}
	for i := 2; i < len(scripts); i++ {
		if c.in[i]*2 > c.all {
			return scripts[i].lang
		}
	}
	if c.han*2 > c.all {
		return "zh"
	}
	return ""
}

// detectLanguage is the language of the texts when it is beyond doubt, else "".
func detectLanguage(texts []string) string {
	var c letterCount
	hits := make(map[string]int)
	byWord := languagesByWord()
	words := 0
	for _, s := range texts {
		if c.all > 20_000 {
			break
		}
		c.add(s)
		for word := range strings.FieldsSeq(strings.ToLower(s)) {
			words++
			for _, lang := range byWord[strings.Trim(word, ".,;:!?()\"'")] {
				hits[lang]++
			}
		}
	}
	if c.all < 40 {
		return ""
	}
	if lang := c.language(); lang != "" {
		return lang
	}
	best, most, second := "", 0, 0
	for lang, n := range hits {
		if n > most || n == most && lang < best {
			best, most, second = lang, n, most
		} else if n > second {
			second = n
		}
	}
	if most >= 12 && most*5 >= words && most*2 >= second*3 {
		return best
	}
	return ""
}

func languagesByWord() map[string][]string {
	m := make(map[string][]string)
	for lang, list := range commonWords {
		for word := range strings.FieldsSeq(list) {
			m[word] = append(m[word], lang)
		}
	}
	return m
}
