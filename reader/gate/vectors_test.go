package gate_test

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

type vector struct {
	ID, Kind, Profile, Token, URL, Note string
	Steps                               []step
	Cache                               *struct {
		AgeS      int    `json:"age_s"`
		RobotsTxt string `json:"robots_txt"`
		ETag      string
	}
	Robots    map[string]string
	Redirects []string
	Expect    struct {
		Effect, Code   string
		Allowed        bool
		TTLMaxS        int      `json:"ttl_max_s"`
		Requests       *int     `json:"requests"`
		RobotsURL      string   `json:"robots_url"`
		StoppedBefore  string   `json:"stopped_before"`
		PagesRequested []string `json:"pages_requested"`
	}
}

type step struct {
	URL     string
	Status  int
	Headers map[string]string
	Body    string
	BodyB64 string `json:"body_b64"`
	Spec    *struct {
		Text       string
		ThenRepeat string `json:"then_repeat"`
		TotalBytes int    `json:"total_bytes"`
		End        string
		PadWith    string `json:"pad_with"`
		PadToBytes int    `json:"pad_to_bytes"`
		Then       string
	} `json:"body_spec"`
	Encode, Error string
}

func (s step) body(t *testing.T) string {
	if s.BodyB64 != "" {
		b, err := base64.StdEncoding.DecodeString(s.BodyB64)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if s.Spec == nil {
		return s.Body
	}
	text := s.Spec.Text
	if n := len(s.Spec.ThenRepeat); n > 0 {
		text += strings.Repeat(s.Spec.ThenRepeat, (s.Spec.TotalBytes-len(text)-len(s.Spec.End))/n)
	}
	if n := len(s.Spec.PadWith); n > 0 {
		text += strings.Repeat(s.Spec.PadWith, (s.Spec.PadToBytes-len(text))/n)
	}
	return text + s.Spec.Then + s.Spec.End
}

// handler answers as the step says.
func (s step) handler(t *testing.T) http.Handler {
	body := s.body(t)
	switch s.Error {
	case "timeout":
		return origintest.Hang()
	case "connection_reset":
		return origintest.Reset()
	case "truncated_body":
		return origintest.Truncated("text/plain", body)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		for name, value := range s.Headers {
			w.Header().Set(name, value)
		}
		var to io.Writer = w
		if s.Encode == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			to = z
		}
		w.WriteHeader(max(s.Status, 200))
		_, _ = io.WriteString(to, body)
	})
}

func TestVectorsOfRobotsFetching(t *testing.T) {
	text, err := os.ReadFile("testdata/robots-fetch.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) < 35 {
		t.Fatalf("%d vectors: %v", len(vectors), err)
	}
	for _, v := range vectors {
		t.Run(v.ID+" "+v.Note, func(t *testing.T) {
			t.Parallel()
			switch v.Kind {
			case "robots-url":
				if got := target(t, v.URL).Robots().String(); got != v.Expect.RobotsURL {
					t.Errorf("%s, want %s", got, v.Expect.RobotsURL)
				}
			case "robots-fetch":
				testRobotsVector(t, v)
			case "gate":
				testGateVector(t, v)
			default:
				t.Errorf("unknown kind %s", v.Kind)
			}
		})
	}
}

func vectorWorld(t *testing.T, v vector) *world {
	name := v.Profile
	if name == "" || name == "reader" {
		name = "webreaderapi"
	}
	w := newWorld(t, name, func(c *gate.Config) { c.FirstByteTimeout = time.Second })
	own := *w.profile
	own.Identity.Token = v.Token
	w.profile = &own
	return w
}

func testRobotsVector(t *testing.T, v vector) {
	w := vectorWorld(t, v)
	unresolved := false
	for _, s := range v.Steps {
		at := target(t, s.URL)
		switch s.Error {
		case "dns":
			unresolved = true
		case "tls":
			w.cfg.RootCAs = nil
		}
		w.web.Handle(at.Host(), at.Path(), s.handler(t))
	}
	if unresolved {
		// Nothing listens there: the name has no address.
		d, err := netguard.New(netguard.Config{DNS: silentResolver(t), ResolveTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Dialer = d
	}
	w.rebuild(t)
	page := target(t, v.URL)
	w.web.Handle(page.Host(), "/", origintest.Body("text/html", origintest.Article("page")))
	if v.Cache != nil {
		at := w.clock.Now().Add(-time.Duration(v.Cache.AgeS) * time.Second)
		_ = w.robots.PutRobots(t.Context(), gate.RobotsCopy{
			Authority: page.Authority(), URL: page.Robots().String(), State: gate.RobotsFound, Status: 200,
			Body: []byte(v.Cache.RobotsTxt), ETag: v.Cache.ETag, FetchedAt: at, ExpiresAt: at.Add(policy.LongestRobots),
		})
	}
	_, verdict, err := w.get(t, w.ask(t, v.URL))
	if verdict.Allowed() != v.Expect.Allowed || (err == nil) != v.Expect.Allowed {
		t.Errorf("allowed is %v, want %v (%v, %+v)", verdict.Allowed(), v.Expect.Allowed, err, verdict.Grounds)
	}
	wantEffect(t, v, verdict, err)
	asked := len(w.web.Requests()) - len(w.web.Pages())
	if n := v.Expect.Requests; n != nil && asked != *n {
		t.Errorf("%d requests for robots.txt, want %d", asked, *n)
	}
	if pages := w.web.Count(page.Host(), page.PathQuery()); pages > 0 != v.Expect.Allowed {
		t.Errorf("the page was requested %d times", pages)
	}
	if v.Expect.TTLMaxS > 0 {
		c, _, _ := w.robots.Robots(t.Context(), page.Authority())
		if ttl := c.ExpiresAt.Sub(c.FetchedAt); ttl <= 0 || ttl > time.Duration(v.Expect.TTLMaxS)*time.Second {
			t.Errorf("the copy lives %v, want at most %d s", ttl, v.Expect.TTLMaxS)
		}
	}
}

func wantEffect(t *testing.T, v vector, verdict policy.Verdict, err error) {
	t.Helper()
	reason := ""
	switch {
	case v.Expect.Effect == "unreachable", v.Expect.Effect == "skip_host_this_round":
		reason = policy.ReasonUnreachable
	case !v.Expect.Allowed:
		reason = policy.ReasonDisallow
	}
	if got := fault.As(err); err != nil && (got.Kind != fault.BlockedBySitePolicy || got.Reason != reason) {
		t.Errorf("effect %s: the error is %v, want reason %q", v.Expect.Effect, err, reason)
	}
	if v.Expect.Effect == "parse" && v.Expect.Allowed && verdict.Grounds[0].Group == "" {
		t.Errorf("allowed without a look into the file: %+v", verdict.Grounds)
	}
}

func testGateVector(t *testing.T, v vector) {
	w := vectorWorld(t, v)
	for authority, text := range v.Robots {
		w.web.Robots(target(t, authority).Host(), text)
	}
	from := target(t, v.URL)
	for _, to := range v.Redirects {
		w.web.Redirect(from.Host(), from.Path(), http.StatusFound, to)
		from = target(t, to)
	}
	w.web.Page(from.Host(), from.Path(), origintest.Article("end"))
	_, verdict, err := w.get(t, w.ask(t, v.URL))
	if fault.Of(err).String() != v.Expect.Code || verdict.Target.String() != v.Expect.StoppedBefore {
		t.Errorf("%v, stopped before %s, want %s", err, verdict.Target, v.Expect.StoppedBefore)
	}
	if pages := w.web.Pages(); !slices.Equal(pages, v.Expect.PagesRequested) {
		t.Errorf("pages requested: %v, want %v", pages, v.Expect.PagesRequested)
	}
}
