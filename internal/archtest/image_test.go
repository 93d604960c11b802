package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The image and the machine it runs on: what an operator relies on and no compiler sees.

// step is an instruction of the Dockerfile, with the name of its stage.
type step struct{ stage, word, rest string }

func dockerfile(t *testing.T) []step {
	t.Helper()
	var steps []step
	stage := ""
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " ")
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "FROM" {
			stage = "last"
			if _, name, named := strings.Cut(rest, " AS "); named {
				stage = name
			}
		}
		steps = append(steps, step{stage, word, strings.Join(strings.Fields(rest), " ")})
	}
	return steps
}

func read(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// last is the argument of an instruction in the last stage.
func last(steps []step, word string) string {
	for _, s := range steps {
		if s.stage == "last" && s.word == word {
			return s.rest
		}
	}
	return ""
}

var secretName = regexp.MustCompile(`(?i)\b\w*(SECRET|PASSWORD|API_KEY|SIGNING_KEY)\w*\s*=`)

func TestDockerfile(t *testing.T) {
	steps := dockerfile(t)
	if user := last(steps, "USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("the image runs as %q, want a numeric user and group that are not root", user)
	}
	if entry := last(steps, "ENTRYPOINT"); !strings.HasPrefix(entry, "[") {
		t.Errorf("ENTRYPOINT %s: a shell in between swallows the signal to stop", entry)
	}
	for _, s := range steps {
		switch {
		case s.word == "ADD":
			t.Errorf("ADD %s: use COPY", s.rest)
		case s.word == "RUN" && s.stage != "build":
			t.Errorf("RUN %s: only the build stage has a shell", s.rest)
		case s.word == "FROM" && (strings.Contains(s.rest, ":latest") || strings.Contains(s.rest, "/")):
			t.Errorf("FROM %s: pin a version, name no registry", s.rest)
		case (s.word == "ENV" || s.word == "ARG") && secretName.MatchString(s.rest):
			t.Errorf("%s %s: a secret does not belong in an image", s.word, s.rest)
		}
	}
	if want := "golang:" + goVersion(t); !strings.HasPrefix(steps[0].rest, want) {
		t.Errorf("FROM %s, but go.mod wants %s", steps[0].rest, want)
	}
}

// goVersion is the language version of go.mod: "1.26".
func goVersion(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if m == nil {
		t.Fatal("go.mod names no version")
	}
	return m[1]
}

// flySettings are the lines of fly.toml as "section.key" → value.
func flySettings(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	section := ""
	for _, line := range strings.Split(read(t, "fly.toml"), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]") + "."
			continue
		}
		if key, value, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "#") {
			out[section+key] = strings.Trim(value, `"`)
		}
	}
	return out
}

func TestFlyTomlFitsTheImage(t *testing.T) {
	fly, steps := flySettings(t), dockerfile(t)
	for key, want := range map[string]string{
		"http_service.internal_port":        last(steps, "EXPOSE"),
		"mounts.destination":                last(steps, "VOLUME"),
		"env.WEBREADER_ADDR":                ":" + last(steps, "EXPOSE"),
		"http_service.min_machines_running": "1",
		"http_service.auto_stop_machines":   "off",
		"http_service.force_https":          "true",
		"http_service.checks.path":          "/readyz",
		"kill_signal":                       "SIGTERM",
	} {
		if fly[key] != want {
			t.Errorf("fly.toml: %s is %q, want %q", key, fly[key], want)
		}
	}
	if db := fly["env.WEBREADER_DATABASE_URL"]; !strings.HasPrefix(db, "sqlite:"+fly["mounts.destination"]+"/") {
		t.Errorf("fly.toml: the database %q is not on the volume", db)
	}
	if d, err := time.ParseDuration(fly["kill_timeout"]); err != nil || d <= 30*time.Second {
		t.Errorf("fly.toml: kill_timeout %q leaves no room for the 30 s of a graceful stop", fly["kill_timeout"])
	}
	if secretName.MatchString(read(t, "fly.toml")) {
		t.Error("fly.toml: secrets are set with fly secrets, not here")
	}
}
