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
	switch d.By {
	case "robots":
		b.WriteString("by robots.txt")
	case "default":
		b.WriteString("since nothing forbids it")
	case "opt_out":
		b.WriteString("by request of the site's operator")
	default:
		b.WriteString("by " + strings.ReplaceAll(d.By, "_", " "))
	}
	if d.Reason != "" {
		b.WriteString(" (" + d.Reason + ")")
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, ", line %d", d.Line)
	}
	if d.Rule != "" {
		fmt.Fprintf(&b, " %q", d.Rule)
	}
	if d.Group != "" {
		fmt.Fprintf(&b, ", in the group for %s", d.Group)
	}
	if d.Header != "" {
		fmt.Fprintf(&b, ", %s", d.Header)
	}
	if d.RobotsURL != "" {
		b.WriteString(", of " + d.RobotsURL)
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
