package signals

import (
	"strings"
	"time"
)

// PageRobots is what a page says about itself by X-Robots-Tag and meta robots. A Said without a
// place means that nothing of the kind was said.
type PageRobots struct{ NoIndex, NoFollow, NoAI, NoSnippet Said }

// PageRobots reads the directives that are addressed to everyone or to token. Several add up, the
// strictest wins: "index" takes nothing back. At now it is decided whether unavailable_after has passed.
func (s Set) PageRobots(token string, now time.Time) PageRobots {
	r := robotsReader{token: lower(token), now: now}
	for _, v := range fields(s.Header, "X-Robots-Tag") {
		r.at = Said{From: FromHeader, Text: headerText("X-Robots-Tag", v)}
		r.addressed(v)
	}
	for _, m := range s.Meta {
		if name := lower(trim(m.Name)); name == "robots" || name == r.token && name != "" {
			r.at = Said{From: FromMeta, Text: m.text()}
			r.directives(m.Content)
		}
	}
	return r.page
}

type robotsReader struct {
	token string
	now   time.Time
	at    Said
	page  PageRobots
}

// valued are the directives with a value; their colon does not make them the name of a bot.
var valued = map[string]bool{
	"unavailable_after": true, "max-snippet": true, "max-image-preview": true, "max-video-preview": true,
}

// addressed reads a header field, in which a name before a colon says whom what follows is for, until
// the next name. Before the first name it is for everyone.
func (r *robotsReader) addressed(value string) {
	ours := true
	for part := range parts(value) {
		name, rest, found := strings.Cut(part, ":")
		name = lower(trim(name))
		if found && !valued[name] && isBotName(name) {
			ours, part = name == r.token || name == "*" || name == "robots", rest
		}
		if ours {
			r.directive(part)
		}
	}
}

func (r *robotsReader) directives(value string) {
	for part := range parts(value) {
		r.directive(part)
	}
}

// parts splits at commas, but not at the one after the weekday of a date.
func parts(value string) func(func(string) bool) {
	return func(yield func(string) bool) {
		list := strings.Split(value, ",")
		for i := 0; i < len(list); i++ {
			part := trim(list[i])
			if colon := strings.LastIndexByte(part, ':'); colon >= 0 && isWeekday(part[colon+1:]) && i+1 < len(list) {
				i++
				part += ", " + trim(list[i])
			}
			if part != "" && !yield(part) {
				return
			}
		}
	}
}

func isWeekday(s string) bool {
	s = lower(trim(s))
	return len(s) >= 3 && strings.Contains("mon tue wed thu fri sat sun ", s[:3]+" ") && strings.Trim(s, lowerLetters) == ""
}

func isBotName(s string) bool {
	return s != "" && strings.Trim(s, lowerLetters+digits+"-_./*") == ""
}

// directive reads one directive, or several with only blanks between them.
func (r *robotsReader) directive(part string) {
	if name, value, ok := strings.Cut(part, ":"); ok {
		if lower(trim(name)) == "unavailable_after" && passed(trim(value), r.now) {
			r.say(&r.page.NoIndex, "unavailable_after")
		}
		return
	}
	for word := range strings.FieldsFuncSeq(lower(part), func(c rune) bool { return isBlank(c) || c == ';' }) {
		switch word {
		case "noindex":
			r.say(&r.page.NoIndex, word)
		case "nofollow":
			r.say(&r.page.NoFollow, word)
		case "none":
			r.say(&r.page.NoIndex, word)
			r.say(&r.page.NoFollow, word)
		case "noai":
			r.say(&r.page.NoAI, word)
		case "nosnippet":
			r.say(&r.page.NoSnippet, word)
		}
	}
}

// say keeps the first statement of each kind.
func (r *robotsReader) say(s *Said, value string) {
	if s.From == FromNowhere {
		*s = r.at
		s.Value = value
	}
}

var dateForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02",
	"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700", "Monday, 2-Jan-06 15:04:05 MST", "2-Jan-06 15:04:05 MST",
	"2-Jan-2006 15:04:05 MST", "2 Jan 2006", "Mon Jan 2 15:04:05 2006",
}

// passed is true when date lies before now. A date that cannot be read says nothing.
func passed(date string, now time.Time) bool {
	for _, form := range dateForms {
		if t, err := time.Parse(form, date); err == nil {
			return t.Before(now)
		}
	}
	return false
}
