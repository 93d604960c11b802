package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Explain is the profile in plain words, a line a field, with what the house floor makes of it.
func (p *Profile) Explain() []string {
	lines := []string{"every request says: User-Agent: " + p.UserAgent()}
	for _, f := range p.fields() {
		if f.isSilent(p) {
			continue
		}
		lines = append(lines, f.sentence()+p.note(f))
	}
	return lines
}

// isSilent is true for fields that were not given and that mean nothing then.
func (f field) isSilent(p *Profile) bool {
	section, _, _ := strings.Cut(f.path, ".")
	always := section == "robots" || section == "signals" || section == "pace"
	optional := strings.HasPrefix(f.path, "pace.backoff.") || f.key == "over_cap" || f.value.IsZero() && f.tag.Get("means") == ""
	return p.set[f.path] == "" && (!always || optional)
}

func (f field) sentence() string {
	if f.kind() == "none" && f.value.IsZero() {
		return f.tag.Get("none")
	}
	means := strings.Split(f.tag.Get("means"), "|")
	if len(means) < 2 {
		return fmt.Sprintf(f.tag.Get("says"), f.inWords())
	}
	if v, ok := f.value.Interface().(bool); ok {
		return means[truth(v)]
	}
	return means[max(0, slices.Index(f.words(), f.value.String()))]
}

// note says where the value comes from, where that is not plain.
func (p *Profile) note(f field) string {
	floor, ok := "", p.house != nil && p.house.set[f.path] != "" && f.ordered()
	if ok {
		floor = p.house.set[f.path]
	}
	switch asked := p.set[f.path]; {
	case asked == "" && ok:
		return " (house floor)"
	case asked == "":
		return " (default)"
	case p.floor[f.path]:
		return fmt.Sprintf(" (the house floor, %s; the profile asks for %s, which is laxer)", floor, asked)
	case ok && asked != floor:
		return fmt.Sprintf(" (stricter than the house floor, %s)", floor)
	case ok:
		return " (same as the house floor)"
	}
	return ""
}

func (f field) inWords() string {
	switch v := f.value.Interface().(type) {
	case time.Duration:
		return spell(v)
	case []string:
		if len(v) == 0 {
			return "none"
		}
		return strings.Join(v, ", ")
	}
	return fmt.Sprint(f.value.Interface())
}

// spell is a duration as people say it.
func spell(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= u.size && d%u.size == 0 {
			return count(int(d/u.size), u.name)
		}
	}
	if d == time.Second {
		return "1 second"
	}
	return fmt.Sprintf("%g seconds", d.Seconds())
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
