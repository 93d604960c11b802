package signals

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is as long as a delay gets; far beyond any job, and safe to add to a time.
const longest = 100 * 365 * 24 * time.Hour

// Delay is a pause that a robots.txt asks for between two requests.
type Delay struct {
	Gap   time.Duration
	Line  int // 0 when it asks for none
	Text  string
	Group string
}

// Delay is the Crawl-delay of the groups that count for token; the largest when there are several.
// With rates, Request-rate counts too ("1/10s" is ten seconds). Crawl-delay is in no standard: a value
// is a finite number of seconds not below zero, anything else is as if absent.
func (f *File) Delay(token string, rates bool) Delay {
	d := f.longestDelay(Delay{}, token, "crawl-delay", parseSeconds)
	if rates {
		d = f.longestDelay(d, token, "request-rate", parseRate)
	}
	return d
}

func (f *File) longestDelay(d Delay, token, key string, parse func(string) (time.Duration, bool)) Delay {
	own, _ := f.recordsOf(token, key)
	for _, r := range own {
		gap, ok := parse(r.Value)
		if ok && (d.Line == 0 || gap > d.Gap) {
			d = Delay{Gap: gap, Line: r.Line, Text: r.Text, Group: f.groupOf(r, token)}
		}
	}
	return d
}

func parseSeconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(n, 1) || n < 0 {
		return 0, false
	}
	return seconds(n), true
}

func seconds(n float64) time.Duration {
	if n >= longest.Seconds() {
		return longest
	}
	return time.Duration(n * float64(time.Second))
}

// parseRate reads "n/time", the time in seconds or with a unit; hours of the day after it are ignored.
func parseRate(s string) (time.Duration, bool) {
	s, _, _ = strings.Cut(s, " ")
	count, span, ok := strings.Cut(s, "/")
	n, err := strconv.ParseUint(trim(count), 10, 32)
	if !ok || err != nil || n == 0 {
		return 0, false
	}
	unit := 1.0
	switch span = lower(trim(span)); {
	case strings.HasSuffix(span, "s"):
		span = span[:len(span)-1]
	case strings.HasSuffix(span, "m"):
		span, unit = span[:len(span)-1], 60
	case strings.HasSuffix(span, "h"):
		span, unit = span[:len(span)-1], 3600
	}
	d, ok := parseSeconds(span)
	return seconds(d.Seconds() * unit / float64(n)), ok && d > 0
}
