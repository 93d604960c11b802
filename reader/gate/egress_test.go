package gate_test

import (
	"slices"
	"testing"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/reader/gate"
)

func TestW14ACountrysRequestsLeaveByItsExitWithTheSameUserAgent(t *testing.T) {
	nl, hu := origintest.NewProxy(t), origintest.NewProxy(t)
	w := newWorld(t, "webreaderapi")
	env := w.web.Env()
	env[netguard.EnvEgress] = "nl=" + nl.SOCKS() + ",hu=" + hu.HTTP()
	cfg, err := netguard.FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	if w.cfg.Dialer, err = netguard.New(cfg); err != nil {
		t.Fatal(err)
	}
	w.rebuild(t)
	w.web.Handle("*", "/", origintest.Body("text/html", origintest.Article("x")))
	ask := func(url, country string) gate.Ask {
		a := w.ask(t, url)
		a.Country = country
		return a
	}
	for url, exit := range map[string]struct {
		country string
		proxy   *origintest.Proxy
	}{"https://a.test/x": {"nl", nl}, "http://b.test/x": {"hu", hu}, "https://c.test/x": {"hu", hu}} {
		before := len(exit.proxy.Asked())
		if _, _, err := w.get(t, ask(url, exit.country)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if asked := exit.proxy.Asked()[before:]; !slices.Equal(asked, []string{w.web.Addr(), w.web.Addr()}) {
			t.Errorf("%s: the exit was asked for %v", url, asked)
		}
	}
	for _, r := range w.web.Requests() {
		if r.Header.Get("User-Agent") != w.profile.UserAgent() {
			t.Errorf("%s came with %q", r.URL(), r.Header.Get("User-Agent"))
		}
	}
	if rows := w.log.all(); rows[0].Egress == "" || rows[0].Remote != "127.0.0.1" {
		t.Errorf("%+v", rows[0])
	}
	// No exit, a refused address, an exit that is down: nothing leaves from elsewhere.
	w.web.Reset()
	before := len(nl.Asked())
	_, _, err = w.get(t, ask("http://d.test/x", "de"))
	wantFault(t, err, fault.InvalidRequest, "", 0)
	_, _, err = w.get(t, ask("http://10.0.0.1/x", "nl"))
	wantFault(t, err, fault.AddressNotAllowed, "", 0)
	if len(nl.Asked()) != before {
		t.Errorf("the exit was asked for %v", nl.Asked()[before:])
	}
	hu.Close()
	_, _, err = w.get(t, ask("http://e.test/x", "hu"))
	wantFault(t, err, fault.TargetUnreachable, "", 0)
	if _, held, _ := w.robots.Robots(t.Context(), "http://e.test"); held || len(w.web.Requests()) != 0 {
		t.Errorf("a broken exit is held against the site, or %v was requested", w.web.URLs())
	}
}
