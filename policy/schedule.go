package policy

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the promised hours hold on machines without a time zone database, too

	"github.com/adhocore/gronx"
)

// Hours is a span of the day in minutes after midnight; it runs over midnight when From is not before To.
type Hours struct{ From, To int }

// ParseHours reads "22:00-06:00"; "00:00-24:00" is the whole day.
func ParseHours(text string) (Hours, error) {
	from, to, ok := strings.Cut(text, "-")
	f, err1 := parseClock(from)
	t, err2 := parseClock(to)
	if !ok || err1 != nil || err2 != nil || f == t || f == 24*60 {
		return Hours{}, errors.New("not a span of the day")
	}
	return Hours{f, t}, nil
}

func parseClock(text string) (int, error) {
	h, m, ok := strings.Cut(strings.TrimSpace(text), ":")
	hour, err1 := strconv.ParseUint(h, 10, 8)
	minute, err2 := strconv.ParseUint(m, 10, 8)
	if !ok || err1 != nil || err2 != nil || minute > 59 || len(m) != 2 || hour*60+minute > 24*60 {
		return 0, errors.New("not a time of the day")
	}
	return int(hour*60 + minute), nil
}

func (h Hours) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", h.From/60, h.From%60, h.To/60, h.To%60)
}

// Holds is true when the wall clock of t is within the span.
func (h Hours) Holds(t time.Time) bool {
	now := t.Hour()*60 + t.Minute()
	if h.From < h.To {
		return h.From <= now && now < h.To
	}
	return h.From <= now || now < h.To
}

// Window is a daily span of local time in which work may be done: "22:00-06:00 Europe/Budapest". The
// zero Window is always open. It goes by the wall clock, so it stays where people expect it on the
// days when clocks change.
type Window struct {
	Hours Hours
	Zone  string
}

// ParseWindow reads "22:00-06:00 Europe/Budapest".
func ParseWindow(text string) (Window, error) {
	span, zone, ok := strings.Cut(text, " ")
	hours, err := ParseHours(span)
	if err != nil {
		return Window{}, err
	}
	if _, err := time.LoadLocation(zone); err != nil || !ok || zone == "" || zone == "Local" {
		return Window{}, errors.New("no time zone")
	}
	return Window{hours, zone}, nil
}

func (w Window) String() string {
	if w.IsZero() {
		return "always"
	}
	return w.Hours.String() + " " + w.Zone
}

// IsZero is true for the window that is always open.
func (w Window) IsZero() bool { return w == Window{} }

// Open is true when work may be done at t.
func (w Window) Open(t time.Time) bool {
	return w.IsZero() || w.Hours.Holds(t.In(zone(w.Zone)))
}

// NextOpen is the first moment from t on at which the window is open.
func (w Window) NextOpen(t time.Time) time.Time { return w.next(t, true) }

// NextClosed is the first moment from t on at which the window is closed; zero when it never is.
func (w Window) NextClosed(t time.Time) time.Time {
	if w.IsZero() {
		return time.Time{}
	}
	return w.next(t, false)
}

// next goes from minute to minute, which no change of clocks can lead astray.
func (w Window) next(t time.Time, open bool) time.Time {
	local := zone(w.Zone)
	for range 3 * 24 * 60 {
		if (w.IsZero() || w.Hours.Holds(t.In(local))) == open {
			return t
		}
		t = t.Truncate(time.Minute).Add(time.Minute)
	}
	return time.Time{}
}

func zone(name string) *time.Location {
	l, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC // Load lets no unknown zone in
	}
	return l
}

// On is how many rounds a day of the week has.
func (r Rounds) On(day time.Weekday) int {
	return [...]int{r.Sun, r.Mon, r.Tue, r.Wed, r.Thu, r.Fri, r.Sat}[day]
}

// RoundsOn are the starts of the rounds on the local day of t, spread evenly over Hours. A day when
// clocks change has as many as any other.
func (s *Schedule) RoundsOn(t time.Time) []time.Time {
	return s.roundsOn(t.In(zone(s.TimeZone)))
}

func (s *Schedule) roundsOn(local time.Time) []time.Time {
	y, m, d := local.Date()
	n := s.Rounds.On(local.Weekday())
	from := time.Date(y, m, d, 0, s.Hours.From, 0, 0, local.Location())
	if s.Hours.From >= s.Hours.To {
		d++
	}
	span := time.Date(y, m, d, 0, s.Hours.To, 0, 0, local.Location()).Sub(from)
	starts := make([]time.Time, n)
	for i := range starts {
		starts[i] = from.Add(span * time.Duration(i) / time.Duration(n)).Truncate(time.Second)
	}
	return starts
}

// Scheduled is true when the schedule starts rounds of itself.
func (s *Schedule) Scheduled() bool {
	return s.Cron != "" || s.Rounds != (Rounds{}) || !s.Window.IsZero()
}

// Next is the start of the first round after t: by cron, by rounds a day, or whenever the window
// opens. It is zero when the schedule has none of these.
func (s *Schedule) Next(t time.Time) time.Time {
	switch {
	case s.Cron != "":
		return s.nextCron(t)
	case s.Rounds != (Rounds{}):
		return s.nextRound(t)
	case !s.Window.IsZero():
		return s.Window.NextOpen(s.Window.NextClosed(t))
	}
	return time.Time{}
}

func (s *Schedule) nextCron(t time.Time) time.Time {
	next, err := gronx.NextTickAfter(s.Cron, t.In(zone(s.TimeZone)), false)
	if err != nil || !next.After(t) {
		return time.Time{}
	}
	return next
}

func (s *Schedule) nextRound(t time.Time) time.Time {
	local := t.In(zone(s.TimeZone))
	y, m, d := local.Date()
	for day := -1; day <= 8; day++ { // from yesterday on: its last round may begin after midnight
		for _, start := range s.roundsOn(time.Date(y, m, d+day, 12, 0, 0, 0, local.Location())) {
			if start.After(t) {
				return start
			}
		}
	}
	return time.Time{}
}

// ListingDue is true when a listing page that was last fetched at last may be fetched again; a zero
// last is never.
func (s *Schedule) ListingDue(last, now time.Time) bool {
	return last.IsZero() || now.Sub(last) >= s.Listing
}

// longestWait is as long as a back-off of ours gets; a wait has to stay a time.
const longestWait = 365 * 24 * time.Hour

// Wait is the pause after the failed-th failure in a row: base·factor^(failed−1), at most Max where
// there is one.
func (b Backoff) Wait(failed int) time.Duration {
	limit := longestWait
	if b.Max > 0 {
		limit = min(limit, b.Max)
	}
	wait := b.Base.Seconds() * math.Pow(b.Factor, float64(max(failed, 1)-1))
	if !(wait < limit.Seconds()) {
		return limit
	}
	return time.Duration(wait * float64(time.Second))
}

// Again says whether an answer with that status is asked for again under the profile, and how long to
// wait first. Failed counts the failures in a row, this one included; retryAfter is what the site asked
// for. The wait holds for the site whether it is asked again or not.
func (p *Profile) Again(status, failed int, retryAfter time.Duration) (wait time.Duration, again bool) {
	if status != http.StatusTooManyRequests && status < 500 {
		return 0, false
	}
	if p.Pace.OnBusy != BusyBackoff {
		return retryAfter, false
	}
	return max(p.Pace.Backoff.Wait(failed), retryAfter), true
}

// ParseRetryAfter is the pause that a Retry-After field asks for at now (RFC 9110 section 10.2.3); 0
// when it asks for none or cannot be read.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		n, _ := strconv.ParseUint(value, 10, 64) // out of range is the largest number
		return time.Duration(min(n, uint64(longestWait/time.Second))) * time.Second
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(t.Sub(now), 0), longestWait)
}
