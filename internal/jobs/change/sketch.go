package change

import (
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/reader/extract"
)

// sketch is what is kept of a text's words: two of them, chosen by their prints, so that an edited text
// most likely has one of the same.
func (v *visit) sketch(text string) uint32 {
	first, second := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for _, least := range [...]int{5, 1} {
		for w := range wordsOf(text) {
			if utf8.RuneCountInString(w) < least {
				continue
			}
			switch p := v.word(w); {
			case p < first:
				first, second = p, first
			case p > first && p < second:
				second = p
			}
		}
		if first != math.MaxUint64 {
			break
		}
	}
	return part11(first)<<wordBits | part11(second)
}

// part11 is the part of a word's print that is kept, 0 for none.
func part11(print uint64) uint32 {
	if print == math.MaxUint64 {
		return 0
	}
	return max(1, uint32(print&wordMask))
}

// word is the print of a word, made once a visit.
func (v *visit) word(w string) uint64 {
	p, ok := v.wordPrints[w]
	if !ok {
		p = v.keyed.print("word\x00" + w)
		v.wordPrints[w] = p
	}
	return p
}

// wordsOf are the words of a text in lower case, but numbers, days and months.
func wordsOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
			if w = extract.Timeless(w); w != "" && !yield(w) {
				return
			}
		}
	}
}

// shortText is the most words of a text that may be the status of a call.
const shortText = 4

// What ends in a blank here is a word, the rest are stems.
var (
	// outcomes tell that a call ended or has no money left, in a text of any length.
	outcomes = [...]string{"geld ", "euro ", "volgeboekt", "wachtlijst", "opgeheven", "vervallen", "ingetrokken", "uitgeput", "pénz", "forint", "forrás", "betelt", "megtelt", "várólist", "visszavon", "szünetel", "kimerül", "elfogy",
		"money ", "withdrawn", "oversubscribed", "spent "}
	// statuses tell how a call stands, where there is little else.
	statuses = [...]string{"open", "sluit", "gesloten", "dicht ", "vol ", "gestopt", "gestart", "start ", "actief", "lopend", "afgerond", "beschikbaar", "binnenkort", "tijdelijk", "leeg ", "nyit", "nyíl", "zárt ", "zárva ", "zárul",
		"elindul", "indul", "aktív", "folyamatban", "befejez", "elérhet", "hamarosan", "ideiglenes", "close", "full", "waiting", "paused", "active", "current", "ongoing", "ended ", "available", "soon ", "temporar", "empty "}
)

// idle is true for a text that says nothing of a call: no number, no address, none of a call's words.
func idle(text string) bool {
	if strings.ContainsAny(text, "0123456789@€£") || extract.TellsOfCall(text) {
		return false
	}
	n, status := 0, false
	for w := range wordsOf(text) {
		if n++; begins(w, outcomes[:]) {
			return false
		}
		status = status || begins(w, statuses[:])
	}
	return n > shortText || !status
}

func begins(word string, stems []string) bool {
	return slices.ContainsFunc(stems, func(stem string) bool { return strings.HasPrefix(word+" ", stem) })
}
