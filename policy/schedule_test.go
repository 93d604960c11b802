package policy_test

import (
	"testing"
	"time"

	"github.com/webreaderapi/webreader/policy"
)

func at(t testing.TB, zone, text string) time.Time {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	v, err := time.ParseInLocation("2006-01-02 15:04", text, loc)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchedule_27RoundsAWeekAroundBothChangesOfClocks(t *testing.T) {
	s := &profileOf(t, "subsidieupdate").Schedule
	for _, monday := range []string{"2026-03-23 00:00", "2026-03-30 00:00", "2026-10-19 00:00", "2026-10-26 00:00", "2026-12-28 00:00"} {
		from := at(t, "Europe/Amsterdam", monday)
		to := from.AddDate(0, 0, 7)
		n, last := 0, from.Add(-time.Second)
		perDay := map[string]int{}
		for next := s.Next(last); next.Before(to); next = s.Next(next) {
			if !next.After(last) {
				t.Fatalf("a round at %s after one at %s", next, last)
			}
			if h := next.Hour(); h < 7 || h >= 19 {
				t.Errorf("a round at %s", next)
			}
			n, last = n+1, next
			perDay[next.Weekday().String()]++
		}
		if n != 27 || perDay["Monday"] != 5 || perDay["Saturday"] != 1 || perDay["Sunday"] != 1 {
			t.Errorf("week of %s: %d rounds, %v", monday, n, perDay)
		}
	}
}

func TestSchedule_RoundsOfADayAreDistinctWhenClocksChange(t *testing.T) {
	s := policy.Schedule{TimeZone: "Europe/Amsterdam", Rounds: policy.Rounds{Sun: 24}, Hours: policy.Hours{To: 24 * 60}}
	for day, length := range map[string]time.Duration{"2026-03-29 12:00": 23, "2026-10-25 12:00": 25, "2026-11-29 12:00": 24} {
		rounds := s.RoundsOn(at(t, s.TimeZone, day))
		if len(rounds) != 24 {
			t.Fatalf("%s: %d rounds", day, len(rounds))
		}
		for i, r := range rounds[1:] {
			if gap := r.Sub(rounds[i]); gap < length*time.Hour/24-time.Second || gap > length*time.Hour/24+time.Second {
				t.Errorf("%s: %s between two rounds", day, gap)
			}
		}
		if rounds[0].Format("15:04") != "00:00" {
			t.Errorf("%s begins at %s", day, rounds[0])
		}
	}
}

func TestSchedule_HoursOverMidnightBelongToTheirDay(t *testing.T) {
	s := policy.Schedule{TimeZone: "Europe/Budapest", Rounds: policy.Rounds{Fri: 4}, Hours: policy.Hours{From: 22 * 60, To: 2 * 60}}
	var got []string
	for next := s.Next(at(t, s.TimeZone, "2026-12-03 23:00")); len(got) < 5; next = s.Next(next) {
		got = append(got, next.Format("Mon 15:04"))
	}
	want := []string{"Fri 22:00", "Fri 23:00", "Sat 00:00", "Sat 01:00", "Fri 22:00"}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestSchedule_Cron(t *testing.T) {
	s := policy.Schedule{TimeZone: "Europe/Amsterdam", Cron: "30 2 * * *"}
	for after, want := range map[string]string{
		"2026-11-30 02:29": "2026-11-30 02:30",
		"2026-11-30 02:30": "2026-12-01 02:30",
		"2026-10-24 12:00": "2026-10-25 02:30",
	} {
		if got := s.Next(at(t, s.TimeZone, after)); !got.Equal(at(t, s.TimeZone, want)) {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
	if got := s.Next(at(t, s.TimeZone, "2026-03-28 12:00")); got.IsZero() || got.Sub(at(t, s.TimeZone, "2026-03-28 12:00")) > 48*time.Hour {
		t.Errorf("around the hour that does not exist: %s", got)
	}
}

func TestSchedule_WithoutOneNothingComes(t *testing.T) {
	s := &profileOf(t, "webreaderapi").Schedule
	if s.Scheduled() || !s.Next(now).IsZero() || !s.ListingDue(now, now) {
		t.Errorf("%+v has rounds", s)
	}
}

func TestWindow_OpensAndClosesByTheWallClock(t *testing.T) {
	s := &profileOf(t, "subvenio").Schedule
	for _, c := range []struct{ at, open, closed string }{
		{"2026-11-30 12:00", "2026-11-30 22:00", "2026-11-30 12:00"},
		{"2026-11-30 22:00", "2026-11-30 22:00", "2026-12-01 06:00"},
		{"2026-12-01 05:59", "2026-12-01 05:59", "2026-12-01 06:00"},
		{"2026-12-01 06:00", "2026-12-01 22:00", "2026-12-01 06:00"},
		{"2026-03-28 23:00", "2026-03-28 23:00", "2026-03-29 06:00"},
		{"2026-10-24 23:00", "2026-10-24 23:00", "2026-10-25 06:00"},
	} {
		when := at(t, "Europe/Budapest", c.at)
		if got := s.Window.NextOpen(when); !got.Equal(at(t, "Europe/Budapest", c.open)) {
			t.Errorf("from %s it opens at %s", c.at, got)
		}
		if got := s.Window.NextClosed(when); !got.Equal(at(t, "Europe/Budapest", c.closed)) {
			t.Errorf("from %s it closes at %s", c.at, got)
		}
	}
	if next := s.Next(at(t, "Europe/Budapest", "2026-11-30 23:00")); !next.Equal(at(t, "Europe/Budapest", "2026-12-01 22:00")) {
		t.Errorf("the next night's round begins at %s", next)
	}
	night := at(t, "Europe/Budapest", "2026-03-28 22:00")
	if d := s.Window.NextClosed(night).Sub(night); d != 7*time.Hour {
		t.Errorf("the night the clock goes forward has %s", d)
	}
	night = at(t, "Europe/Budapest", "2026-10-24 22:00")
	if d := s.Window.NextClosed(night).Sub(night); d != 9*time.Hour {
		t.Errorf("the night the clock goes back has %s", d)
	}
	var always policy.Window
	if !always.Open(now) || !always.NextOpen(now).Equal(now) || !always.NextClosed(now).IsZero() {
		t.Error("the zero Window closes")
	}
}

func TestHours_Forms(t *testing.T) {
	for text, ok := range map[string]bool{
		"22:00-06:00": true, "00:00-24:00": true, "7:00-19:30": true, "22:00 - 06:00": true,
		"24:00-06:00": false, "25:00-06:00": false, "22:60-06:00": false, "22-06": false, "22:00": false, "": false, "22:00-22:00": false,
		"22:0-06:00": false, "-22:00-06:00": false, "22:00-24:01": false,
	} {
		if _, err := policy.ParseHours(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestListing_AtMostOnceInADay(t *testing.T) {
	s := &profileOf(t, "subvenio").Schedule
	last := now
	for after, due := range map[time.Duration]bool{0: false, 23*time.Hour + 59*time.Minute: false, 24 * time.Hour: true, 25 * time.Hour: true} {
		if s.ListingDue(last, last.Add(after)) != due {
			t.Errorf("after %s: due %v", after, !due)
		}
	}
}

func TestBackoff_GrowsAndNeverOverflows(t *testing.T) {
	b := policy.Backoff{Base: 5 * time.Second, Factor: 2}
	for failed, want := range map[int]time.Duration{0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 11: 5120 * time.Second} {
		if got := b.Wait(failed); got != want {
			t.Errorf("%d failures: %s, want %s", failed, got, want)
		}
	}
	for _, failed := range []int{60, 1000, 1 << 40} {
		if got := b.Wait(failed); got < 24*time.Hour || got > 366*24*time.Hour {
			t.Errorf("%d failures: %s", failed, got)
		}
	}
	b.Max = time.Minute
	if got := b.Wait(20); got != time.Minute {
		t.Errorf("over the cap: %s", got)
	}
}

func TestAgain_ByProfile(t *testing.T) {
	for _, c := range []struct {
		profile       string
		status, after int
		wait          time.Duration
		again         bool
	}{
		{"subvenio", 429, 0, 5 * time.Second, true}, {"subvenio", 503, 60, time.Minute, true}, {"subvenio", 404, 0, 0, false},
		{"subvenio", 403, 0, 0, false}, {"subvenio", 200, 0, 0, false}, {"webreaderapi", 429, 60, time.Minute, false},
		{"webreaderapi", 500, 0, 0, false}, {"subsidieupdate", 500, 0, 0, false},
	} {
		wait, again := profileOf(t, c.profile).Again(c.status, 1, time.Duration(c.after)*time.Second)
		if wait != c.wait || again != c.again {
			t.Errorf("%+v: %s, %v", c, wait, again)
		}
	}
}

func TestRetryAfter_Forms(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"120": 2 * time.Minute, " 0 ": 0, "": 0, "-1": 0, "1.5": 0, "soon": 0, "+5": 0,
		"Mon, 30 Nov 2026 12:10:00 GMT": 10 * time.Minute, "Monday, 30-Nov-26 12:10:00 GMT": 10 * time.Minute,
		"Mon Nov 30 12:10:00 2026": 10 * time.Minute, "Mon, 30 Nov 2026 11:00:00 GMT": 0,
		"99999999999": 365 * 24 * time.Hour, "99999999999999999999999": 365 * 24 * time.Hour, "Fri, 01 Jan 9999 00:00:00 GMT": 365 * 24 * time.Hour,
	} {
		if got := policy.ParseRetryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestTopics_Grants(t *testing.T) {
	topics := profileOf(t, "subsidieupdate").Topics()
	for _, c := range []struct {
		path, text string
		on         bool
	}{
		{"/subsidies", "", true}, {"/a", "Subsidie aanvragen", true}, {"/a", "Cultuursubsidies", true}, {"/a", "Subsidiëring van sport", true},
		{"/subsidie-aanvragen/sport", "Lees meer", true}, {"/a", "SUBSIDIEREGELINGEN", true}, {"/tegemoetkoming-energie", "", true},
		{"/palyazatok", "", true}, {"/a", "Pályázati felhívás", true}, {"/p%C3%A1ly%C3%A1zat/1", "", true}, {"/a", "Vissza nem térítendő támogatás", true},
		{"/a", "EU Grants 2026", true}, {"/a", "Apply for funding", true}, {"/regelingen/cultuur", "Cultuur", true},
		{"/", "Home", false}, {"/paspoort", "Paspoort aanvragen", false}, {"/a", "Subsidiariteit", false}, {"/a", "granted", false},
		{"/nieuws", "Nieuws", false}, {"/a", "Ügyfélfogadás", false}, {"/contact?subsidie", "Contact", false}, {"/a", "", false},
		{"/afval", "Afvalkalender", false}, {"/a", "our subsidiary", false},
	} {
		if got := topics.Match(target(t, "https://gemeente.test"+c.path), c.text); got != c.on {
			t.Errorf("%s %q: %v, want %v", c.path, c.text, got, c.on)
		}
	}
	var none *policy.Topics
	if !none.Match(target(t, "https://site.test/x"), "") || profileOf(t, "webreaderapi").Topics() != nil {
		t.Error("no topics are about something")
	}
}

func TestTopics_Patterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		on            bool
	}{
		{"/a/*", "/a/b", true}, {"/a/*", "/a/b/c", false}, {"/a/**", "/a/b/c", true}, {"/a/**", "/a", false}, {"/**/x", "/a/b/x", true},
		{"/**/x", "/x", false}, {"/*x*", "/axb", true}, {"/*x*", "/a/xb", false}, {"/a", "/ab", false}, {"/**", "/", true},
	} {
		topics, err := policy.NewTopics(nil, []string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := topics.Match(target(t, "https://site.test"+c.path), ""); got != c.on {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
	for _, bad := range []string{"two words", "", "*", "a/b"} {
		if _, err := policy.NewTopics([]string{bad}, nil); err == nil {
			t.Errorf("the word %q is taken", bad)
		}
	}
	if _, err := policy.NewTopics(nil, []string{"a/*"}); err == nil {
		t.Error("a pattern without / is taken")
	}
}

func BenchmarkJudge(b *testing.B) {
	c := fetchCase(b, "https://site.test/subsidies/aanvragen?jaar=2026", "User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow: /intern/\nDisallow: /*?print=1$\nAllow: /\n")
	b.ReportAllocs()
	for b.Loop() {
		if !policy.Judge(c).Allowed() {
			b.Fatal("refused")
		}
	}
}
