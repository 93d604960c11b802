package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// withoutOthers drops from an article what belongs to others: a second article that a page shows behind the first,
// the cards of others far behind it, lines that only name one, and what says that an advertisement stands here.
func withoutOthers(t *dom.Tree, p *blocks.Page, keep []bool) {
	w := sweep{Page: p, t: t, keep: keep}
	kind := p.Facts.Kind()
	article := kind == blocks.Article
	if article {
		w.articles()
	}
	for i, k := range keep {
		switch {
		case !k:
		case adTitles[w.short(i)]:
			w.drop(i, i+1)
		case kind != blocks.Docs && kind != blocks.Thread && w.elsewhere(i):
			w.drop(i, i+1)
		case article:
			first, last := w.Beyond(i)
			w.drop(int(first), int(last))
		}
	}
}

// leastArticle is how many words of running text make the first of two articles.
const leastArticle = 100

// articles drops the articles with a title of their own behind the one that has the page's.
func (w *sweep) articles() {
	at := -1
	for i := range w.Blocks {
		if b := &w.Blocks[i]; b.Title && b.Level == 1 {
			at = i
			break
		}
	}
	if at < 0 {
		return
	}
	sums, titles := make([]int32, len(w.keep)+1), make([]int32, len(w.keep)+1)
	for i, k := range w.keep {
		sums[i+1], titles[i+1] = sums[i], titles[i]
		b := &w.Blocks[i]
		if k && i > at && b.Fluent() {
			sums[i+1] += b.Words
		}
		if b.Level == 1 && !b.Title {
			titles[i+1]++
		}
	}
	gone := int32(0)
	for i := range w.Elems {
		e := &w.Elems[i]
		if w.t.Tag(e.ID) == atom.Article && e.First >= gone && int(e.First) > at && titles[e.Last] > titles[e.First] && sums[e.First] >= leastArticle {
			w.drop(int(e.First), int(e.Last))
			gone = e.Last
		}
	}
}

// adWords is the most words of a line that says that an advertisement stands here.
const adWords = 3

// short is the text of a block of few words, "" for one of more.
func (w *sweep) short(i int) string {
	if w.Blocks[i].Words > adWords {
		return ""
	}
	return plainTitle(w.Text(i))
}

var adTitles = titleSet("advertisement|advertisements|advert|sponsored|sponsored content|story continues below advertisement|anzeige|werbung|publicité|annonce|annonces|publicidad|pubblicità|publicidade|" +
	"advertentie|advertenties|reclame|reklame|annons|mainos|reklama|reklam|reklám|hirdetés|реклама|διαφήμιση|إعلان|إعلانات|פרסומת|विज्ञापन|โฆษณา|quảng cáo|iklan|広告|廣告|广告|광고")

// elsewhereWords is the most words of a line that names another article.
const elsewhereWords = 40

// elsewhere says that a block only names another article: it says so, and most of the rest is a link.
func (w *sweep) elsewhere(i int) bool {
	b := &w.Blocks[i]
	if b.Linked*2 < b.Words || b.Linked == 0 || b.Words > elsewhereWords || w.File(i) {
		return false
	}
	line := strings.TrimLeftFunc(w.Text(i), func(r rune) bool { return !unicode.IsLetter(r) })
	line = plainTitle(line)
	for _, start := range elsewhereStarts {
		if rest, ok := strings.CutPrefix(line, start); ok && (rest == "" || strings.IndexFunc(rest, unicode.IsLetter) != 0) {
			return true
		}
	}
	return false
}

var elsewhereStarts = strings.Split("read also|also read|read next|see more:|don't miss|don’t miss|you may also|you might also|related stories|related articles|"+
	"lees ook|lesen sie auch|lies auch|das könnte sie auch|mehr zum thema|auch interessant|lire aussi|à lire aussi|à lire également|"+
	"lee también|lea también|lee además|lea además|te puede interesar|puede leer|vea también|mira también|mira:|leia também|veja também|"+
	"leggi anche|guarda anche|czytaj też|czytaj także|czytaj również|zobacz też|zobacz także|čtěte také|přečtěte si|prečítajte si|čítajte aj|citește și|"+
	"läs också|läs även|les også|læs også|lue myös|olvassa el|olvasta már|читайте также|смотрите также|διαβάστε επίσης|διαβάστε ακόμη|"+
	"ilgili haber|baca juga|اقرأ أيضا|यह भी पढ़ें|関連記事|あわせて読みたい|관련기사|相关阅读|相关新闻|延伸閱讀|延伸阅读", "|")
