package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// terminal is a pseudo-terminal: what a program prints on screen can be read from the other end.
func terminal(t *testing.T) (reads, screen *os.File) {
	t.Helper()
	reads, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reads.Close() })
	if err := unix.IoctlSetPointerInt(int(reads.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(reads.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return reads, screen
}

var printedCurl = regexp.MustCompile(`curl '([^']+)' -H 'Accept: ([^']+)' -H 'Authorization: ([^']+)'`)

// From an empty folder: the first start on a terminal prints a curl line, and the line gets Markdown.
func TestServeFirstStartOnATerminal(t *testing.T) {
	web := origintest.New(t)
	web.Page("example.com", "/", origintest.Article("An example for newcomers"))
	onEachDatabase(t, func(t *testing.T, database string) {
		printed := startOnTerminal(t, web, database)
		curl := printedCurl.FindStringSubmatch(printed)
		if curl == nil {
			t.Fatalf("no curl line: %s", printed)
		}
		runCurl(t, curl[1], curl[2], curl[3])
	})
}

// startOnTerminal starts the program, stops it when the test ends, and answers what stands on the
// terminal when it serves.
func startOnTerminal(t *testing.T, web *origintest.Web, database string) string {
	t.Helper()
	reads, screen := terminal(t)
	cmd := exec.CommandContext(t.Context(), "webreader", "serve")
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), screen, screen
	cmd.Env = append(os.Environ(), "WEBREADER_ADDR=127.0.0.1:0", "WEBREADER_ADMIN_ADDR=127.0.0.1:0", "WEBREADER_DATABASE_URL="+database)
	for name, value := range web.Env() {
		cmd.Env = append(cmd.Env, name+"="+strings.Replace(value, "*.test=", "*=", 1)) // example.com is there too
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var printed strings.Builder
	for lines := bufio.NewScanner(reads); lines.Scan(); {
		fmt.Fprintln(&printed, lines.Text())
		if strings.Contains(lines.Text(), "msg=serving") {
			break
		}
	}
	return printed.String()
}

func runCurl(t *testing.T, address, accept, authorization string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Authorization", authorization)
	req.Close = true
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "An example for newcomers") {
		t.Errorf("the printed line got %d %s %v", answer.StatusCode, text, err)
	}
}
