package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Topics are the words and path patterns that make a link on the subject. A nil Topics is about
// everything.
type Topics struct {
	words []topicWord
	paths []string
}

// topicWord is a word without accents in lower case; open ends match longer words.
type topicWord struct {
	text            string
	openLeft, right bool
}

// NewTopics makes Topics of words, in which "*" at either end stands for the rest of a longer word
// ("subsidie*", "*támogatás*"), and of path patterns, in which "*" is any run within a segment and
// "**" any run.
func NewTopics(words, paths []string) (*Topics, error) {
	t := new(Topics)
	for _, w := range words {
		plain := fold(strings.Trim(w, "*"))
		if len(splitWords(plain)) != 1 || splitWords(plain)[0] != plain {
			return nil, fmt.Errorf("the topic %q is not one word; write it like subsidie*", w)
		}
		t.words = append(t.words, topicWord{plain, strings.HasPrefix(w, "*"), strings.HasSuffix(w, "*")})
	}
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") {
			return nil, fmt.Errorf("the path pattern %q does not start with /; write it like /subsidies/**", p)
		}
		t.paths = append(t.paths, p)
	}
	return t, nil
}

// Topics are the topics of the profile's scope; nil when it is about everything.
func (p *Profile) Topics() *Topics { return p.topics }

// Match is true when a link to t with that text is on the subject: by a word of its text or of its
// path, or by its path.
func (t *Topics) Match(to Target, text string) bool {
	if t == nil {
		return true
	}
	for _, p := range t.paths {
		if matchGlob(p, to.path) {
			return true
		}
	}
	return t.speaks(text) || t.speaks(unescapePath(to.path))
}

const maxTopicText = 4096

func (t *Topics) speaks(text string) bool {
	for _, word := range splitWords(fold(text[:min(len(text), maxTopicText)])) {
		for _, w := range t.words {
			if w.matches(word) {
				return true
			}
		}
	}
	return false
}

func (w topicWord) matches(word string) bool {
	switch {
	case w.openLeft && w.right:
		return strings.Contains(word, w.text)
	case w.openLeft:
		return strings.HasSuffix(word, w.text)
	case w.right:
		return strings.HasPrefix(word, w.text)
	}
	return word == w.text
}

func splitWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// fold is s in lower case without accents, since paths are mostly written without them.
func fold(s string) string {
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), s)
	if err != nil {
		plain = s
	}
	return strings.ToLower(plain)
}

// matchGlob is true when the whole path matches: "**" is any run, "*" a run without "/". It takes
// time of the pattern times the path.
func matchGlob(pattern, path string) bool {
	at := make([]bool, len(path)+1) // at[i]: the pattern so far matches path[:i]
	at[0] = true
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			i++
			stretch(at, path, true)
		case pattern[i] == '*':
			stretch(at, path, false)
		default:
			for j := len(path); j > 0; j-- {
				at[j] = at[j-1] && path[j-1] == pattern[i]
			}
			at[0] = false
		}
	}
	return at[len(path)]
}

func stretch(at []bool, path string, across bool) {
	for j := 1; j < len(at); j++ {
		at[j] = at[j] || at[j-1] && (across || path[j-1] != '/')
	}
}

// loadTopics reads topics/*.yaml: lists of words by language, and of paths.
func (all *Profiles) loadTopics(files fs.FS) error {
	names, err := fs.Glob(files, "topics/*.yaml")
	if err != nil {
		return fmt.Errorf("list the topics: %w", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read the topic %s: %w", name, err)
		}
		t, err := parseTopics(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all.topics[strings.TrimSuffix(path.Base(name), ".yaml")] = t
	}
	return nil
}

func parseTopics(text []byte) (*Topics, error) {
	var file struct {
		Words map[string][]string `yaml:"words"`
		Paths []string            `yaml:"paths"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, err
	}
	var words []string
	for _, w := range file.Words {
		words = append(words, w...)
	}
	if len(words) == 0 {
		return nil, errors.New("words: is missing; write it like \"words: { nl: [subsidie*] }\"")
	}
	return NewTopics(words, file.Paths)
}
