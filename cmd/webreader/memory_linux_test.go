package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// A server that has nothing to do is small.
func TestServeIdleIsSmall(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, database string) {
		env := append(os.Environ(), "WEBREADER_ADDR=127.0.0.1:0", "WEBREADER_ADMIN_ADDR=127.0.0.1:0", "WEBREADER_LOG_FORMAT=json", "WEBREADER_DATABASE_URL="+database)
		for name, value := range origintest.New(t).Env() {
			env = append(env, name+"="+value)
		}
		p := startProcess(t, env)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		var kilobytes int
		if _, err := fmt.Sscanf(rest, "%d kB", &kilobytes); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d kB resident", kilobytes)
		limit := 40_000
		if raceOn {
			limit = 120_000 // shadow memory
		}
		if kilobytes > limit {
			t.Errorf("%d kB are resident in a server that does nothing", kilobytes)
		}
	})
}

func TestOnlyThePagesOfTheProgramAreReleased(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-01000000 r-xp 00000000 fe:00 123 /bin/reader":        true,
		"01000000-02000000 r--p 00c00000 fe:00 123 /bin/reader":        true,
		"02000000-02100000 rw-p 01c00000 fe:00 123 /bin/reader":        false,
		"7f0000000000-7f0000001000 r-xp 00000000 fe:00 9 /lib/libc.so": false,
		"c000000000-c000400000 rw-p 00000000 00:00 0":                  false,
	} {
		if _, _, ok := ownPages(line, "/bin/reader"); ok != want {
			t.Errorf("%s: %v", line, ok)
		}
	}
}
