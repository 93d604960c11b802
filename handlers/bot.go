package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/policy"
)

// words are the sentences of one language by their name. They say nothing by themselves: which of
// them are shown, and the values in them, comes from the running profile.
type words map[string]string

// say is the sentence with its values; a name without a sentence shows itself, which a test forbids.
func (w words) say(name string, values ...any) string {
	text, ok := w[name]
	if !ok {
		return name
	}
	if len(values) == 0 {
		return text
	}
	for i, v := range values {
		if d, ok := v.(time.Duration); ok {
			values[i] = plainDuration(d)
		}
	}
	return fmt.Sprintf(text, values...)
}

// plainDuration is "24 h", "5 s" or "1 h 30 min", the same in all our languages.
func plainDuration(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / unit.size; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
			d -= n * unit.size
		}
	}
	if len(parts) == 0 {
		return d.String()
	}
	return strings.Join(parts, " ")
}

func loadWords() (map[string]words, error) {
	files, err := web.ReadDir("web/bot")
	if err != nil {
		return nil, fmt.Errorf("bot page: %w", err)
	}
	all := map[string]words{}
	for _, f := range files {
		text, err := web.ReadFile(path.Join("web/bot", f.Name()))
		if err != nil {
			return nil, fmt.Errorf("bot page: %w", err)
		}
		var w words
		if err := yaml.Unmarshal(text, &w); err != nil {
			return nil, fmt.Errorf("bot page: %s: %w", f.Name(), err)
		}
		all[strings.TrimSuffix(f.Name(), ".yaml")] = w
	}
	return all, nil
}

// botSection is a heading with what is true under it.
type botSection struct {
	Title  string
	Facts  []string
	Blocks []botBlock
}

// botBlock is a piece of robots.txt to copy.
type botBlock struct{ Title, Text string }

func (s *Server) showBot(c echo.Context) error {
	lang := s.language(c.QueryParam("lang"), c.Request().Header.Get("Accept-Language"))
	w := s.pages.bot[lang]
	return s.page(c, "bot", struct {
		frame
		Token     string
		Languages []string
		Words     words
		Sections  []botSection
	}{frame{w.say("title", s.profile.Token()), lang}, s.profile.Token(), s.languages(), w, s.botSections(w)})
}

// languages are those of the profile for which there are sentences; all others follow.
func (s *Server) languages() []string {
	var list []string
	for _, l := range append(slices.Clone(s.profile.Texts.Languages), "en", "nl", "hu") {
		if s.pages.bot[l] != nil && !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

// language is what the visitor asked for by ?lang= or Accept-Language; else the profile's first.
func (s *Server) language(asked, accepted string) string {
	if s.pages.bot[asked] != nil {
		return asked
	}
	best, quality := s.languages()[0], 0.0
	for _, part := range strings.SplitN(accepted, ",", 20) {
		tag, q := languageRange(part)
		if s.pages.bot[tag] != nil && q > quality {
			best, quality = tag, q
		}
	}
	return best
}

// languageRange is the primary language and the weight of one part of Accept-Language.
func languageRange(part string) (string, float64) {
	tag, weight, weighted := strings.Cut(strings.TrimSpace(part), ";")
	primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	q := 1.0
	if weighted {
		if _, err := fmt.Sscanf(strings.TrimSpace(weight), "q=%f", &q); err != nil {
			q = 0
		}
	}
	return primary, q
}

func (s *Server) botSections(w words) []botSection {
	p := s.profile
	return []botSection{
		{Title: w.say("section_who"), Facts: whoFacts(w, p)},
		{Title: w.say("section_pace"), Facts: paceFacts(w, p)},
		{Title: w.say("section_honoured"), Facts: append(robotsFacts(w, p), signalFacts(w, p)...)},
		{Title: w.say("section_never"), Facts: []string{w.say("never_login"), w.say("never_disguise")}},
		{Title: w.say("section_use"), Facts: useFacts(w, p)},
		{Title: w.say("section_block"), Facts: blockFacts(w, p), Blocks: robotsBlocks(w, p)},
		{Title: w.say("section_contact"), Facts: contactFacts(w, p)},
		{Title: w.say("section_not_yet"), Facts: s.openFacts(w)},
	}
}

// visitsByRounds is true for a profile that watches pages by a schedule.
func visitsByRounds(p *policy.Profile) bool {
	return p.Schedule.Rounds != (policy.Rounds{}) || p.Schedule.Cron != "" || p.Schedule.Window != (policy.Window{}) || p.Schedule.Listing > 0
}

func whoFacts(w words, p *policy.Profile) []string {
	facts := []string{w.say("who_asked")}
	if visitsByRounds(p) {
		facts = []string{w.say("who_rounds")}
	}
	facts = append(facts, w.say("user_agent", p.UserAgent()), w.say("token", p.Token()))
	if p.Identity.InfoURL != "" {
		facts = append(facts, w.say("info", p.Identity.InfoURL))
	}
	return facts
}

func paceFacts(w words, p *policy.Profile) []string {
	var facts []string
	if p.Pace.MinGap > 0 {
		facts = append(facts, w.say("gap_"+p.Pace.Per, p.Pace.MinGap), w.say("hops_"+p.Pace.OwnHops))
	}
	facts = append(facts, counted(w, "one_at_a_time", "several_at_a_time", p.Pace.InFlight)...)
	facts = append(facts, counted(w, "one_in_total", "several_in_total", p.Pace.InFlightTotal)...)
	facts = append(facts, w.say("busy_"+p.Pace.OnBusy))
	if r := p.Schedule.Rounds; r != (policy.Rounds{}) {
		facts = append(facts, w.say("rounds", r.Mon, r.Tue, r.Wed, r.Thu, r.Fri, r.Sat, r.Sun, p.Schedule.TimeZone))
	}
	if v := p.Schedule.Window; v != (policy.Window{}) {
		facts = append(facts, w.say("window", hours(v.Hours), v.Zone))
	}
	if p.Schedule.Listing > 0 {
		facts = append(facts, w.say("listing", p.Schedule.Listing))
	}
	if p.Scope.MaxPagesPerSite > 0 {
		facts = append(facts, w.say("max_pages", p.Scope.MaxPagesPerSite))
	}
	return append(facts, chosen(w, []choice{
		{p.Scope.DocumentsOnce, "documents_once"}, {p.Scope.Feeds == policy.PreferFeeds, "feeds"}, {p.Scope.Topics != "", "topics"},
	})...)
}

func counted(w words, one, several string, n int) []string {
	switch {
	case n == 1:
		return []string{w.say(one)}
	case n > 1:
		return []string{w.say(several, n)}
	}
	return nil
}

func hours(h policy.Hours) string {
	return fmt.Sprintf("%02d:%02d–%02d:%02d", h.From/60, h.From%60, h.To/60, h.To%60)
}

type choice struct {
	holds bool
	name  string
}

func chosen(w words, choices []choice) []string {
	var facts []string
	for _, c := range choices {
		if c.holds {
			facts = append(facts, w.say(c.name))
		}
	}
	return facts
}

func robotsFacts(w words, p *policy.Profile) []string {
	r := p.Robots
	facts := []string{w.say("robots_before", r.MaxAge)}
	facts = append(facts, chosen(w, []choice{
		{slices.Contains(r.RefetchOn, policy.CrawlStart), "robots_each_crawl"},
		{true, "robots_group"},
		{r.On4xx == policy.Open, "robots_4xx_open"}, {r.On4xx != policy.Open, "robots_4xx_closed"},
		{r.On4xx == policy.Open && r.AuthErrors == policy.AuthDisallows, "robots_auth_closed"},
		{true, "robots_5xx_" + r.On5xx},
		{r.CrawlDelay.Honour && r.CrawlDelay.AppliesTo != policy.AppliesToAll, "crawl_delay"},
		{r.CrawlDelay.Honour && r.CrawlDelay.AppliesTo == policy.AppliesToAll, "crawl_delay_all"},
	})...)
	switch limit := r.CrawlDelay.Cap; {
	case !r.CrawlDelay.Honour || limit == 0:
	case r.CrawlDelay.OverCap == policy.OverCapSkips:
		facts = append(facts, w.say("crawl_delay_skip", limit))
	default:
		facts = append(facts, w.say("crawl_delay_cap", limit, limit))
	}
	return facts
}

func signalFacts(w words, p *policy.Profile) []string {
	s := p.Signals
	facts := chosen(w, []choice{
		{s.ContentSignal.AIInput == policy.RefuseWord, "ai_input"},
		{s.ContentSignal.AITrain == policy.RefuseWord, "ai_train"},
		{s.ContentSignal.Search == policy.RefuseWord, "search"},
		{s.TDM == policy.RefuseWord, "tdm"}, {s.NoAI == policy.RefuseWord, "noai"},
		{s.NoIndex == policy.Discard, "noindex"}, {s.NoFollow == policy.Obey, "nofollow"},
	})
	if len(s.UsagePurposes) > 0 {
		facts = append(facts, w.say("usage", strings.Join(s.UsagePurposes, ", ")))
	}
	return facts
}

func useFacts(w words, p *policy.Profile) []string {
	if !visitsByRounds(p) {
		return []string{w.say("use_markdown")}
	}
	var facts []string
	if p.Answer.ExcerptChars > 0 {
		facts = append(facts, w.say("use_excerpt", p.Answer.ExcerptChars))
	}
	return append(facts, chosen(w, []choice{
		{p.Answer.AttributeSource, "use_source"}, {p.Answer.PersonalData == policy.FilterPersonal, "use_personal"},
	})...)
}

func blockFacts(w words, p *policy.Profile) []string {
	facts := []string{w.say("block_how")}
	if p.Identity.Contact != "" {
		facts = append(facts, w.say("block_mail"))
	}
	return facts
}

func robotsBlocks(w words, p *policy.Profile) []botBlock {
	group := "User-agent: " + p.Token() + "\n"
	blocks := []botBlock{{w.say("block_all"), group + "Disallow: /"}, {w.say("block_folder"), group + "Disallow: /folder/"}}
	if p.Robots.CrawlDelay.Honour {
		blocks = append(blocks, botBlock{w.say("block_delay"), group + "Crawl-delay: 10"})
	}
	if p.Signals.ContentSignal.AIInput == policy.RefuseWord {
		blocks = append(blocks, botBlock{w.say("block_signal"), "User-agent: *\nContent-Signal: ai-input=no"})
	}
	return blocks
}

func contactFacts(w words, p *policy.Profile) []string {
	if p.Identity.Contact == "" {
		return []string{w.say("contact_missing"), w.say("genuine")}
	}
	return []string{w.say("contact", p.Identity.Contact), w.say("genuine")}
}

// openFacts are what the running service does not promise.
func (s *Server) openFacts(w words) []string {
	addresses := w.say("no_addresses")
	if len(s.config.BotAddresses) > 0 {
		addresses = w.say("addresses", "/bot/ips.json")
	}
	return []string{addresses, w.say("no_signature")}
}

// botAddresses is /bot/ips.json.
type botAddresses struct {
	CreationTime time.Time           `json:"creationTime"`
	Prefixes     []map[string]string `json:"prefixes"`
}

// VisitGetBotAddressesResponse writes the addresses.
func (a botAddresses) VisitGetBotAddressesResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, a)
}

// GetBotAddresses is GET /bot/ips.json.
func (a api) GetBotAddresses(context.Context, openapi.GetBotAddressesRequestObject) (openapi.GetBotAddressesResponseObject, error) {
	if len(a.config.BotAddresses) == 0 {
		return nil, fault.New(fault.NotFound, "No addresses are fixed yet. Tell the bot by its user agent and by how it treats robots.txt.")
	}
	answer := botAddresses{CreationTime: a.config.BotSince}
	for _, p := range a.config.BotAddresses {
		answer.Prefixes = append(answer.Prefixes, map[string]string{prefixName(p): p.String()})
	}
	return answer, nil
}

func prefixName(p netip.Prefix) string {
	if p.Addr().Is4() {
		return "ipv4Prefix"
	}
	return "ipv6Prefix"
}

// checkAnswer is a decision for a site operator: JSON, or a page for a browser.
type checkAnswer struct {
	policyAnswer
	server *Server
	html   bool
	words  words
	lang   string
}

// CheckAsSite is GET /bot/check.
func (a api) CheckAsSite(ctx context.Context, r openapi.CheckAsSiteRequestObject) (openapi.CheckAsSiteResponseObject, error) {
	answer, err := a.decide(ctx, r.Params.Url, "")
	if err != nil {
		return nil, err
	}
	asked := ""
	if r.Params.Lang != nil {
		asked = string(*r.Params.Lang)
	}
	lang := a.language(asked, callOf(ctx).languages)
	return checkAnswer{
		policyAnswer: answer, server: a.Server, words: a.pages.bot[lang], lang: lang,
		html: choose(callOf(ctx).accept, mediaJSON, "text/html") == "text/html",
	}, nil
}

// VisitCheckAsSiteResponse writes the decision.
func (a checkAnswer) VisitCheckAsSiteResponse(w http.ResponseWriter) error {
	if !a.html {
		return sendJSON(w, http.StatusOK, a.policyAnswer)
	}
	title := a.words.say("check_no")
	if a.Allowed {
		title = a.words.say("check_yes")
	}
	body, err := a.server.fill("check", struct {
		frame
		Answer policyAnswer
		Words  words
	}{frame{title, a.lang}, a.policyAnswer, a.words})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", contentPolicy)
	return send(w, http.StatusOK, body)
}
