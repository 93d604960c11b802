package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/webreaderapi/webreader/reader"
)

// decisionLine is a decision in words, on one line.
func decisionLine(d reader.Decision) string {
	word := "allowed"
	if !d.Allowed {
		word = "not allowed"
		if d.Reason != "" {
			word += " (" + d.Reason + ")"
		}
	}
	line := word + " " + ground(d)
	if len(d.Signals) > 0 {
		line += "; the site says " + signalWords(d.Signals)
	}
	return strings.Join(strings.Fields(line), " ")
}

// ground says what decided and where it stands.
func ground(d reader.Decision) string {
	var b strings.Builder
	switch {
	case d.By == "robots" && d.Line > 0:
		fmt.Fprintf(&b, "by line %d", d.Line)
	case d.By == "robots":
		b.WriteString("by robots.txt")
	case d.By == "default":
		b.WriteString("since nothing forbids it")
	case d.By == "opt_out":
		b.WriteString("by request of the site's operator")
	default:
		b.WriteString("by " + strings.ReplaceAll(d.By, "_", " "))
		if d.Line > 0 {
			fmt.Fprintf(&b, ", line %d", d.Line)
		}
	}
	if d.Rule != "" {
		fmt.Fprintf(&b, " %q", d.Rule)
	}
	if d.Header != "" {
		fmt.Fprintf(&b, " %q", d.Header)
	}
	if d.RobotsURL != "" && d.By != "default" && (d.Line > 0 || d.By == "robots") {
		b.WriteString(" of " + d.RobotsURL)
	}
	if d.Group != "" && d.Line > 0 {
		fmt.Fprintf(&b, " (group %s)", d.Group)
	}
	if d.Detail != "" {
		b.WriteString(": " + d.Detail)
	}
	return b.String()
}

func signalWords(signals map[string]string) string {
	words := make([]string, 0, len(signals))
	for name, value := range signals {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
