package main

import (
	"fmt"
	"strings"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
)

type profileCmd struct {
	Check profileCheckCmd `cmd:"" help:"Check a profile and say in plain words what it does, against the house floor."`
}

type profileCheckCmd struct {
	Profile string `arg:"" help:"Name of a built-in profile, or a YAML file." placeholder:"NAME|FILE"`
}

// Help is shown by --help.
func (profileCheckCmd) Help() string {
	return `A wrong file is answered with all its faults: the line, the field and a correct example of each.

Examples:

  webreader profile check webreaderapi
  webreader profile check ./my-bot.yaml`
}

// Run prints the profile in plain words.
func (c profileCheckCmd) Run(a *app) error {
	all, err := policy.Load(profiles.Files)
	if err != nil {
		return err
	}
	p, err := all.Find(c.Profile)
	if err != nil {
		faults := strings.Split(err.Error(), "\n")
		last := len(faults) - 1
		for _, fault := range faults[:last] {
			_, _ = fmt.Fprintln(a.Err, "webreader: "+fault)
		}
		return usage("%s", faults[last])
	}
	for _, line := range p.Explain() {
		if _, err := fmt.Fprintln(a.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// loadProfile is the profile that WEBREADER_PROFILE names, or the default one.
func loadProfile(setting func(string) string) (*policy.Profile, error) {
	all, err := policy.Load(profiles.Files)
	if err != nil {
		return nil, err
	}
	name := setting(envProfile)
	if name == "" {
		name = defaultProfile
	}
	p, err := all.Find(name)
	if err != nil {
		return nil, usage("%s: %s", envProfile, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if public := setting(envPublicURL); public != "" && p.Identity.InfoURL == "" {
		if p, err = p.WithInfoURL(public + "/bot"); err != nil {
			return nil, usage("%s: %s", envPublicURL, err)
		}
	}
	return p, nil
}
