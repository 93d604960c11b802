package policy

import (
	"cmp"
	"reflect"
	"slices"
	"time"
)

// ordered is true for fields of which one value can be stricter than another.
func (f field) ordered() bool { return f.tag.Get("strict") != "" }

// tighten makes the field at least as strict as the same field of the house, and says whether that
// changed it.
func (f field) tighten(house reflect.Value) bool {
	if f.tag.Get("strict") == "more" {
		return f.addWords(house.Interface().([]string))
	}
	if f.compare(f.value, house) >= 0 {
		return false
	}
	f.value.Set(house)
	return true
}

func (f field) addWords(words []string) bool {
	own := f.value.Interface().([]string)
	both := slices.Clone(own)
	for _, w := range words {
		if !slices.Contains(both, w) {
			both = append(both, w)
		}
	}
	f.value.Set(reflect.ValueOf(both))
	return len(both) > len(own)
}

// compare is negative when a is laxer than b, for an ordered field that is not a list.
func (f field) compare(a, b reflect.Value) int {
	switch f.tag.Get("strict") {
	case "word":
		return cmp.Compare(slices.Index(f.words(), a.String()), slices.Index(f.words(), b.String()))
	case "true":
		return cmp.Compare(truth(a.Bool()), truth(b.Bool()))
	case "max":
		return cmp.Compare(f.limit(a), f.limit(b))
	}
	return cmp.Compare(f.limit(b), f.limit(a))
}

// limit is the number of a field; none is beyond all numbers.
func (f field) limit(v reflect.Value) float64 {
	n := number(v)
	if n == 0 && f.kind() == "none" {
		return float64(1 << 62)
	}
	return n
}

func number(v reflect.Value) float64 {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.Seconds()
	case float64:
		return x
	}
	return float64(v.Int())
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settle gives every field its value: the default, the house's, the profile's own, and of the last
// two the stricter where they have an order. Own holds what the profile's file set.
func settle(own, house *Profile) {
	mine, theirs := own.fields(), house.fields()
	own.floor, own.house = map[string]bool{}, house
	for i, f := range mine {
		given := theirs[i].value
		switch {
		case own.set[f.path] == "" && house.set[f.path] == "":
			f.reset()
		case own.set[f.path] == "":
			f.value.Set(given)
		case house.set[f.path] != "" && f.ordered():
			own.floor[f.path] = f.tighten(given)
		}
	}
}
