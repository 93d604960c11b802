package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// badSettings are values that no setting takes, and what the refusal must show: the form that is right.
var badSettings = []struct{ name, value, shows string }{
	{"WEBREADER_ADDR", "8080", ":8080"}, {"WEBREADER_ADDR", ":99999", "127.0.0.1:8081"},
	{"WEBREADER_ADMIN_ADDR", "local", "127.0.0.1:9090"},
	{"WEBREADER_PUBLIC_URL", "reader.example", "https://reader.example"}, {"WEBREADER_PUBLIC_URL", "https://reader.example/?a=b", "https://reader.example"},
	{"WEBREADER_TRUSTED_PROXIES", "10.0.0.1", "10.0.0.0/8"},
	{"WEBREADER_BOT_IPS", "10.0.0.0/8", "2026-12-01=192.0.2.0/24"}, {"WEBREADER_BOT_IPS", "2026-12-01=10.0.0.1", "10.0.0.0/8"},
	{"WEBREADER_FETCH_LOG_RETENTION", "30", "30s"}, {"WEBREADER_FETCH_LOG_RETENTION", "0s", "30s"},
	{"WEBREADER_LOG_FORMAT", "xml", "text or json"}, {"WEBREADER_LOG_LEVEL", "loud", "debug, info, warn or error"},
	{"WEBREADER_DATABASE_URL", "mysql://a", "postgres://"}, {"WEBREADER_DATABASE_URL", "postgres://127.0.0.1:1/x?connect_timeout=1", "the URL"},
	{"WEBREADER_PLANS", "/nope", "plans.yaml"}, {"WEBREADER_PLANS", "EMPTY", "plans"},
	{"WEBREADER_PROFILE", "nobody", "webreaderapi"},
	{"WEBREADER_ALLOW_NETWORKS", "home", "127.0.0.0/8"}, {"WEBREADER_RESOLVE", "a", "shop.example=10.0.0.5"}, {"WEBREADER_DNS", "dns", "9.9.9.9:53"},
	{"WEBREADER_EGRESS", "nl", "nl=socks5://"}, {"WEBREADER_EGRESS", "nl=ftp://10.0.0.1", "socks5://"},
	{"WEBREADER_MAX_BODY", "many", "20MB"}, {"WEBREADER_MAX_BODY", "-1MB", "20MB"},
	{"WEBREADER_TIMEOUT", "soon", "30s"}, {"WEBREADER_TIMEOUT", "30", "30s"}, {"WEBREADER_TIMEOUT", "-1s", "30s"},
	{"WEBREADER_RESULT_TTL", "zz", "24h"}, {"WEBREADER_RESULT_TTL", "0", "24h"},
	{"WEBREADER_NO_WORKERS", "maybe", "true"},
	{"WEBREADER_SIGNING_KEY", "/nope", "unset it"},
	{"WEBREADER_STRIPE_SECRET_KEY", "hush", "sk_test_"}, {"WEBREADER_STRIPE_WEBHOOK_SECRET", "hush", "whsec_"}, {"WEBREADER_STRIPE_WEBHOOK_SECRET", "", "whsec_"},
	{"WEBREADER_STRIPE_PRICE", "10", "price_"}, {"WEBREADER_STRIPE_PRICE", "", "price_"}, {"WEBREADER_STRIPE_METER_EVENT", "", "pages_read"},
	{"WEBREADER_STRIPE_API_BASE", "http://api.example", "https://api.stripe.com"},
}

// badStart is the environment of a server that would start but for one setting.
func badStart(t *testing.T, name, value string) map[string]string {
	t.Helper()
	env := map[string]string{
		"WEBREADER_ADDR": "127.0.0.1:0", "WEBREADER_ADMIN_ADDR": "127.0.0.1:0", "WEBREADER_DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "a.db"),
		"WEBREADER_ALLOW_NETWORKS": "127.0.0.0/8", // whose warning must not come between
		"WEBREADER_PUBLIC_URL":     "https://reader.example",
	}
	if strings.HasPrefix(name, "WEBREADER_STRIPE_") {
		env["WEBREADER_STRIPE_SECRET_KEY"], env["WEBREADER_STRIPE_WEBHOOK_SECRET"] = "sk_test_hush", "whsec_hush"
		env["WEBREADER_STRIPE_PRICE"], env["WEBREADER_STRIPE_METER_EVENT"] = "price_1", "pages_read"
		delete(env, "WEBREADER_ALLOW_NETWORKS") // which is refused where money is
	}
	if env[name] = value; value == "EMPTY" {
		env[name] = filepath.Join(t.TempDir(), "empty")
		if err := os.WriteFile(env[name], nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

// A bad setting ends the start with one line: the variable, the problem, what is right.
func TestServeBadSettings(t *testing.T) {
	for _, bad := range badSettings {
		env := badStart(t, bad.name, bad.value)
		var out, problem bytes.Buffer
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second) // ends a server that did start
		code := run(ctx, []string{"serve"}, func(name string) string { return env[name] }, stdio{Out: &out, Err: &problem})
		stop()
		said := problem.String()
		t.Log(said)
		if code != exitUsage || !strings.HasPrefix(said, "webreader: "+bad.name+":") || strings.Count(said, "\n") != 1 || !strings.Contains(said, bad.shows) || strings.Contains(said, "hush") {
			t.Errorf("%s=%s: exit %d, %q; want %q in it", bad.name, bad.value, code, said, bad.shows)
		}
	}
}

// The doctor finds each of them too.
func TestDoctorFindsBadSettings(t *testing.T) {
	for _, bad := range badSettings {
		if bad.value == ":99999" {
			continue // it cannot know why an address is not free now: a server may run
		}
		env := badStart(t, bad.name, bad.value)
		var out bytes.Buffer
		code := run(t.Context(), []string{"doctor", "--to", "127.0.0.1:1"}, func(name string) string { return env[name] }, stdio{Out: &out, Err: &out})
		if said := out.String(); code != exitError || !strings.Contains(said, bad.name) || strings.Contains(said, "hush") {
			t.Errorf("%s=%s: exit %d\n%s", bad.name, bad.value, code, said)
		}
	}
}

// Each setting that serve has is among those above.
func TestEverySettingIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, bad := range badSettings {
		tried[bad.name] = true
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[serveCmd]()) {
		if name := field.Tag.Get("setting"); name != "" && !tried[name] {
			t.Errorf("no bad value of %s is tried", name)
		}
	}
}
