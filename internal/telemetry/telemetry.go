// Package telemetry sets up the logger and the metrics, and writes the one line per request. What it
// is given to write holds no page text, no API key and no query of a target.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// Config is how the process logs.
type Config struct {
	Format string // text or json
	Level  slog.Level
}

// FromEnv is the config of WEBREADER_LOG_FORMAT and WEBREADER_LOG_LEVEL. terminal says whether the log
// goes to a person's terminal.
func FromEnv(getenv func(string) string, terminal bool) (Config, error) {
	c := Config{Format: getenv("WEBREADER_LOG_FORMAT")}
	if c.Format == "" {
		c.Format = "json"
		if terminal {
			c.Format = "text"
		}
	}
	if level := getenv("WEBREADER_LOG_LEVEL"); level != "" {
		if err := c.Level.UnmarshalText([]byte(level)); err != nil {
			return Config{}, fmt.Errorf("WEBREADER_LOG_LEVEL: %q is not a level: write debug, info, warn or error", level)
		}
	}
	return c, c.Validate()
}

// Validate is an error for a format that is not known.
func (c Config) Validate() error {
	if c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("WEBREADER_LOG_FORMAT: %q is not a format: write text or json", c.Format)
	}
	return nil
}

// Logger writes to w as c says.
func (c Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// Request is what is written about one request of a customer.
type Request struct {
	ID         string
	Method     string
	Route      string // "/keys/{id}", never the address as it came
	Status     int
	Code       string // of the problem, "" for a success
	Reason     string
	Duration   time.Duration
	Client     string
	Account    string
	Key        string // the key's id
	TargetHost string
	PathClass  string
	Outcome    string // of a read
	Units      int
	Err        error // the cause of an internal failure
}

// Log writes r as one line: a warning for a failure of ours, else for information.
func Log(ctx context.Context, l *slog.Logger, r Request) {
	level := slog.LevelInfo
	if r.Status >= 500 && r.Code == "internal" || r.Err != nil {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("request_id", r.ID), slog.String("method", r.Method), slog.String("route", r.Route),
		slog.Int("status", r.Status), slog.Duration("took", r.Duration.Round(time.Microsecond)), slog.String("client", r.Client),
	}
	for _, a := range []struct{ name, value string }{
		{"code", r.Code}, {"reason", r.Reason}, {"account", r.Account}, {"key", r.Key}, {"host", r.TargetHost},
		{"path", r.PathClass}, {"outcome", r.Outcome},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.name, a.value))
		}
	}
	if r.Outcome != "" {
		attrs = append(attrs, slog.Int("units", r.Units))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", oneLine(r.Err.Error())))
	}
	l.LogAttrs(ctx, level, "request", attrs...)
}

// address is a URL inside a text; the first group is what may be shown of it.
var address = regexp.MustCompile(`(https?://[^/?#\s"']*)[^\s"']*`)

// oneLine is text without control characters and without the paths and queries of addresses, at most
// 500 bytes: the errors of libraries like to quote the URL they were given.
func oneLine(text string) string {
	text = address.ReplaceAllString(text, "$1/…")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return text
}

// PathClass is what a log line says of a URL's path: "root", "page", or "file.pdf" for what ends like
// a document. The path itself and the query are not in it.
func PathClass(u *url.URL) string {
	if u == nil {
		return ""
	}
	if u.Path == "" || u.Path == "/" {
		return "root"
	}
	switch ext := strings.ToLower(path.Ext(u.Path)); ext {
	case ".pdf", ".docx", ".xlsx", ".ods", ".odt", ".xml", ".txt", ".csv", ".json":
		return "file" + ext
	}
	return "page"
}
