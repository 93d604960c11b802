package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

var binary struct {
	once sync.Once
	dir  string
	path string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.dir != "" {
		_ = os.RemoveAll(binary.dir)
	}
	os.Exit(code)
}

// webreader is the real binary, built once.
func webreader(t *testing.T) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "conformance"); binary.err != nil {
			return
		}
		binary.path = filepath.Join(binary.dir, "webreader")
		out, err := exec.Command("go", "build", "-o", binary.path, "../../cmd/webreader").CombinedOutput()
		if err != nil {
			binary.err = fmt.Errorf("build the binary: %w\n%s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return binary.path
}

// site is a web and the binary that reads it as one profile.
type site struct {
	*origintest.Web
	t   *testing.T
	env []string
}

// newSite is a web to be read under a profile; settings are NAME=value.
func newSite(t *testing.T, profile string, settings ...string) *site {
	t.Helper()
	s := &site{Web: origintest.New(t), t: t}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "WEBREADER_PROFILE=" + profile}
	for name, value := range s.Env() {
		s.env = append(s.env, name+"="+value)
	}
	s.env = append(s.env, settings...)
	return s
}

// answer is what the customer received: a page or a problem, as the API shows it.
type answer struct {
	Exit   int
	Stdout string
	Stderr string

	Title        string
	Markdown     string
	Code         string
	Reason       string
	Detail       string
	TargetStatus int `json:"target_status"`
	Decision     *decision
	Charge       *struct {
		Units   int
		Receipt string
	}
}

type decision struct {
	Allowed   bool
	By        string
	RobotsURL string `json:"robots_url"`
	Group     string
	Line      int
	Rule      string
}

// run runs the binary to its end.
func (s *site) run(args ...string) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, webreader(s.t), args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = s.env, &stdout, &stderr, s.t.TempDir()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return answer{Exit: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// read reads one page as the API would answer it.
func (s *site) read(url string) answer {
	s.t.Helper()
	a := s.run("read", "--json", url)
	if err := json.Unmarshal([]byte(a.Stdout), &a); err != nil {
		s.t.Fatalf("read %s: exit %d, no JSON on stdout: %v\n%s%s", url, a.Exit, err, a.Stdout, a.Stderr)
	}
	return a
}

// ask asks for the decision alone.
func (s *site) ask(url string) (int, decision) {
	s.t.Helper()
	a := s.run("policy", "--json", url)
	var d decision
	if err := json.Unmarshal([]byte(a.Stdout), &d); err != nil {
		s.t.Fatalf("policy %s: exit %d, no JSON on stdout: %v\n%s%s", url, a.Exit, err, a.Stdout, a.Stderr)
	}
	return a.Exit, d
}

// wasRead fails the test unless a is a page.
func (s *site) wasRead(a answer) {
	s.t.Helper()
	if a.Exit != 0 || a.Markdown == "" {
		s.t.Errorf("exit %d, code %q, %s: want a page", a.Exit, a.Code, oneLine(a.Detail+a.Stderr))
	}
}

// wasNot fails the test unless a is a problem of that code and reason, and cost nothing.
func (s *site) wasNot(a answer, code, reason string) {
	s.t.Helper()
	if a.Exit != 3 || a.Code != code || a.Reason != reason {
		s.t.Errorf("exit %d, code %q, reason %q: want 3, %q, %q", a.Exit, a.Code, a.Reason, code, reason)
	}
	if a.Markdown != "" {
		s.t.Error("a refused page was handed over")
	}
	if a.Charge == nil || a.Charge.Units != 0 || a.Charge.Receipt != "" {
		s.t.Errorf("charge is %+v, want 0 units and no receipt", a.Charge)
	}
}

// saw fails the test unless host saw just these requests, in this order.
func (s *site) saw(host string, want ...string) {
	s.t.Helper()
	if got := s.Log(host); strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("%s saw %q, want %q", host, got, want)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
