package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Profiles are the built-in profiles, the house floor and the topics that profiles can name.
type Profiles struct {
	byName map[string]*Profile
	house  *Profile
	topics map[string]*Topics
}

const (
	houseFile  = "house.yaml"
	maxProfile = 256 << 10
)

// Load reads the profiles of files, *.yaml at its top, and merges each with the floor in house.yaml.
// topics/*.yaml are the topics. An error names the file, the line, the field and a correct example.
func Load(files fs.FS) (*Profiles, error) {
	all := &Profiles{byName: map[string]*Profile{}, topics: map[string]*Topics{}}
	if err := all.loadTopics(files); err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(files, houseFile)
	if err != nil {
		return nil, fmt.Errorf("read the house floor: %w", err)
	}
	if all.house, err = readProfile(houseFile, text); err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the profiles: %w", err)
	}
	for _, name := range names {
		if name == houseFile || name == PromiseFile {
			continue
		}
		if err := all.loadBuiltIn(files, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (all *Profiles) loadBuiltIn(files fs.FS, name string) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return fmt.Errorf("read the profile %s: %w", name, err)
	}
	p, err := all.Parse(name, text)
	if err != nil {
		return err
	}
	if p.Name+".yaml" != name {
		return fmt.Errorf("%s: name: the profile is called %q; write it like \"name: %s\"", name, p.Name, strings.TrimSuffix(name, ".yaml"))
	}
	all.byName[p.Name] = p
	return nil
}

// Get is the built-in profile of that name, or nil.
func (all *Profiles) Get(name string) *Profile { return all.byName[name] }

// Names are the names of the built-in profiles, in order.
func (all *Profiles) Names() []string { return slices.Sorted(maps.Keys(all.byName)) }

// Find is the built-in profile of that name, or the profile in the file of that path.
func (all *Profiles) Find(nameOrFile string) (*Profile, error) {
	if p := all.byName[nameOrFile]; p != nil {
		return p, nil
	}
	if !strings.ContainsAny(nameOrFile, "./\\") {
		return nil, fmt.Errorf("there is no profile %q: choose one of %s, or give a YAML file", nameOrFile, strings.Join(all.Names(), ", "))
	}
	return all.LoadFile(nameOrFile)
}

// LoadFile reads the profile in a file and merges it with the house floor.
func (all *Profiles) LoadFile(name string) (*Profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the profile: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProfile+1))
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	if len(text) > maxProfile {
		return nil, fmt.Errorf("%s: a profile has at most %d bytes", name, maxProfile)
	}
	return all.Parse(name, text)
}

// Parse reads a profile and merges it with the house floor. Name stands in its errors.
func (all *Profiles) Parse(name string, text []byte) (*Profile, error) {
	p, err := readProfile(name, text)
	if p == nil {
		return nil, err
	}
	faults := []error{err}
	if err == nil {
		settle(p, all.house)
	}
	for _, problem := range p.problems() {
		faults = append(faults, fmt.Errorf("%s: %s", name, problem))
	}
	if p.Scope.Topics != "" {
		if p.topics = all.topics[p.Scope.Topics]; p.topics == nil {
			faults = append(faults, fmt.Errorf("%s: scope.topics: there is no topic %q; write one of: %s", name, p.Scope.Topics,
				strings.Join(slices.Sorted(maps.Keys(all.topics)), ", ")))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return p, nil
}

// problems are what no single field can say.
func (p *Profile) problems() []string {
	var all []string
	if p.set["name"] == "" {
		all = append(all, "name: is missing; write it like \"name: municipal-news\"")
	}
	if _, given := p.set["identity.product_token"]; !given {
		all = append(all, "identity.product_token: is missing; write it like \"identity: { product_token: ExampleBot }\"")
	}
	if p.Robots.MaxAge > 0 && p.Robots.MaxAgeFloor > p.Robots.MaxAge {
		all = append(all, fmt.Sprintf("robots.max_age_floor: is longer than max_age, %s; write it like \"max_age_floor: 5m\"", p.Robots.MaxAge))
	}
	if p.Schedule.Cron != "" && p.Schedule.Rounds != (Rounds{}) {
		all = append(all, "schedule.cron: stands beside rounds; keep one of them, such as \"cron: \\\"0 6 * * 1-5\\\"\"")
	}
	return all
}

// WithInfoURL is p with another page for site operators, such as WEBREADER_PUBLIC_URL/bot for a
// profile that ships without one.
func (p *Profile) WithInfoURL(raw string) (*Profile, error) {
	if err := checkInfoURL(raw); err != nil {
		return nil, err
	}
	c := *p
	c.Identity.InfoURL = raw
	return &c, nil
}

// mostFaults are told of one file.
const mostFaults = 20

// readProfile reads what a file says, no more. Beside the faults of fields stands what could be read.
func readProfile(name string, text []byte) (*Profile, error) {
	r := &profileReader{file: path.Base(name), profile: &Profile{set: map[string]string{}}}
	r.fields = r.profile.fields()
	root, err := parseYAML(r.file, text)
	if err != nil {
		return nil, err
	}
	r.section("", root)
	return r.profile, errors.Join(r.faults...)
}

type profileReader struct {
	file    string
	profile *Profile
	fields  []field
	faults  []error
}

// fault is an error at a line and a field, with a correct example.
func (r *profileReader) fault(e entry, path, problem, example string) error {
	return fmt.Errorf("%s:%d: %s: %s; write it like %q", r.file, e.line, path, problem, example)
}

// section reads what stands below prefix ("" or "robots."): at most a few levels, as the schema has them.
func (r *profileReader) section(prefix string, s entry) {
	seen := map[string]bool{}
	for _, e := range s.items {
		name := prefix + e.key
		err := r.fault(e, name, "stands there twice", e.key+": …, once")
		if !seen[name] {
			err = r.entry(name, e)
		}
		seen[name] = true
		if err != nil && len(r.faults) < mostFaults {
			r.faults = append(r.faults, err)
		}
	}
}

func (r *profileReader) entry(name string, e entry) error {
	if name == "version" {
		if e.text != "1" {
			return r.fault(e, name, "is a form of profiles that is not known", "version: 1")
		}
		return nil
	}
	for _, f := range r.fields {
		switch {
		case f.path == name:
			return r.value(f, e)
		case strings.HasPrefix(f.path, name+"."):
			if e.kind != sectionValue {
				return r.fault(e, name, "is a section, not a value", e.key+": { "+r.firstOf(name+".").example()+" }")
			}
			r.section(name+".", e)
			return nil
		}
	}
	return r.unknown(name, e)
}

func (r *profileReader) firstOf(prefix string) field {
	i := slices.IndexFunc(r.fields, func(f field) bool { return strings.HasPrefix(f.path, prefix) })
	return r.fields[max(i, 0)]
}

// unknown says which field may have been meant.
func (r *profileReader) unknown(name string, e entry) error {
	if len(e.key) > 100 {
		return r.fault(e, name[:100]+"…", "there is no such field", r.fields[0].example())
	}
	near, best := r.fields[0], 1<<30
	for _, f := range r.fields {
		if d := distance(name, f.path); d < best {
			near, best = f, d
		}
	}
	if best <= 3 {
		return r.fault(e, name, "there is no such field; "+near.path+" may be meant", near.example())
	}
	prefix := name[:strings.LastIndexByte(name, '.')+1]
	return r.fault(e, name, "there is no such field; known here: "+strings.Join(r.keysAt(prefix), ", "), r.firstOf(prefix).example())
}

func (r *profileReader) keysAt(prefix string) []string {
	var keys []string
	for _, f := range r.fields {
		rest, ok := strings.CutPrefix(f.path, prefix)
		key, _, _ := strings.Cut(rest, ".")
		if ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *profileReader) value(f field, e entry) error {
	f.value.SetZero()
	r.profile.set[f.path] = e.text
	switch {
	case e.kind == nullValue:
		return r.fault(e, f.path, "has no value", f.example())
	case f.isList() && e.kind != listValue:
		return r.fault(e, f.path, "is not a list", f.example())
	case !f.isList() && !e.isScalar():
		return r.fault(e, f.path, "is not a single value", f.example())
	case e.isScalar():
		return r.scalar(f, e)
	}
	words := make([]string, 0, len(e.items))
	for _, item := range e.items {
		if !item.isScalar() || slices.Contains(words, item.text) {
			return r.fault(item, f.path, "is not a list of different words", f.example())
		}
		if err := r.scalar(f, item); err != nil {
			return err
		}
		words = append(words, item.text)
	}
	r.profile.set[f.path] = "[" + strings.Join(words, ", ") + "]"
	return nil
}

func (r *profileReader) scalar(f field, e entry) error {
	if !f.accepts(e.kind) {
		return r.fault(e, f.path, fmt.Sprintf("%q is of another type", e.text), f.example())
	}
	if err := f.parse(e.text); err != nil {
		return r.fault(e, f.path, err.Error(), f.example())
	}
	return nil
}
