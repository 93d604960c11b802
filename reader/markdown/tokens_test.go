package markdown

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

func TestTokensAreThoseOfO200k(t *testing.T) {
	enc := codec.NewO200kBase()
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		want, err := enc.Count(s)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if got := Tokens(s); got != want {
			t.Fatalf("Tokens(%q) = %d, want %d", s, got, want)
		}
	}
	for _, s := range []string{"", " ", "\n", "a", "Hello, world!\n\n## A heading\n\n- one\n- two", "don't WE'LL I'Ve it's", "12345 6 78", "東京は日本の首都", "Ünïcödé ÉÀ", "x  y   z\n  w", "a\t\tb", "   lead", "trail   ",
		"\n\n\n  x", "| a | b |\n| --- | --- |", "https://example.com/a/b?c=d#e", "مرحبا بالعالم", "🙂🙂 x", "McDonald HTMLParser aBC ABCdE", "----------", "```go\nfunc main() {}\n```", strings.Repeat("[", 300), strings.Repeat("ab", 100), "\u00a0x\u3000y", "ǅx ʰa ªb"} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringOf(rapid.RuneFrom([]rune("aAbBzZ09 \n\r\t'sStTlLrReEvV.,/!-|éÉ漢かǅʰª\u0301\u00a0🙂"))).Draw(t, "s"))
	})
}

// A word of megabytes is counted in parts: nearly the same number, in linear time.
func TestTokensOfAGiantWord(t *testing.T) {
	s := strings.Repeat("abcdefghij", 2000)
	want, err := codec.NewO200kBase().Count(s)
	if got := Tokens(s); err != nil || got < want || got > want+3*(len(s)/partPiece+1) {
		t.Errorf("%d tokens, the library counts %d (%v)", got, want, err)
	}
	began := time.Now()
	Tokens(strings.Repeat("a", 1_000_000))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("1 MB took %v", took)
	}
}

var update = flag.Bool("update", false, "write the vocabulary of the tokenizer to o200k.bin")

func TestVocabularyIsTheTokenizers(t *testing.T) {
	enc := codec.NewO200kBase()
	var all bytes.Buffer
	for id := uint(0); id < 200_000; id++ {
		s, err := enc.Decode([]uint{id})
		if err != nil || len(s) > 255 {
			s = ""
		}
		all.WriteByte(byte(len(s)))
		all.WriteString(s)
	}
	if *update {
		if err := os.WriteFile("o200k.bin", all.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if held, err := os.ReadFile("o200k.bin"); err != nil || !bytes.Equal(held, all.Bytes()) {
		t.Errorf("o200k.bin is not the tokenizer's vocabulary (%v): run this test with -update", err)
	}
}
