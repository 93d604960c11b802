package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"
)

const (
	someHouse   = "version: 1\nname: house\nrobots: { max_age: 24h, on_5xx: closed }\npace: { in_flight: 1 }\nsignals: { content_signal: { ai-input: refuse } }\n"
	someProfile = "version: 1\nname: some\nidentity: { product_token: SomeBot }\n"
)

func someProfiles(t testing.TB) *Profiles {
	t.Helper()
	all, err := Load(fstest.MapFS{
		"house.yaml":         {Data: []byte(someHouse)},
		"some.yaml":          {Data: []byte(someProfile)},
		"topics/grants.yaml": {Data: []byte("words: { nl: [subsidie*] }\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestProfile_ErrorNamesLineFieldAndExample(t *testing.T) {
	all := someProfiles(t)
	for _, c := range []struct{ yaml, want string }{
		{"robots:\n  max_age: soon\n", `x.yaml:5: robots.max_age: "soon" is not a time such as 500ms, 2s, 5m or 24h; write it like "max_age: 24h"`},
		{"pace:\n  min_gpa: 2s\n", `x.yaml:5: pace.min_gpa: there is no such field; pace.min_gap may be meant; write it like "min_gap: 2s"`},
		{"pace: { colour: red }\n", `x.yaml:4: pace.colour: there is no such field; known here: per, min_gap,`},
		{"speed: fast\n", `x.yaml:4: speed: there is no such field; known here: name, identity,`},
		{"pace: 3\n", `x.yaml:4: pace: is a section, not a value; write it like "pace: { per: host }"`},
		{"pace: { min_gap: }\n", `x.yaml:4: pace.min_gap: has no value; write it like "min_gap: 2s"`},
		{"pace: { min_gap: 2 }\n", `x.yaml:4: pace.min_gap: "2" is of another type; write it like "min_gap: 2s"`},
		{"pace: { min_gap: -2s }\n", `"-2s" is not a time`},
		{"pace: { min_gap: [2s] }\n", `pace.min_gap: is not a single value`},
		{"pace: { in_flight: 0 }\n", `pace.in_flight: "0" is not a whole number from 1 to`},
		{"pace: { in_flight: many }\n", `pace.in_flight: "many" is of another type; write it like "in_flight: 1"`},
		{"pace: { in_flight_total: some }\n", `"some" is not a whole number`},
		{"pace: { per: planet }\n", `pace.per: "planet" is none of: host, registrable_domain; write it like "per: host"`},
		{"pace: { backoff: { factor: 0.5 } }\n", `pace.backoff.factor: "0.5" is not a number from 1 to 100`},
		{"robots: { crawl_delay: { honour: maybe } }\n", `robots.crawl_delay.honour: "maybe" is of another type; write it like "honour: true"`},
		{"robots: { refetch_on: crawl_start }\n", `robots.refetch_on: is not a list; write it like "refetch_on: [crawl_start]"`},
		{"robots: { refetch_on: [crawl_start, crawl_start] }\n", `is not a list of different words`},
		{"robots: { max_age: 1h, max_age_floor: 2h }\n", `robots.max_age_floor: is longer than max_age`},
		{"signals: { usage_purposes: [ai-input] }\n", `"ai-input" is none of: train-ai, search`},
		{"schedule: { window: \"22:00-06:00\" }\n", `schedule.window: "22:00-06:00" is not a span of the day and a time zone`},
		{"schedule: { window: \"22:00-06:00 Europe/Nowhere\" }\n", `schedule.window:`},
		{"schedule: { hours: \"7-19\" }\n", `schedule.hours: "7-19" is not a span of the day`},
		{"schedule: { hours: \"07:00-07:00\" }\n", `schedule.hours:`},
		{"schedule: { time_zone: Local }\n", `schedule.time_zone: "Local" is not a time zone`},
		{"schedule: { cron: \"0 0 31 2 *\" }\n", `schedule.cron: "0 0 31 2 *" is not a cron expression of five fields that ever comes`},
		{"schedule: { cron: \"@daily\" }\n", `schedule.cron:`},
		{"schedule: { cron: \"0 6 * * 1-5\", rounds: { mon: 1 } }\n", `schedule.cron: stands beside rounds`},
		{"schedule: { listing: daily }\n", `schedule.listing: "daily" is not a rate such as 1/day`},
		{"scope: { topics: weather }\n", `scope.topics: there is no topic "weather"; write one of: grants`},
		{"scope: { documents: [exe] }\n", `"exe" is none of: pdf, docx`},
		{"name: other\n", `x.yaml:4: name: stands there twice`},
		{"texts: { languages: [nl, &a en] }\n", `is a kind of value that profiles do not have`},
		{"texts: *a\n", `x.yaml:4:`},
		{"pace: { min_gap: 2s\n", `x.yaml:`},
		{"---\nname: b\n", `x.yaml: is not one list of fields`},
		{strings.Repeat("[", 3000) + "\n", `x.yaml`},
	} {
		_, err := all.Parse("x.yaml", []byte(someProfile+c.yaml))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n got %v\nwant %s", c.yaml, err, c.want)
		}
	}
}

// All faults of a file are told at once, each once.
func TestProfile_AllFaultsAtOnce(t *testing.T) {
	all := someProfiles(t)
	_, err := all.Parse("x.yaml", []byte("version: 2\nrobots: { max_age: soon, on_5xx: maybe }\npace:\n  min_gpa: 2s\n  per: planet\nidentity: { product_token: \"a b\" }\nscope: { topics: weather, documents: [pdf, exe] }\nschedule: { cron: \"0 6 * * *\", rounds: { mon: 1 } }\n"))
	if err == nil {
		t.Fatal("the file was taken")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"x.yaml:1: version:", "x.yaml:2: robots.max_age:", "x.yaml:2: robots.on_5xx:", "x.yaml:4: pace.min_gpa:", "x.yaml:5: pace.per:",
		"x.yaml:6: identity.product_token:", "x.yaml:7: scope.documents:", "x.yaml: name: is missing", "x.yaml: schedule.cron: stands beside", "x.yaml: scope.topics:"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("fault %d of %q is not %s", i, lines, want)
		}
	}
	if len(lines) != 10 {
		t.Errorf("%d faults: %q", len(lines), lines)
	}
	_, err = all.Parse("x.yaml", []byte(strings.Repeat("speed: fast\n", 2000)))
	if n := strings.Count(err.Error(), "\n"); n > 25 {
		t.Errorf("%d lines about one file", n)
	}
}

func TestProfile_IdentityIsRequiredAndSafe(t *testing.T) {
	all := someProfiles(t)
	for _, c := range []struct{ yaml, want string }{
		{"", "is not one list of fields"},
		{"- a\n", "x.yaml:1: is not a list of fields"},
		{"version: 2\n", `x.yaml:1: version: is a form of profiles that is not known; write it like "version: 1"`},
		{"name: a\n", `identity.product_token: is missing; write it like`},
		{"identity: { product_token: SomeBot }\n", `name: is missing; write it like`},
		{"identity: { product_token: Bot2 }\n", `"Bot2" is not a product token`},
		{"identity: { product_token: \"Some Bot\" }\n", `is not a product token`},
		{"identity: { product_token: \"Bot\\r\\nCookie\" }\n", `is not a product token`},
		{"identity: { version: \"1 (x)\" }\n", `identity.version:`},
		{"identity: { info_url: \"https://a.example/) b\" }\n", `is not an address that a User-Agent can hold`},
		{"identity: { info_url: \"javascript:x\" }\n", `is not an address that a User-Agent can hold`},
		{"identity: { contact: nobody }\n", `identity.contact: "nobody" is neither a mail address nor an https address`},
		{"name: Some Name\n", `name: "Some Name" is not a name of lower-case letters`},
	} {
		if _, err := all.Parse("x.yaml", []byte(c.yaml)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.yaml, err, c.want)
		}
	}
}

func TestProfile_ReadsFilesOnlyWhenNamed(t *testing.T) {
	all := someProfiles(t)
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(someProfile, "some", "mine", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := all.Find(file)
	if err != nil || p.Name != "mine" || p.UserAgent() != "SomeBot/1.0" {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err := all.Find("some"); err != nil || p.Name != "some" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := all.Find("none"); err == nil || !strings.Contains(err.Error(), "choose one of some") {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := all.Find(file + ".gone"); err == nil {
		t.Error("a missing file is read")
	}
}

func TestProfile_ReadsWhatPeopleWrite(t *testing.T) {
	const compact = `version: 1
name: vidit   # the name
identity: { product_token: ViditBot, version: 1.1, info_url: https://vidit.example/bot, contact: bot@vidit.example }
robots:   { max_age: 12h, max_age_floor: 1h, refetch_on: [crawl_start], on_5xx: closed, crawl_delay: { honour: true, cap: none } }
pace:     { per: registrable_domain, min_gap: 1.5s, in_flight: 1, in_flight_total: 1, own_hops: counted, on_429_5xx: backoff }
signals:  { content_signal: { ai-input: refuse }, noindex: discard, nofollow: obey }
scope:    { documents: [pdf, odt], topics: grants, max_pages_per_site: 20 }
schedule: { listing: 2/day, window: "21:30-05:00 Europe/Vienna" }
answer:   { excerpt_chars: 140, attribute_source: true, personal_data: filter }
texts:    { languages: [hu, en] }
`
	for name, text := range map[string]string{"LF": compact, "CRLF": strings.ReplaceAll(compact, "\n", "\r\n"), "after a mark": "---\n" + compact} {
		p, err := someProfiles(t).Parse("x.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.UserAgent() != "ViditBot/1.1 (+https://vidit.example/bot)" || p.Robots.MaxAge != 12*time.Hour || p.Pace.MinGap != 1500*time.Millisecond ||
			p.Schedule.Listing != 12*time.Hour || p.Schedule.Window.String() != "21:30-05:00 Europe/Vienna" || p.TotalKey() != "profile:vidit" ||
			p.Answer.ExcerptChars != 140 || len(p.Scope.Documents) != 2 || p.Robots.CrawlDelay.Cap != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestProfile_InfoURLComesFromTheOperator(t *testing.T) {
	p := someProfiles(t).Get("some")
	with, err := p.WithInfoURL("https://reader.example/bot")
	if err != nil || with.UserAgent() != "SomeBot/1.0 (+https://reader.example/bot)" || p.UserAgent() != "SomeBot/1.0" {
		t.Errorf("%v: %s, before %s", err, with.UserAgent(), p.UserAgent())
	}
	if _, err := p.WithInfoURL("https://a.example/\r\nX: y"); err == nil {
		t.Error("a header can be smuggled in")
	}
}

// The schema agrees with itself: each example and default can be read, and every field can be said.
func TestProfile_SchemaExamplesAreCorrect(t *testing.T) {
	all := someProfiles(t)
	for _, f := range new(Profile).fields() {
		f.reset()
		text := someProfile
		sections := strings.Split(f.path, ".")
		if f.path == "name" || f.path == "identity.product_token" {
			continue
		}
		open := strings.Join(sections[:len(sections)-1], ": { ") + ": { "
		line := open + f.example() + strings.Repeat(" }", len(sections)-1)
		if sections[0] == "identity" {
			text, line = "name: some\n", "identity: { product_token: SomeBot, "+f.example()+" }"
		}
		if _, err := all.Parse("x.yaml", []byte(text+line+"\n")); err != nil {
			t.Errorf("the example of %s: %v", f.path, err)
		}
		if means := strings.Count(f.tag.Get("means"), "|"); means > 0 {
			if n := max(len(f.words()), 2); means != n-1 {
				t.Errorf("%s: %d meanings for %d words", f.path, means+1, n)
			}
		} else if !strings.Contains(f.tag.Get("says"), "%") || f.kind() == "none" && f.tag.Get("none") == "" {
			t.Errorf("%s cannot be said in plain words", f.path)
		}
	}
}

// draw sets a field to any value that a file can give it.
func (f field) draw(t *rapid.T, who string) {
	f.value.SetZero()
	name := who + " " + f.path
	switch words := f.words(); f.value.Interface().(type) {
	case string:
		f.value.SetString(rapid.SampledFrom(words).Draw(t, name))
	case []string:
		n := rapid.IntRange(0, len(words)).Draw(t, name)
		f.value.Set(reflect.ValueOf(append([]string{}, words[:n]...)))
	case bool:
		f.value.SetBool(rapid.Bool().Draw(t, name))
	case float64:
		f.value.SetFloat(rapid.Float64Range(1, 100).Draw(t, name))
	case time.Duration:
		f.value.SetInt(int64(rapid.IntRange(0, 100).Draw(t, name)) * int64(time.Second))
	default:
		f.value.SetInt(int64(rapid.IntRange(0, 10).Draw(t, name)))
	}
}

// laxer is true when a permits what b does not, said anew and without the code under test.
func (f field) laxer(a, b reflect.Value) bool {
	none := func(v reflect.Value) bool { return f.kind() == "none" && v.IsZero() }
	switch f.tag.Get("strict") {
	case "word":
		return strings.Index(f.tag.Get("one")+" ", a.String()+" ") < strings.Index(f.tag.Get("one")+" ", b.String()+" ")
	case "true":
		return !a.Bool() && b.Bool()
	case "more":
		for i := range b.Len() {
			if !strings.Contains(fmt.Sprint(a.Interface()), b.Index(i).String()) {
				return true
			}
		}
		return false
	case "max":
		return !none(a) && (none(b) || less(a, b))
	case "min":
		return !none(b) && (none(a) || less(b, a))
	}
	panic("the order " + f.tag.Get("strict") + " is not known to the test")
}

func less(a, b reflect.Value) bool {
	if a.CanFloat() {
		return a.Float() < b.Float()
	}
	return a.Int() < b.Int()
}

func TestProfile_IsNeverLaxerThanTheHouse(t *testing.T) {
	ordered := 0
	rapid.Check(t, func(t *rapid.T) {
		own := &Profile{set: map[string]string{}}
		house := &Profile{set: map[string]string{}}
		asked := map[string]reflect.Value{}
		theirs := house.fields()
		for i, f := range own.fields() {
			if !f.ordered() {
				continue
			}
			ordered++
			if rapid.Bool().Draw(t, "own has "+f.path) {
				f.draw(t, "own")
				own.set[f.path] = "given"
				asked[f.path] = reflect.ValueOf(f.value.Interface())
			}
			if rapid.Bool().Draw(t, "house has "+f.path) {
				theirs[i].draw(t, "house")
				house.set[f.path] = "given"
			}
		}
		settle(own, house)
		for i, f := range own.fields() {
			if !f.ordered() {
				continue
			}
			if house.set[f.path] != "" && f.laxer(f.value, theirs[i].value) {
				t.Errorf("%s is %v, laxer than the house's %v", f.path, f.value, theirs[i].value)
			}
			if v, given := asked[f.path]; given && f.laxer(f.value, v) {
				t.Errorf("%s is %v, laxer than the profile's own %v", f.path, f.value, v)
			}
		}
	})
	if ordered == 0 {
		t.Error("no field has an order")
	}
}

func TestProfile_SaysWhatTheHouseMadeOfIt(t *testing.T) {
	p, err := someProfiles(t).Parse("x.yaml", []byte(someProfile+
		"robots: { max_age: 48h, on_5xx: skip_round }\npace: { in_flight: 4, min_gap: 90s }\nsignals: { content_signal: { ai-input: report } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Robots.MaxAge != 24*time.Hour || p.Pace.InFlight != 1 || p.Signals.ContentSignal.AIInput != RefuseWord {
		t.Errorf("laxer than the house: %+v", p)
	}
	text := strings.Join(p.Explain(), "\n") + "\n"
	for _, want := range []string{
		"a robots.txt is used for at most 24 hours (the house floor, 24h; the profile asks for 48h, which is laxer)\n",
		"the host is left alone for the whole round (stricter than the house floor, closed)\n",
		"requests under way at once at one site: 1 (the house floor, 1; the profile asks for 4, which is laxer)\n",
		"Content-Signal ai-input=no means that the page is not read (the house floor, refuse; the profile asks for report, which is laxer)\n",
		"at least 90 seconds pass between two requests\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
