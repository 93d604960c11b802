package change

import (
	"strings"
	"testing"
)

func BenchmarkHostileText(b *testing.B) {
	for name, unit := range map[string]string{"letters": "a", "digits": "1 ", "dates": "1-1-2026 ", "ibans": "AB12 ", "mails": "a@b.", "phones": "06 12 34 56 97, "} {
		text := strings.Repeat(unit, (1<<16)/len(unit))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Excerpt(text, text[:100], 280)
				sentences(text)
			}
		})
	}
}

func BenchmarkVisit(b *testing.B) {
	d := NewDetector(Options{Key: []byte("k")})
	blocks := long(80, "van de subsidie voor verenigingen loopt tot 3 mei 2027 met een budget van € 25.000 en meer; nummer")
	_, s := d.Visit(State{}, blocks)
	b.ReportAllocs()
	for b.Loop() {
		d.Visit(s, blocks)
	}
}
