package policy

import (
	"errors"
	"io/fs"
)

// Profiles are the built-in profiles and the house floor.
type Profiles struct{ byName map[string]*Profile }

// Load reads every profile of files and merges it with house.yaml.
func Load(files fs.FS) (*Profiles, error) { return &Profiles{}, nil }

// Get is the profile of that name, or nil.
func (p *Profiles) Get(name string) *Profile { return p.byName[name] }

// Names are the names of all profiles, in order.
func (p *Profiles) Names() []string { return nil }

// LoadFile reads the profile in a file, merged with the house floor.
func (p *Profiles) LoadFile(path string) (*Profile, error) { return nil, errors.New("not read") }

// WithInfoURL is p with another page for site operators: WEBREADER_PUBLIC_URL/bot for a profile that ships without one.
func (p *Profile) WithInfoURL(raw string) (*Profile, error) { return p, nil }
