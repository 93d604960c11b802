package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// secretSettings have no flag: a command line can be read by others on the machine.
var secretSettings = []string{"WEBREADER_SIGNING_KEY", "WEBREADER_STRIPE_SECRET_KEY", "WEBREADER_STRIPE_WEBHOOK_SECRET"}

// misspelt are lines about the variables of environ ("NAME=value") that are nearly a setting's name: without a
// word, what they were meant to set would stay as it is by default. No value is shown.
func misspelt(environ []string) (lines []string) {
	parser, err := kong.New(new(cli))
	if err != nil {
		return nil // run says so
	}
	known := slices.Clone(secretSettings)
	for _, node := range parser.Model.Leaves(false) {
		for _, group := range node.AllFlags(false) {
			for _, flag := range group {
				if name := flag.Tag.Get("setting"); name != "" {
					known = append(known, name)
				}
			}
		}
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "WEBREADER") || slices.Contains(known, name) {
			continue
		}
		for _, setting := range known {
			if near(name, setting) {
				lines = append(lines, fmt.Sprintf("webreader: %s is no setting and is ignored; %s is one", name, setting))
				break
			}
		}
	}
	return lines
}

// near says that one letter added, left out or changed, or two that changed places, make one name of the other.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	case 1:
		return a[i:] == b[i+1:]
	}
	return false
}
