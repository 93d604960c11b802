package policy

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// field is one value of a profile and what the schema says about it.
type field struct {
	path  string // "robots.crawl_delay.cap"
	key   string // "cap"
	value reflect.Value
	tag   reflect.StructTag
}

// fields are all values of p, in the order of the schema.
func (p *Profile) fields() []field { return fieldsOf("", reflect.ValueOf(p).Elem()) }

func fieldsOf(prefix string, v reflect.Value) []field {
	var all []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, ok := f.Tag.Lookup("yaml")
		switch {
		case !ok:
		case isSection(f.Type):
			all = append(all, fieldsOf(prefix+key+".", v.Field(i))...)
		default:
			all = append(all, field{prefix + key, key, v.Field(i), f.Tag})
		}
	}
	return all
}

// isSection is true for structs of fields, false for those that are one value.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Tag.Get("yaml") != ""
}

func (f field) kind() string    { return f.tag.Get("kind") }
func (f field) words() []string { return strings.Fields(f.tag.Get("one")) }

// example is a correct line for the field.
func (f field) example() string { return f.key + ": " + f.tag.Get("example") }

// parse sets the field from the text of a scalar; its error says what is wrong with the text.
func (f field) parse(text string) error {
	switch v := f.value.Addr().Interface().(type) {
	case *string:
		return f.parseString(v, text)
	case *bool:
		return parseInto(v, text, strconv.ParseBool, "true or false")
	case *int:
		return f.parseInt(v, text)
	case *float64:
		*v, _ = strconv.ParseFloat(text, 64)
		return must(*v >= 1 && *v <= 100, "%q is not a number from 1 to 100", text)
	case *time.Duration:
		return f.parseDuration(v, text)
	case *Hours:
		return parseInto(v, text, ParseHours, `a span of the day such as "07:00-19:00"`)
	case *Window:
		return parseInto(v, text, ParseWindow, `a span of the day and a time zone such as "22:00-06:00 Europe/Budapest"`)
	case *[]string:
		*v = append(*v, text)
		return must(slices.Contains(f.words(), text), "%q is none of: %s", text, strings.Join(f.words(), ", "))
	}
	return fmt.Errorf("the schema has no way to read a %s", f.value.Type())
}

func must(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func parseInto[T any](to *T, text string, parse func(string) (T, error), what string) error {
	v, err := parse(text)
	*to = v
	return must(err == nil, "%q is not %s", text, what)
}

func (f field) parseInt(v *int, text string) error {
	if f.kind() == "none" && text == "none" {
		*v = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	*v = n
	low := 0
	if f.kind() != "" {
		low = 1
	}
	return must(err == nil && n >= low && n <= 1_000_000, "%q is not a whole number from %d to 1000000", text, low)
}

func (f field) parseDuration(v *time.Duration, text string) error {
	switch {
	case f.kind() == "none" && text == "none":
		*v = 0
		return nil
	case f.kind() == "rate":
		return parseInto(v, text, parsePerTime, "a rate such as 1/day or 2/hour")
	}
	d, err := time.ParseDuration(text)
	*v = d
	return must(err == nil && d >= 0 && d <= 10_000*time.Hour, "%q is not a time such as 500ms, 2s, 5m or 24h", text)
}

// parsePerTime reads "1/day" as the time between two of them.
func parsePerTime(text string) (time.Duration, error) {
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	span, known := map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}[unit]
	if err != nil || !known || n < 1 || n > 1000 {
		return 0, errors.New("not a rate")
	}
	return span / time.Duration(n), nil
}

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	tokenForm   = regexp.MustCompile(`^[A-Za-z_-]{1,64}$`)
	versionForm = regexp.MustCompile(`^[0-9A-Za-z.-]{1,16}$`)
)

func (f field) parseString(v *string, text string) error {
	*v = text
	if words := f.words(); len(words) > 0 {
		return must(slices.Contains(words, text), "%q is none of: %s", text, strings.Join(words, ", "))
	}
	switch f.kind() {
	case "name", "word":
		return must(nameForm.MatchString(text), "%q is not a name of lower-case letters, digits and hyphens", text)
	case "token":
		return must(tokenForm.MatchString(text), "%q is not a product token: only letters, _ and - (RFC 9309 section 2.2.1)", text)
	case "version":
		return must(versionForm.MatchString(text), "%q is not a version", text)
	case "url":
		return checkInfoURL(text)
	case "contact":
		_, err := mail.ParseAddress(text)
		return must(err == nil || checkInfoURL(text) == nil, "%q is neither a mail address nor an https address", text)
	case "zone":
		_, err := time.LoadLocation(text)
		return must(err == nil && text != "" && text != "Local", "%q is not a time zone", text)
	case "cron":
		_, err := gronx.NextTickAfter(text, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), false)
		return must(err == nil && len(strings.Fields(text)) == 5, "%q is not a cron expression of five fields that ever comes", text)
	}
	return nil
}

// checkInfoURL accepts what can stand in a User-Agent: http or https, no blanks, no parentheses.
func checkInfoURL(text string) error {
	u, err := url.Parse(text)
	ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		len(text) <= 200 && strings.Trim(text, "!#$%&'*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~") == ""
	return must(ok, "%q is not an address that a User-Agent can hold", text)
}

// reset sets the field to its default.
func (f field) reset() {
	f.value.SetZero()
	text, ok := f.tag.Lookup("default")
	if !ok {
		return
	}
	for part := range strings.FieldsSeq(strings.Trim(text, "[]")) {
		if err := f.parse(part); err != nil {
			panic("the schema of " + f.path + ": " + err.Error()) // a test parses all defaults
		}
	}
}

func (f field) isList() bool { return f.value.Kind() == reflect.Slice }

// accepts is true when a scalar of that kind can be the field's value.
func (f field) accepts(kind entryKind) bool {
	switch f.value.Interface().(type) {
	case bool:
		return kind == truthValue
	case int:
		return kind == wholeValue || f.kind() == "none" && kind == textValue
	case float64:
		return kind == wholeValue || kind == decimalValue
	case string:
		return kind == textValue || f.kind() == "version" && (kind == decimalValue || kind == wholeValue)
	}
	return kind == textValue
}

// distance is how many letters must be changed, added or dropped to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
