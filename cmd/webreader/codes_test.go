package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// runs is the program run in this process.
func runs(t *testing.T, env func(string) string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, env, stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
	return code, out.String(), errs.String()
}

func TestExitCodesAreTheContracts(t *testing.T) {
	web := origintest.New(t)
	site(web, "codes.test")
	w := func(path string) string { return "http://codes.test" + path }
	for _, c := range []struct {
		want int
		args []string
	}{
		{0, []string{"read", w("/mill")}},
		{0, []string{"read", w("/lost")}},
		{0, []string{"policy", w("/mill")}},
		{0, []string{"version"}},
		{0, []string{"--help"}},
		{2, []string{"read"}},
		{2, []string{"nothing"}},
		{2, []string{"read", "ftp://codes.test/"}},
		{2, []string{"read", "--json", "nonsense"}},
		{2, []string{"read", "--links", "x", w("/mill")}},
		{2, []string{"read", "--timeout", "x", w("/mill")}},
		{2, []string{"convert", "no-such-file.html"}},
		{2, []string{"profile", "check", "nobody"}},
		{3, []string{"read", w("/private/mill")}},
		{3, []string{"read", w("/into")}},
		{3, []string{"read", w("/signal")}},
		{3, []string{"read", w("/challenge")}},
		{3, []string{"read", "--json", w("/login")}},
		{3, []string{"read", w("/paywall")}},
		{3, []string{"read", w("/busy")}},
		{3, []string{"read", "http://192.168.0.1/"}},
		{3, []string{"policy", w("/private/mill")}},
		{4, []string{"read", w("/nowhere")}},
		{4, []string{"read", w("/gone")}},
		{4, []string{"read", w("/broken")}},
		{4, []string{"read", w("/teapot")}},
		{4, []string{"read", w("/loop")}},
		{4, []string{"read", w("/reset")}},
		{4, []string{"read", "--timeout-ms", "500", w("/hang")}},
		{4, []string{"read", w("/tags")}},
		{4, []string{"read", w("/image")}},
		{4, []string{"read", w("/empty")}},
	} {
		code, _, stderr := runs(t, web.Getenv, c.args...)
		if code != c.want {
			t.Errorf("%v ends with %d, want %d: %s", c.args, code, c.want, stderr)
		}
		if lines := strings.Count(stderr, "\n"); code != 0 && (lines > 1 || lines == 0 && c.args[0] != "policy") {
			t.Errorf("%v says %d lines: %q", c.args, lines, stderr)
		}
	}
}

func TestEveryKindHasAnExitCode(t *testing.T) {
	want := map[fault.Kind]int{
		fault.InvalidRequest: 2, fault.BlockedBySitePolicy: 3, fault.TargetRefused: 3, fault.AddressNotAllowed: 3, fault.TargetNotFound: 4,
		fault.TargetError: 4, fault.TargetUnreachable: 4, fault.TargetTimeout: 4, fault.HostBusy: 4, fault.UnsupportedContent: 4,
		fault.TooLarge: 4, fault.NoContent: 4,
	}
	for _, k := range fault.Kinds() {
		code, known := want[k]
		if !known {
			code = exitError
		}
		if got := exitCode(errors.Join(errors.New("context"), fault.New(k, "detail"))); got != code {
			t.Errorf("%v ends with %d, want %d", k, got, code)
		}
	}
}

// brokenPipe is an output that nobody reads.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAPageThatCannotBePrintedIsAnError(t *testing.T) {
	web := origintest.New(t)
	site(web, "pipe.test")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"read", "http://pipe.test/mill"}, web.Getenv, stdio{In: strings.NewReader(""), Out: brokenPipe{}, Err: &errs})
	if code != exitError || !strings.Contains(errs.String(), "write the page") || strings.Contains(errs.String(), "1 unit") {
		t.Errorf("ends with %d: %s", code, errs.String())
	}
}

func TestAFlagGoesBeforeItsVariable(t *testing.T) {
	env := func(name string) string {
		if name == "WEBREADER_PROFILE" {
			return "nobody"
		}
		return ""
	}
	if code, _, stderr := runs(t, env, "policy", "--robots", "-", "https://site.test/"); code != exitUsage {
		t.Errorf("the variable alone: %d, %s", code, stderr)
	}
	if code, stdout, stderr := runs(t, env, "policy", "--robots", "-", "--profile", "webreaderapi", "https://site.test/"); code != exitOK || !strings.HasPrefix(stdout, "allowed") {
		t.Errorf("with the flag: %d, %q, %s", code, stdout, stderr)
	}
}
