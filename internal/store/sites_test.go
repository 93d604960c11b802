package store

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/internal/webhook"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

func target(t testing.TB, raw string) policy.Target {
	t.Helper()
	return must[policy.Target](t)(policy.ParseTarget(raw))
}

func TestAnOptOutCoversItsDomainAndPath(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		for _, e := range []OptOutEntry{
			{Domain: "Stop.Example.", Reason: "mail", AskedBy: "postmaster"},
			{Domain: "part.example", PathPrefix: "/archive/"},
			{Domain: "slow.example", Delay: 10 * time.Second},
			{Domain: "deep.slow.example", Delay: 30 * time.Second},
			{Domain: "bücher.example"},
			{Domain: "192.0.2.7"},
			{Domain: "[2001:db8::7]"},
			{Domain: "all.example", PathPrefix: "/"},
		} {
			must[OptOutEntry](t)(s.AddOptOut(t.Context(), e))
		}
		for raw, want := range map[string]policy.OptOut{
			"https://stop.example/":                        {Stop: true, Entry: "stop.example"},
			"https://a.b.stop.example/x":                   {Stop: true, Entry: "stop.example"},
			"https://nonstop.example/":                     {},
			"https://example/":                             {},
			"https://part.example/":                        {},
			"https://part.example/archive":                 {Stop: true, Entry: "part.example/archive/"},
			"https://part.example/archive/1":               {Stop: true, Entry: "part.example/archive/"},
			"https://part.example/%61rchive/1":             {Stop: true, Entry: "part.example/archive/"},
			"https://part.example/x/../archive/1":          {Stop: true, Entry: "part.example/archive/"},
			"https://part.example//archive/1":              {Stop: true, Entry: "part.example/archive/"},
			"https://part.example/Archive/":                {},
			"https://slow.example/":                        {Entry: "slow.example", Delay: 10 * time.Second},
			"https://deep.slow.example/":                   {Entry: "deep.slow.example", Delay: 30 * time.Second},
			"https://xn--bcher-kva.example/":               {Stop: true, Entry: "xn--bcher-kva.example"},
			"http://192.0.2.7/":                            {Stop: true, Entry: "192.0.2.7"},
			"http://[2001:db8::7]/":                        {Stop: true, Entry: "2001:db8::7"},
			"https://all.example/x?y":                      {Stop: true, Entry: "all.example"},
			"https://" + strings.Repeat("a.", 60) + "free": {},
		} {
			got, err := s.OptOut(t.Context(), target(t, raw))
			if err != nil || got.Stop != want.Stop || got.Entry != want.Entry || got.Delay != want.Delay || (got.Entry != "") == got.Since.IsZero() {
				t.Errorf("%.80s: %+v, %v; want %+v", raw, got, err, want)
			}
		}
	})
}

func TestADelayDoesNotTakeAStopBack(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		must[OptOutEntry](t)(s.AddOptOut(t.Context(), OptOutEntry{Domain: "site.example"}))
		must[OptOutEntry](t)(s.AddOptOut(t.Context(), OptOutEntry{Domain: "site.example", Delay: time.Minute}))
		got := must[policy.OptOut](t)(s.OptOut(t.Context(), target(t, "https://site.example/")))
		if !got.Stop || got.Delay != time.Minute {
			t.Errorf("asked: %+v", got)
		}
		must[OptOutEntry](t)(s.AddOptOut(t.Context(), OptOutEntry{Domain: "site.example", Delay: time.Second}))
		if list := must[[]OptOutEntry](t)(s.ListOptOuts(t.Context())); len(list) != 2 {
			t.Errorf("the list is %+v", list)
		}
		if n := must[int64](t)(s.RemoveOptOut(t.Context(), "site.example")); n != 2 {
			t.Errorf("removed %d", n)
		}
	})
}

func TestAnOptOutIsSeenByOtherReplicasWithinASecond(t *testing.T) {
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			rawURL, clock := make(t), newClock()
			server, operator := open(t, rawURL, Options{Clock: clock}), open(t, rawURL, Options{Clock: clock})
			stopped := func() bool {
				return must[policy.OptOut](t)(server.OptOut(t.Context(), target(t, "https://site.example/"))).Stop
			}
			if stopped() {
				t.Error("stopped before anybody asked")
			}
			e := must[OptOutEntry](t)(operator.AddOptOut(t.Context(), OptOutEntry{Domain: "site.example"}))
			clock.advance(time.Second)
			if !stopped() {
				t.Error("a second later it goes on")
			}
			must[int64](t)(operator.RemoveOptOut(t.Context(), e.ID))
			clock.advance(time.Second)
			if stopped() {
				t.Error("it does not go on again")
			}
		})
	}
}

func TestAnUnusableOptOutIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		for _, bad := range []OptOutEntry{
			{}, {Domain: "https://site.example"}, {Domain: "site.example/x"}, {Domain: "site.example:80"}, {Domain: "a b"},
			{Domain: "user@site.example"}, {Domain: strings.Repeat("a.", 200) + "example"},
			{Domain: "site.example", PathPrefix: "x"}, {Domain: "site.example", PathPrefix: "/" + strings.Repeat("x", 2048)},
			{Domain: "site.example", Delay: -time.Second}, {Domain: "site.example", Delay: time.Microsecond}, {Domain: "site.example", Delay: 25 * time.Hour},
		} {
			_, err := s.AddOptOut(t.Context(), bad)
			wantKind(t, err, fault.InvalidRequest)
		}
	})
}

func robotsCopy(now time.Time) gate.RobotsCopy {
	return gate.RobotsCopy{Authority: "https://site.example", URL: "https://site.example/robots.txt", State: gate.RobotsFound, Status: 200,
		ETag: `"v1"`, LastModified: "Mon, 30 Nov 2026 11:00:00 GMT", Body: []byte("User-agent: *\nDisallow: /a\x00\xff"),
		FetchedAt: now, ExpiresAt: now.Add(24 * time.Hour)}
}

func TestARobotsCopyIsKeptAsItCame(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		if _, ok, err := s.Robots(t.Context(), "https://site.example"); ok || err != nil {
			t.Errorf("found %v, %v", ok, err)
		}
		c := robotsCopy(clock.Now())
		noError(t, s.PutRobots(t.Context(), c))
		got, ok, err := s.Robots(t.Context(), c.Authority)
		if !ok || err != nil || got.URL != c.URL || got.State != c.State || got.Status != 200 || got.ETag != c.ETag ||
			got.LastModified != c.LastModified || !bytes.Equal(got.Body, c.Body) || !got.FetchedAt.Equal(c.FetchedAt) || !got.ExpiresAt.Equal(c.ExpiresAt) {
			t.Errorf("kept %+v, %v, %v", got, ok, err)
		}
		older := c
		older.FetchedAt, older.Body = c.FetchedAt.Add(-time.Minute), []byte("old")
		noError(t, s.PutRobots(t.Context(), older))
		if got, _, _ = s.Robots(t.Context(), c.Authority); !bytes.Equal(got.Body, c.Body) {
			t.Error("an older answer replaced a newer one")
		}
		gone := gate.RobotsCopy{Authority: c.Authority, State: gate.RobotsUnreachable, Why: "status 503", Body: []byte("page"), FetchedAt: clock.Now(), ExpiresAt: clock.Now().Add(time.Minute)}
		noError(t, s.PutRobots(t.Context(), gone))
		if got, _, _ = s.Robots(t.Context(), c.Authority); got.State != gate.RobotsUnreachable || len(got.Body) != 0 || got.Why != "status 503" {
			t.Errorf("kept %+v", got)
		}
	})
}

func TestARobotsCopyIsBounded(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		c := robotsCopy(clock.Now())
		c.Body = bytes.Repeat([]byte("#"), 600_000)
		c.ETag, c.LastModified, c.Why = strings.Repeat("e", 2000), "a\x00b", strings.Repeat("ü", 300)
		c.ExpiresAt = clock.Now().Add(48 * time.Hour)
		noError(t, s.PutRobots(t.Context(), c))
		got, _, err := s.Robots(t.Context(), c.Authority)
		noError(t, err)
		if len(got.Body) != maxRobotsBody || got.ETag != "" || got.LastModified != "" || got.ExpiresAt.Sub(got.FetchedAt) != 24*time.Hour {
			t.Errorf("kept %d bytes, %q, %q, until %v", len(got.Body), got.ETag, got.LastModified, got.ExpiresAt)
		}
		clock.advance(48 * time.Hour)
		if n := must[int64](t)(s.SweepRobots(t.Context())); n != 1 {
			t.Errorf("swept %d", n)
		}
	})
}

// fetch writes a row of the fetch log.
func fetch(t testing.TB, s *Store, at time.Time, host, url string) {
	t.Helper()
	noError(t, s.Fetched(t.Context(), gate.FetchRow{At: at, Host: host, URL: url, Status: 200, Outcome: "answered",
		UserAgent: "test/1.0", Egress: "203.0.113.9", Remote: "192.0.2.1", Profile: "test", Stage: "fetch", Duration: 120 * time.Millisecond, Bytes: 4321,
		Cause: policy.Cause{Kind: policy.CauseRead, ID: "req_1", Account: "acc_1", Request: "req_1"}}))
}

func TestTheFetchLogAnswersAReport(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		now := clock.Now()
		fetch(t, s, now, "site.example", "https://site.example/a?q=secret")
		fetch(t, s, now.Add(time.Minute), "www.site.example", "https://www.site.example/b")
		fetch(t, s, now.Add(2*time.Minute), "site.example", "https://site.example/c")
		fetch(t, s, now, "othersite.example", "https://othersite.example/")
		q := AuditQuery{Host: "site.example", From: now, To: now.Add(time.Minute), Limit: 10}
		got := must[[]LogEntry](t)(s.Audit(t.Context(), q))
		if len(got) != 1 || got[0].URL != "https://site.example/a?q=secret" || got[0].UserAgent != "test/1.0" || got[0].Egress != "203.0.113.9" ||
			got[0].Cause.Account != "acc_1" || got[0].Cause.Request != "req_1" || got[0].Status != 200 || !got[0].At.Equal(now) || got[0].Duration != 120*time.Millisecond {
			t.Errorf("found %+v", got)
		}
		q.SubDomains = true
		if got := must[[]LogEntry](t)(s.Audit(t.Context(), q)); len(got) != 2 {
			t.Errorf("with sub-domains found %+v", got)
		}
		clock.advance(time.Hour + time.Minute)
		if n := must[int64](t)(s.SweepFetchLog(t.Context(), time.Hour)); n != 2 {
			t.Errorf("swept %d rows", n)
		}
	})
}

func TestALongLogRowIsCutToFit(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		long := strings.Repeat("ü", 10_000) + "\x00\xff"
		row := gate.FetchRow{At: time.Now(), Host: long, URL: long, Outcome: long, UserAgent: long, Egress: long, Remote: long, Profile: long, Stage: long,
			Cause: policy.Cause{Kind: policy.CauseKind(long), ID: long, Account: long, Request: long}}
		noError(t, s.Fetched(t.Context(), row))
		if n := number(t, s, "SELECT length(url) FROM fetch_log"); n != 8192 {
			t.Errorf("kept %d characters", n)
		}
	})
}

func TestForgettingADomainLeavesNothingOfIt(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, apiKey, secret := customer(t, s, "Anna")
		for _, host := range []string{"site.example", "www.site.example", "mysite.example"} {
			crawl := newJob(account, apiKey, secret, page(host, "/1"), page(host, "/2"))
			crawl.ScopeHost = host
			must[jobs.Job](t)(s.CreateJob(t.Context(), crawl))
			for _, i := range claimAll(t, s, jobs.Pace{}) {
				noError(t, s.FinishItem(t.Context(), jobs.Finish{Item: i, Fate: jobs.Ended, Counter: string(reader.Failed),
					Sealed: []jobs.Sealed{{Item: i.ID(), Host: i.Host, Envelope: seal.Envelope("sealed")}}}))
			}
			watched(t, s, account.ID, apiKey.ID, host)
			noError(t, s.tx(t.Context(), func(tx *sql.Tx) error {
				return s.queueEvent(t.Context(), tx, clock.Now().UnixMilli(), account.ID, "wat_1", "https://hook.example/site.example", webhook.WatchChanged,
					watchEvent{Watch: "wat_1", Changes: []watch.Told{{Seq: 1, URL: "https://" + strings.ToUpper(host) + "/1"}}})
			}))
			fetch(t, s, clock.Now(), host, "https://"+host+"/path?q=secret")
			c := robotsCopy(clock.Now())
			c.Authority, c.URL = "https://"+host, "https://"+host+"/robots.txt"
			noError(t, s.PutRobots(t.Context(), c))
			noError(t, take(t, s, key(host, time.Second), 0).End(t.Context(), clock.Now()))
			h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
			noError(t, s.Settle(t.Context(), h, receipt(reader.Delivered, 1, host)))
		}
		must[OptOutEntry](t)(s.AddOptOut(t.Context(), OptOutEntry{Domain: "site.example"}))
		clock.advance(time.Second)
		gone := must[Forgotten](t)(s.Forget(t.Context(), "Site.Example", "postmaster"))
		for _, table := range gone.Tables {
			want := int64(2)
			if strings.HasPrefix(table.Table, "watch_") {
				continue // the tests of watches look at these
			}
			if table.Table == "frontier" {
				want = 4
			}
			if table.Rows != want {
				t.Errorf("%s: %d rows, want %d", table.Table, table.Rows, want)
			}
		}
		for table, want := range map[string]int64{
			"robots": 1, "hosts": 1, "fetch_log": 3, "debits": 3, "opt_outs": 1, "tombstones": 1, "deliveries": 1,
			"reads WHERE url_host = ''": 2, "reads WHERE url_host = 'mysite.example'": 1,
			"fetch_log WHERE url LIKE '%secret%'": 1, "fetch_log WHERE forgotten_at IS NOT NULL AND status = 200 AND account = 'acc_1'": 2,
		} {
			if n := number(t, s, "SELECT COUNT(*) FROM "+table); n != want {
				t.Errorf("%s: %d rows, want %d", table, n, want)
			}
		}
		wantLedger(t, s, account, 3, 3)
		late := robotsCopy(clock.Now().Add(-500 * time.Millisecond)) // asked before, answered after
		noError(t, s.PutRobots(t.Context(), late))
		if n := number(t, s, "SELECT COUNT(*) FROM robots"); n != 1 {
			t.Error("an old answer brought the domain back")
		}
		noError(t, s.PutRobots(t.Context(), robotsCopy(clock.Now().Add(time.Second))))
		if n := number(t, s, "SELECT COUNT(*) FROM robots"); n != 2 {
			t.Error("a new answer was not kept")
		}
		_, err := s.Forget(t.Context(), "https://site.example/", "")
		wantKind(t, err, fault.InvalidRequest)
	})
}

func TestForgottenTextIsNotInTheFiles(t *testing.T) {
	folder := t.TempDir()
	s := open(t, "sqlite:"+filepath.Join(folder, "test.db"), Options{})
	for range 50 {
		fetch(t, s, time.Now(), "site.example", "https://site.example/path?q=canary7391")
	}
	must[Forgotten](t)(s.Forget(t.Context(), "site.example", ""))
	var found []string
	for _, file := range must[[]os.DirEntry](t)(os.ReadDir(folder)) {
		if text := must[[]byte](t)(os.ReadFile(filepath.Join(folder, file.Name()))); bytes.Contains(text, []byte("canary7391")) {
			found = append(found, file.Name())
		}
	}
	if len(found) > 0 {
		t.Errorf("the query string is in %s", strings.Join(found, ", "))
	}
}

func TestASweepTakesWhatHasHadItsTime(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "Anna")
		must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		must[billing.Operation](t)(s.Begin(t.Context(), attempt(account.ID, "k", "GET a")))
		noError(t, s.PutRobots(t.Context(), robotsCopy(clock.Now())))
		noError(t, take(t, s, key("site.example", time.Second), 0).End(t.Context(), clock.Now()))
		fetch(t, s, clock.Now(), "site.example", "https://site.example/")
		if got := must[Swept](t)(s.Sweep(t.Context(), time.Hour)); got != (Swept{}) {
			t.Errorf("swept %+v at once", got)
		}
		clock.advance(49 * time.Hour)
		if got := must[Swept](t)(s.Sweep(t.Context(), time.Hour)); got != (Swept{1, 1, 1, 1, 1, 0}) {
			t.Errorf("swept %+v", got)
		}
	})
}

func TestDomainsOf(t *testing.T) {
	got := domainsOf("a.b.example")
	if !slices.Equal(got, []any{"a.b.example", "b.example", "example"}) {
		t.Errorf("domains %v", got)
	}
}
