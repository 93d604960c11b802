package watch

import (
	"strconv"
	"strings"
	"time"
)

// A sitemap's lastmod spares a page its visit only where the sitemap has shown that it tells: it named
// another time whenever a page was found to have changed, and at least twice. What it says is taken anew in
// each round then, before any page is spared.
const (
	mapLooksAgain  = 7 * 24 * time.Hour  // a page that a sitemap vouches for is visited at the latest
	feedLooksAgain = 15 * 24 * time.Hour // a page or listing that a feed stands for
	enoughTold     = 2                   // changes that a sitemap told; twice as many after each one that it left out
	mapAge         = 20 * time.Hour      // of a sitemap that is not read in each round
	mostLied       = 6
	lightMap       = 100 << 10 // bytes of a sitemap without validators that is still read in each round
)

// What a page's hint ends with: how its last visit bears on what the sitemap said of it.
const (
	markTold   = "+" // the sitemap had named another time, and the page had changed
	markLied   = "!" // the page had changed, and the sitemap of the same round had not said so
	markAsk    = "?" // the page had changed; whether the sitemap says so is seen when it is read next
	markFailed = "~" // the page could not be had
	allMarks   = markTold + markLied + markAsk + markFailed
)

func unmarked(hint string) string { return strings.TrimRight(hint, allMarks) }

// failed is hint after its page could not be had.
func failed(hint string) string {
	if hint == "" {
		return ""
	}
	return unmarked(hint) + markFailed
}

func markOf(hint string) string { return hint[len(unmarked(hint)):] }

// word is what a sitemap's word is worth, as kept in the State of its page.
type word struct {
	told, lied uint8 // changes that it told, since the last one that it left out; changes left out
	heavy      bool  // to read it costs more than what it spares
}

func wordOf(p *Page) word {
	if len(p.State) != 3 {
		return word{}
	}
	return word{p.State[0], p.State[1], p.State[2] == 1}
}

func (w word) state() []byte { return []byte{w.told, w.lied, byte(bit(w.heavy))} }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w word) trusted() bool { return int(w.told) >= enoughTold<<w.lied }

func (w *word) left() { w.told, w.lied = 0, min(w.lied+1, mostLied) }

// vouches is the source of hints that a sitemap gives.
func vouches(p *Page) string { return "sitemap " + p.Hash }

func hintOf(p *Page, e entry) string {
	if e.version == "" {
		return ""
	}
	hint := vouches(p) + " " + digest16(e.version)
	if at := settled(e.version); !at.IsZero() {
		hint += "." + strconv.FormatInt(at.Unix(), 36)
	}
	return hint
}

// settledBy is when the time that a hint names is past for good; zero when it names none.
func settledBy(hint string) time.Time {
	_, at, ok := strings.Cut(unmarked(hint), ".")
	n, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// settled is when a lastmod is past for good: a day that it names without a time of day is over then
// everywhere, and so is a second or minute. A visit before that may have missed a later change of the same day.
func settled(lastmod string) time.Time {
	for layout, grain := range map[string]time.Duration{
		time.RFC3339: time.Second, "2006-01-02T15:04Z07:00": time.Minute, "2006-01-02T15:04:05Z0700": time.Second, // RFC 3339 reads fractions too
		"2006-01-02T15:04:05": 13 * time.Hour, "2006-01-02 15:04:05": 13 * time.Hour, "2006-01-02": 36 * time.Hour,
	} {
		at, err := time.Parse(layout, lastmod)
		if err != nil {
			continue
		}
		if h, m, s := at.Clock(); h+m+s == 0 {
			grain = 36 * time.Hour
		}
		return at.Add(grain + time.Second)
	}
	return time.Time{}
}

// weigh brings a sitemap's word up to what visits have found since it was read last, and answers the pages
// whose marks are done with. now are its hints as just read; nil when it has not changed.
func (v *visit) weigh(p *Page, now map[string]string) (word, []Page) {
	w := wordOf(p)
	var done []Page
	for _, page := range v.pages {
		mark := markOf(page.Hint)
		if mark == "" || mark == markFailed || sourceOf(page.Hint) != vouches(p) {
			continue
		}
		hint := unmarked(page.Hint)
		switch {
		case mark == markTold:
			w.told = min(w.told, 254) + 1
		case mark == markLied, now == nil, now[page.Hash] == hint:
			w.left()
		}
		page.Hint = hint
		done = append(done, *page)
	}
	return w, done
}

// mark notes how a change that was found bears on what the page's sitemap said of it.
func (v *visit) mark(p *Page) string {
	switch hint := unmarked(p.Hint); {
	case !strings.HasPrefix(hint, "sitemap "):
		return hint
	case p.Wanted:
		return hint + markTold
	case v.heard[sourceOf(hint)] != nil:
		return hint + markLied
	default:
		return hint + markAsk
	}
}

// vouched is true for a page that a trusted sitemap, read in this visit, says is as it was when it was
// fetched.
func (v *visit) vouched(p *Page, now time.Time) bool {
	w := v.heard[sourceOf(p.Hint)]
	if w == nil || !w.trusted() || p.Wanted || markOf(p.Hint) != "" || now.Sub(p.CheckedAt) >= mapLooksAgain {
		return false
	}
	by := settledBy(p.Hint)
	if by.IsZero() || p.CheckedAt.Before(by) {
		return false
	}
	state, err := stateOf(p)
	return err == nil && state.Seen && state.Missed == 0
}

// eachRound is true for a sitemap that has begun to tell, and whose reading costs less than it may spare.
func (v *visit) eachRound(p *Page) bool {
	w := wordOf(p)
	tells, pages := w.told > 0, 0
	for _, page := range v.pages {
		if sourceOf(page.Hint) == vouches(p) {
			tells = tells || markOf(page.Hint) == markTold
			pages++
		}
	}
	return tells && pages > 1 && !w.heavy
}
