package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

func TestDoctor(t *testing.T) {
	web := origintest.New(t)
	web.Page("probe.test", "/", origintest.Article("Nobody asks for it"))
	dir := t.TempDir()
	database := "sqlite:" + filepath.Join(dir, "webreader.db")
	examine := func(settings map[string]string) (int, string) {
		env := map[string]string{"WEBREADER_ADDR": "127.0.0.1:0", "WEBREADER_ADMIN_ADDR": "127.0.0.1:0", "WEBREADER_DATABASE_URL": database}
		for _, more := range []map[string]string{web.Env(), settings} {
			for name, value := range more {
				env[name] = value
			}
		}
		var out bytes.Buffer
		code := run(t.Context(), []string{"doctor", "--to", "probe.test:80"}, func(name string) string { return env[name] }, stdio{Out: &out, Err: &out})
		return code, out.String()
	}
	code, said := examine(nil)
	if code != exitOK || !strings.Contains(said, "the first start of the server makes it") || strings.Contains(said, "BAD") {
		t.Errorf("before the first start: exit %d\n%s", code, said)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("the doctor made %v %v", files, err)
	}
	firstKey(t, database)
	if code, said = examine(nil); code != exitOK || !strings.Contains(said, "its schema is up to date") || !strings.Contains(said, "probe.test:80 can be reached from here") {
		t.Errorf("a good database: exit %d\n%s", code, said)
	}
	for name, value := range map[string]string{
		"WEBREADER_LOG_LEVEL": "loud", "WEBREADER_TIMEOUT": "soon", "WEBREADER_PROFILE": "nobody", "WEBREADER_ADDR": "8080",
		"WEBREADER_DATABASE_URL": "postgres://me:hush@127.0.0.1:1/x?connect_timeout=1", "WEBREADER_EGRESS": "nl=socks5://127.0.0.1:1", "WEBREADER_ALLOW_NETWORKS": "",
	} {
		if code, said = examine(map[string]string{name: value}); code != exitError || !strings.Contains(said, "BAD") || strings.Contains(said, "hush") {
			t.Errorf("%s=%s: exit %d\n%s", name, value, code, said)
		}
		if bad := strings.Count(said, "BAD"); bad != 1 {
			t.Errorf("%s: %d things are bad\n%s", name, bad, said)
		}
	}
	code, said = examine(map[string]string{"WEBREADER_STRIPE_SECRET_KEY": "sk_test_hush", "WEBREADER_STRIPE_WEBHOOK_SECRET": "whsec_hush", "WEBREADER_STRIPE_PRICE": "price_1", "WEBREADER_STRIPE_METER_EVENT": "reads"})
	if code != exitError || strings.Count(said, "BAD") != 1 || !strings.Contains(said, "WEBREADER_PUBLIC_URL: it is not set") || strings.Contains(said, "hush") {
		t.Errorf("money without an address: exit %d\n%s", code, said)
	}
	if len(web.Requests()) != 0 {
		t.Errorf("a site was asked: %v", web.URLs())
	}
}
