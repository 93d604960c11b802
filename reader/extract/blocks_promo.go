package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// The bounds of a box whose text takes turns with others.
const (
	mostPromoNodes = 96
	mostPromoText  = 480 // bytes
)

// promoWords are words of a class or an id that say: this box shows now one thing, now another. After
// a word of pickWords it may as well hold the only mention of a new call: a number in it is heeded.
var (
	promoWords = wordSet("promo promos promotie promotion banner banners ad ads advert advertisement advertentie reclame hirdetes hirdetés reklam reklám sponsor sponsored " +
		"campagne campaign kampany kampány carousel carrousel karusszel slider slideshow swiper slick splide glide flickity rotator testimonial testimonials")
	pickWords = wordSet("uitgelicht featured kiemelt ajanlott ajánlott ajanlo ajánló aanbevolen recommended spotlight cta teaser tip tips tipp related gerelateerd kapcsolodo kapcsolódó")
	// calmWords are of boxes that speak of the page itself.
	calmWords = wordSet("alert notice melding message status warning waarschuwing info hero header intro lead title page figyelmeztetes ertesites felhivas")
)

// callStems are in texts that tell of money to apply for: never passed over.
var callStems = [...]string{"subsid", "regeling", "aanvra", "vergoeding", "bijdrage", "fonds", "loket", "inschrijv", "indien", "sluit", "gesloten", "geopend", "pályáz", "palyaz", "támogat", "tamogat",
	"felhív", "kiír", "kérel", "ösztöndíj", "határid", "benyújt", "lezár", "megnyíl", "felfüggeszt", "keret",
	"verleng", "opgeschort", "plafond", "budget", "extended", "suspended", "grant", "fund", "appl", "deadline", "award", "scheme", "closed", "closing", "tender", "call for"}

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// turnTitles are titles of boxes that show what takes turns, whatever their class says.
var turnTitles = titleSet(
	"lees ook|zie ook|gerelateerd|gerelateerde pagina's|gerelateerde artikelen|gerelateerde onderwerpen|gerelateerde berichten|gerelateerd nieuws|meer nieuws|laatste nieuws|recent nieuws|nieuws|recente berichten|" +
		"meest gelezen|meest bekeken|populair|populaire pagina's|laatst bekeken|recent bekeken|onlangs bekeken|recent bezocht|ook interessant|misschien ook interessant|spreuk van de dag|citaat van de dag|quote van de dag|" +
		"weetje van de dag|foto van de dag|foto van de week|het weer|uitgelicht|aanbevolen|aanbevolen voor u|" +
		"lásd még|olvassa el ezt is|kapcsolódó|kapcsolódó oldalak|kapcsolódó cikkek|kapcsolódó tartalmak|kapcsolódó hírek|további hírek|hírek|friss hírek|legfrissebb hírek|legolvasottabb|legnézettebb|népszerű|" +
		"utoljára megtekintett|nemrég látott|nemrég megtekintett|ajánlott|ajánló|ajánljuk|kiemelt|kiemelt hírek|a nap mondása|a nap idézete|a nap képe|a hét fotója|időjárás|ajánlott önnek|önnek ajánljuk|" +
		"see also|related|related pages|related articles|related content|related news|more news|latest news|recent news|news|recent posts|most read|most viewed|popular|popular pages|recently viewed|you may also like|" +
		"you might also like|quote of the day|saying of the day|tip of the day|picture of the day|photo of the week|weather|featured|recommended|recommended for you")

// turnStarts is how a box begins that tells now one thing worth knowing, now another.
var turnStarts = [...]string{"wist u dat", "wist je dat", "tudta, hogy", "tudta-e", "tudta?", "tudtad", "did you know"}

func titleSet(titles string) map[string]bool {
	set := make(map[string]bool)
	for title := range strings.SplitSeq(titles, "|") {
		set[title] = true
	}
	return set
}

// promotes is true for a small box that by its class, role or title shows what takes turns: banners,
// slides, tips, other news. What has a document, a table or the page's title in it, tells of a call, or
// is one of several alike (a card of a listing) is none.
func (w *blockWalk) promotes(n dom.ID) bool {
	switch w.t.Tag(n) {
	case atom.Div, atom.Section, atom.Aside, atom.Figure, atom.Blockquote:
	case atom.Ul, atom.Ol:
		return w.titled(n) && w.lists(n)
	default:
		return false // a paragraph of the content, which only looks so
	}
	beside := w.t.Tag(n) == atom.Aside || strings.EqualFold(w.t.Attr(n, "role"), "complementary")
	promo, pick := false, false
	for _, word := range namesOf(w.t.Attr(n, "class") + " " + w.t.Attr(n, "id") + " " + w.t.Attr(n, "aria-roledescription")) {
		if calmWords[word] {
			return false
		}
		promo, pick = promo || promoWords[word], pick || pickWords[word]
	}
	titled := w.titled(n)
	if !promo && !pick && !beside && !titled || !titled && (w.alike(n) || !promo && w.inCard(n)) {
		return false
	}
	x, ok := w.little(n)
	if !ok || !promo && !titled && strings.ContainsAny(x.text, "0123456789@") || TellsOfCall(x.text) {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimSpace(x.text), " ")
	return promo || pick || titled || x.links || pickWords[first]
}

// TellsOfCall is true for a text that speaks of money to apply for.
func TellsOfCall(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(callStems[:], func(stem string) bool { return strings.Contains(text, stem) })
}

// titled is true for a box that begins with a title of turnTitles, or stands right behind one, or says below
// its title what is worth knowing.
func (w *blockWalk) titled(n dom.ID) bool {
	if before := w.beside(n, w.t.Prev); headingLevel(w.t.Tag(before)) > 0 && turnTitles[plainTitle(w.t.Text(before))] {
		return true
	}
	seen, texts := 0, 0
	for m := range w.t.Descendants(n) {
		if seen++; seen > mostCell {
			break
		}
		if w.t.Kind(m) != dom.Text || strings.TrimSpace(w.t.Data(m)) == "" {
			continue
		}
		title := plainTitle(w.t.Data(m))
		if texts == 0 && turnTitles[title] || slices.ContainsFunc(turnStarts[:], func(start string) bool { return strings.HasPrefix(title+"?", start) }) {
			return true
		}
		if texts++; texts > 1 {
			break
		}
	}
	return false
}

// lists is true for a short list of links that tell of no call.
func (w *blockWalk) lists(n dom.ID) bool {
	x, ok := w.little(n)
	return ok && x.linked*2 > len(x.text) && !TellsOfCall(x.text)
}

// mostTitle is how many bytes of a text are looked at for a title.
const mostTitle = 80

func plainTitle(text string) string {
	return strings.Trim(strings.ToLower(strings.Join(strings.Fields(cut(text, mostTitle)), " ")), " :?!.…")
}

// quoteMarks begin a quotation.
const quoteMarks = "„“”«»‘\""

// boxed is true for a small box of its own with a link that leads on, a picture or a quotation, unlike what
// stands beside it: nothing says that it takes turns, but when all of its text is another one, it does. What
// tells of a call, or speaks of the page itself, is no such box.
func (w *blockWalk) boxed(n dom.ID) bool {
	quote := false
	switch w.t.Tag(n) {
	case atom.Div, atom.Section, atom.Aside:
	case atom.Figure, atom.Blockquote:
		quote = true
	default:
		return false
	}
	x, ok := w.little(n)
	text := strings.TrimSpace(x.text)
	before := w.beside(n, w.t.Prev)
	if !ok || text == "" || TellsOfCall(text) || headingLevel(w.t.Tag(before)) > 0 && TellsOfCall(w.t.Text(before)) || w.calm(n) || w.inSmallCard(n) {
		return false
	}
	if !quote && !x.quote && !x.picture && x.linked*3 < len(text) && !x.onward {
		return false
	}
	return !w.twins(n, w.beside(n, w.t.Next)) && !w.twins(n, before)
}

// calm is true for an element whose names say that it speaks of the page itself.
func (w *blockWalk) calm(n dom.ID) bool {
	return slices.ContainsFunc(namesOf(w.t.Attr(n, "class")+" "+w.t.Attr(n, "id")), func(word string) bool { return calmWords[word] })
}

// twins is true for two elements that are made alike, as two cards of a listing: wholly, or of one class and
// in what they begin with.
func (w *blockWalk) twins(n, m dom.ID) bool {
	most := mostShape
	if w.t.Attr(n, "class") == w.t.Attr(m, "class") {
		most = fewestShape
	}
	return m != 0 && w.shape(n, most) == w.shape(m, most)
}

// beside is the element next to n, by step.
func (w *blockWalk) beside(n dom.ID, step func(dom.ID) dom.ID) dom.ID {
	for n = step(n); n != 0 && w.t.Kind(n) != dom.Element; n = step(n) {
		if w.t.Kind(n) == dom.Text && strings.TrimSpace(w.t.Data(n)) != "" {
			return 0
		}
	}
	return n
}

// shape is what an element is made of: its tag and those of the first elements in it.
func (w *blockWalk) shape(n dom.ID, most int) string {
	var b strings.Builder
	b.WriteString(w.t.Tag(n).String())
	seen := 0
	for m := range w.t.Descendants(n) {
		if w.t.Kind(m) != dom.Element {
			continue
		}
		if seen++; seen > most {
			break
		}
		b.WriteByte(' ')
		b.WriteString(w.t.Tag(m).String())
	}
	return b.String()
}

// How many elements of a box make its shape: beside any other, and beside one of its class.
const (
	mostShape   = 8
	fewestShape = 3
)

// namesOf are the words in names such as promo-box, promo__box and promoBox, in lower case.
func namesOf(names string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range names {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// alike is true for an element beside one of the same class.
func (w *blockWalk) alike(n dom.ID) bool {
	class := w.t.Attr(n, "class")
	same := func(m dom.ID) bool {
		return m != 0 && w.t.Tag(m) == w.t.Tag(n) && w.t.Attr(m, "class") == class
	}
	return same(w.beside(n, w.t.Next)) || same(w.beside(n, w.t.Prev))
}

// inCard is true for an element in one of several items or columns alike.
func (w *blockWalk) inCard(n dom.ID) bool {
	for range mostLevels {
		if n = w.t.Parent(n); n == 0 {
			return false
		}
		if tag := w.t.Tag(n); tag == atom.Li || w.t.HasAttr(n, "class") && w.alike(n) {
			return true
		}
	}
	return false
}

// inSmallCard is true for an element in one of several items alike that hold as little as a promotion: the
// sections of a page are alike too.
func (w *blockWalk) inSmallCard(n dom.ID) bool {
	for range mostLevels {
		if n = w.t.Parent(n); n == 0 {
			return false
		}
		if tag := w.t.Tag(n); tag == atom.Li || w.t.HasAttr(n, "class") && w.alike(n) {
			_, small := w.little(n)
			return small || tag == atom.Li
		}
	}
	return false
}

// holding is what a small box holds.
type holding struct {
	text    string // in lower case
	linked  int    // bytes of it inside links that lead on
	links   bool   // it has links or pictures
	picture bool   // it has a picture
	quote   bool   // it has a quotation
	onward  bool   // its title is a link, or a link in it says no more than "read more"
}

// little is what a small box holds; not ok when there is more in it than a promotion has.
func (w *blockWalk) little(n dom.ID) (x holding, ok bool) {
	var b strings.Builder
	var link, behind dom.ID // the link that is being read, and the first node behind it
	from, seen := 0, 0
	for m := range w.t.Descendants(n) {
		if seen++; seen > mostPromoNodes || b.Len() > mostPromoText {
			return x, false
		}
		if link != 0 && m == behind {
			x.read(b.String()[from:])
			link = 0
		}
		if w.t.Kind(m) == dom.Text {
			if len(w.t.Data(m)) > 4*mostPromoText {
				return x, false
			}
			text := strings.Join(strings.Fields(w.t.Data(m)), " ")
			first, _ := utf8.DecodeRuneInString(text)
			x.quote = x.quote || strings.ContainsRune(quoteMarks, first) && w.t.Prev(m) == 0
			b.WriteString(text)
			b.WriteByte(' ')
			continue
		}
		switch w.t.Tag(m) {
		case atom.H1, atom.Table, atom.Dl, atom.Main, atom.Article, atom.Form:
			return x, false
		case atom.A:
			if documentPath(w.t.Attr(m, "href"), w.t.HasAttr(m, "download")) != "" {
				return x, false
			}
			x.links = true
			if link == 0 && leadsOn(w.t.Attr(m, "href")) {
				link, behind, from = m, w.t.After(m, n), b.Len()
				x.onward = x.onward || w.entitling(m)
			}
		case atom.Img:
			x.links, x.picture = true, true
		case atom.Blockquote, atom.Figure:
			x.quote = true
		}
	}
	if link != 0 {
		x.read(b.String()[from:])
	}
	x.text = strings.ToLower(b.String())
	return x, b.Len() <= mostPromoText
}

// entitling is true for a link in a heading, around one, or alone before a block.
func (w *blockWalk) entitling(link dom.ID) bool {
	next := w.beside(link, w.t.Next)
	return headingLevel(w.t.Tag(w.t.Parent(link))) > 0 || headingLevel(w.t.Tag(w.t.FirstChild(link))) > 0 ||
		next != 0 && !inline(w.t.Tag(next)) && w.beside(link, w.t.Prev) == 0 && w.t.Tag(next) != atom.Br
}

// read takes in the text of a link.
func (x *holding) read(link string) {
	x.linked += len(strings.TrimSpace(link))
	x.onward = x.onward || onwardTitles[plainTitle(link)]
}

// onwardTitles are links behind a text that only say that there is more.
var onwardTitles = titleSet("lees verder|lees meer|meer lezen|meer|meer weten|meer informatie|bekijk|tovább|tovább olvasom|bővebben|részletek|read more|more|learn more|find out more|→|»|>")

// leadsOn is true for an address of another page.
func leadsOn(href string) bool {
	href = strings.TrimSpace(href)
	return href != "" && href[0] != '#' && !strings.HasPrefix(href, "mailto:") && !strings.HasPrefix(href, "tel:") && !strings.HasPrefix(href, "javascript:")
}

// demote takes promotions out of the content, unless there is little else.
func (w *blockWalk) demote() {
	promoted, rest := 0, 0
	for i, b := range w.blocks {
		switch {
		case !b.Kept:
		case w.places[i].promoted:
			promoted += len(b.Text)
		default:
			rest += len(b.Text)
		}
	}
	if promoted*2 > rest {
		return
	}
	for i := range w.blocks {
		if w.places[i].promoted {
			w.blocks[i].Kept, w.blocks[i].Heading = false, nil
		}
	}
}

// mostBoxed is how many boxes a page may have beside its content; one with more is made of boxes.
const mostBoxed = 6

// markBoxed marks the blocks of boxes of their own, unless the page is made of them. A box is kept as a whole.
func (w *blockWalk) markBoxed() {
	boxes, boxed, rest := make(map[dom.ID]bool), 0, 0
	for i, b := range w.blocks {
		switch at := w.places[i].box; {
		case !b.Kept:
		case at == 0:
			rest += len(b.Text)
		default:
			boxed += len(b.Text)
			boxes[at] = true
		}
	}
	if len(boxes) > mostBoxed || boxed*2 > rest {
		return
	}
	for i := range w.blocks {
		if at := w.places[i]; boxes[at.box] && !at.promoted && at.furniture == unsaid {
			w.blocks[i].Boxed, w.blocks[i].Kept = true, true
		}
	}
}
