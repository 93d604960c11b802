package handlers

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
)

// Whatever is in the document is served, and whatever is served for programs is in the document.
func TestRoutesAndDocumentAgree(t *testing.T) {
	r := newRig(t)
	served := map[string]bool{}
	for _, route := range r.server.echo.Routes() {
		served[route.Method+" "+documented(route.Path)] = true
	}
	for path, item := range r.server.spec.Paths.Map() {
		for method := range item.Operations() {
			if !served[method+" "+path] {
				t.Errorf("%s %s is documented and not served", method, path)
			}
			delete(served, method+" "+path)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/bot/ips.json"} {
		if !served["HEAD "+path] {
			t.Errorf("HEAD %s is not served", path)
		}
		delete(served, "HEAD "+path)
	}
	delete(served, "HEAD /bot/promises")
	forPeople := regexp.MustCompile(`^(GET|HEAD) (/|/docs.*|/bot|/signup|/llms\.txt|/robots\.txt|/assets/\{name\}|/openapi\.(json|yaml))$`)
	for route := range served {
		if !forPeople.MatchString(route) {
			t.Errorf("%s is served and not documented", route)
		}
	}
}

func TestTheDocumentIsValid(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/openapi.json", "/openapi.yaml"} {
		_, text := r.do("GET", path, "", "Authorization", "")
		spec, err := openapi3.NewLoader().LoadFromData([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := spec.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Pages use nothing from elsewhere and no inline script or style, which the content policy forbids.
func TestPagesStandAlone(t *testing.T) {
	r := newRig(t)
	outside := regexp.MustCompile(`(?i)(src|href|action)="(https?:)?//`)
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?: [^>]*)?>[^<]`)
	for _, path := range []string{"/", "/docs", "/docs/errors", "/docs/errors/target_error", "/docs/acceptable-use", "/bot", "/bot?lang=nl", "/bot?lang=hu"} {
		answer, text := r.do("GET", path, "", "Authorization", "")
		if answer.StatusCode != 200 || !strings.HasPrefix(text, "<!DOCTYPE html>") {
			t.Fatalf("%s: %d", path, answer.StatusCode)
		}
		if m := outside.FindString(text); m != "" {
			t.Errorf("%s reaches outside: %s", path, m)
		}
		if m := inline.FindString(text); m != "" {
			t.Errorf("%s has inline code: %s", path, m)
		}
		if head, body := r.do("HEAD", path, ""); head.StatusCode != 200 || body != "" {
			t.Errorf("HEAD %s: %d", path, head.StatusCode)
		}
	}
}

func TestTheReferenceShowsEveryCallAndOption(t *testing.T) {
	r := newRig(t)
	_, text := r.do("GET", "/docs", "")
	for path := range r.server.spec.Paths.Map() {
		if !strings.Contains(text, "<code>"+path+"</code>") {
			t.Errorf("the reference lacks %s", path)
		}
	}
	for _, option := range []string{"only_main_content", "if_fingerprint", "inline | references | none"} {
		if !strings.Contains(text, option) {
			t.Errorf("the reference lacks %s", option)
		}
	}
}

func TestLLMsText(t *testing.T) {
	r := newRig(t, func(c *Config, _ *standIns) { c.PublicURL = "https://reader.example" })
	_, text := r.do("GET", "/llms.txt", "")
	if !strings.Contains(text, "https://reader.example/read?url=") || strings.Contains(text, "{{") {
		t.Error(text)
	}
}

// A forged Host cannot put anything but a host into our links.
func TestAForgedHostMakesNoLink(t *testing.T) {
	r := newRig(t)
	_, text := r.do("GET", "/nothing", "")
	var p Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || !strings.HasPrefix(p.Type, r.url) {
		t.Errorf("%s, %v", text, err)
	}
	answer, _ := raw(t, r.url, "GET /nothing HTTP/1.1\r\nHost: a\"onx=1\r\nConnection: close\r\n\r\n")
	if strings.Contains(answer, "onx") {
		t.Error(answer)
	}
}

// What no test proves is not shown, nor what another bot promises.
func TestPromisesAreTheProfilesAndProven(t *testing.T) {
	r := newRig(t)
	r.server.promises = []policy.Promise{
		{ID: "W01", Profiles: []string{"test"}, EN: "Only when asked.", NL: "Alleen op verzoek."},
		{ID: "W02", Profiles: []string{"test"}, EN: "Not proven.", NotYet: true},
		{ID: "B01", Profiles: []string{"another"}, EN: "Not ours."},
	}
	for _, c := range []struct{ accept, lang, want string }{
		{"text/html", "nl", "Alleen op verzoek."}, {"text/html", "en", "Only when asked."}, {"application/json", "hu", `"test":"TestPromise/W01"`},
	} {
		answer, text := r.do("GET", "/bot/promises?lang="+c.lang, "", "Accept", c.accept, "Authorization", "")
		if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), c.accept) || !strings.Contains(text, c.want) ||
			!strings.Contains(text, "TestPromise/W01") || strings.Contains(text, "Not ") || strings.Contains(text, "%!") {
			t.Errorf("%s in %s: %d %s", c.accept, c.lang, answer.StatusCode, text)
		}
	}
	r.server.promises = nil
	if _, text := r.do("GET", "/bot/promises?lang=en", ""); !strings.Contains(text, "nothing is promised") {
		t.Error(text)
	}
}

func TestBotPageSpeaksThreeLanguages(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ path, accept, want string }{
		{"/bot", "", `lang="nl"`}, {"/bot", "hu-HU,hu;q=0.9,en;q=0.5", `lang="hu"`}, {"/bot", "de, en;q=0.3", `lang="en"`},
		{"/bot", "en;q=0.2,nl;q=0.9", `lang="nl"`}, {"/bot?lang=en", "hu", `lang="en"`}, {"/bot?lang=xx", "hu", `lang="hu"`},
	} {
		if _, text := r.do("GET", c.path, "", "Accept-Language", c.accept); !strings.Contains(text, "<html "+c.want) {
			t.Errorf("%s with %q is not %s", c.path, c.accept, c.want)
		}
	}
}

// Every sentence that any profile can need is there in every language, with the same values, and no
// sentence is there that nothing uses.
func TestBotWordsAreComplete(t *testing.T) {
	r := newRig(t)
	verbs := regexp.MustCompile(`%[sd]`)
	for lang, w := range r.server.pages.bot {
		for name, text := range r.server.pages.bot["en"] {
			if got := verbs.FindAllString(w[name], -1); w[name] == "" || strings.Join(got, "") != strings.Join(verbs.FindAllString(text, -1), "") {
				t.Errorf("%s: %s is %q", lang, name, w[name])
			}
		}
		if len(w) != len(r.server.pages.bot["en"]) {
			t.Errorf("%s has %d sentences, en %d", lang, len(w), len(r.server.pages.bot["en"]))
		}
	}
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	recording := words{}
	for name, text := range r.server.pages.bot["en"] {
		recording[name] = name + "\x00" + text
	}
	for _, p := range append(knobs(), all.Get("webreaderapi"), all.Get("subsidieupdate"), all.Get("subvenio")) {
		r.server.profile = p
		for _, s := range r.server.botSections(recording) {
			for _, fact := range append(s.Facts, s.Title) {
				name, text, ok := strings.Cut(fact, "\x00")
				if !ok || strings.Contains(text, "%!") {
					t.Errorf("profile %s: %q", p.Name, fact)
				}
				used[name] = true
			}
			for _, b := range s.Blocks {
				name, _, _ := strings.Cut(b.Title, "\x00")
				used[name] = true
			}
		}
	}
	for name := range recording {
		if strings.HasPrefix(name, "check_") || strings.HasPrefix(name, "promises_") || name == "title" || name == "back" || name == "addresses" {
			continue
		}
		if !used[name] {
			t.Errorf("no profile shows the sentence %s", name)
		}
	}
}

// knobs are profiles that turn every knob that the page speaks about.
func knobs() []*policy.Profile {
	p := testProfile()
	p.Identity.Contact, p.Identity.InfoURL = "bot@site.example", "https://site.example/bot"
	p.Robots.On4xx, p.Robots.On5xx, p.Robots.RefetchOn = policy.Closed, policy.SkipRound, []string{policy.CrawlStart}
	p.Robots.CrawlDelay = policy.CrawlDelay{Honour: true, AppliesTo: policy.AppliesToAll, Cap: time.Minute, OverCap: policy.OverCapSkips}
	p.Pace = policy.Pace{Per: policy.PerDomain, MinGap: time.Second, InFlight: 2, InFlightTotal: 3, OnBusy: policy.BusyBackoff, OwnHops: policy.HopsCounted}
	p.Signals = policy.SignalRules{ContentSignal: policy.ContentSignalRules{Search: policy.RefuseWord, AIInput: policy.RefuseWord, AITrain: policy.RefuseWord},
		UsagePurposes: []string{"train-ai"}, TDM: policy.RefuseWord, NoAI: policy.RefuseWord, NoIndex: policy.Discard, NoFollow: policy.Obey}
	p.Scope = policy.Scope{DocumentsOnce: true, Topics: "grants", MaxPagesPerSite: 5, Feeds: policy.PreferFeeds}
	p.Schedule.Rounds.Mon, p.Schedule.Listing, p.Schedule.Window = 5, 24*time.Hour, policy.Window{Hours: policy.Hours{From: 60, To: 120}, Zone: "UTC"}
	p.Answer = policy.Answer{ExcerptChars: 280, AttributeSource: true, PersonalData: policy.FilterPersonal}
	q := *p
	q.Pace.InFlight, q.Pace.InFlightTotal, q.Pace.OnBusy, q.Pace.Per, q.Pace.OwnHops = 1, 1, policy.BusyNextRound, policy.PerHost, policy.HopsFree
	q.Robots.On4xx, q.Robots.AuthErrors = policy.Open, policy.AuthDisallows
	q.Robots.CrawlDelay = policy.CrawlDelay{Honour: true, Cap: time.Minute}
	return []*policy.Profile{testProfile(), p, &q}
}
