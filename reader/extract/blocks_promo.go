package extract

import (
	"strings"
	"unicode"

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

// promotes is true for a small box that by its class, role or title shows what takes turns: banners,
// slides, tips, other news. What has a document, a table or the page's title in it, tells of a call, or
// is one of several alike (a card of a listing) is none.
func (w *blockWalk) promotes(n dom.ID) bool {
	switch w.t.Tag(n) {
	case atom.Div, atom.Section, atom.Aside, atom.Figure, atom.Blockquote:
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
	if !promo && !pick && !beside || w.alike(n) || !promo && w.inCard(n) {
		return false
	}
	text, links, ok := w.little(n)
	if !ok || !promo && strings.ContainsAny(text, "0123456789@") {
		return false
	}
	for _, stem := range callStems {
		if strings.Contains(text, stem) {
			return false
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return promo || pick || links || pickWords[first]
}

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
		return w.t.Kind(m) == dom.Element && w.t.Tag(m) == w.t.Tag(n) && w.t.Attr(m, "class") == class
	}
	next := func(step func(dom.ID) dom.ID) dom.ID {
		m := step(n)
		if w.t.Kind(m) == dom.Text {
			m = step(m)
		}
		return m
	}
	return same(next(w.t.Next)) || same(next(w.t.Prev))
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

// little is the text of a small box in lower case and whether it has links or pictures; not ok when there
// is more in it than a promotion has.
func (w *blockWalk) little(n dom.ID) (text string, links, ok bool) {
	var b strings.Builder
	seen := 0
	for m := range w.t.Descendants(n) {
		if seen++; seen > mostPromoNodes || b.Len() > mostPromoText {
			return "", false, false
		}
		if w.t.Kind(m) == dom.Text {
			if len(w.t.Data(m)) > 4*mostPromoText {
				return "", false, false
			}
			b.WriteString(strings.Join(strings.Fields(w.t.Data(m)), " "))
			b.WriteByte(' ')
			continue
		}
		switch w.t.Tag(m) {
		case atom.H1, atom.Table, atom.Dl, atom.Main, atom.Article, atom.Form:
			return "", false, false
		case atom.A:
			if documentPath(w.t.Attr(m, "href"), w.t.HasAttr(m, "download")) != "" {
				return "", false, false
			}
			links = true
		case atom.Img:
			links = true
		}
	}
	return strings.ToLower(b.String()), links, b.Len() <= mostPromoText
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
