package forest

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// ring is a sample that no single question tells apart: yes inside a ring.
func ring(n int) Sample {
	rng := rand.New(rand.NewPCG(1, 2))
	s := Sample{Width: 3}
	for range n {
		x, y := rng.IntN(256), rng.IntN(256)
		d := (x-128)*(x-128) + (y-128)*(y-128)
		want := float32(0)
		if d > 40*40 && d < 100*100 {
			want = 1
		}
		s.Rows = append(s.Rows, uint8(x), uint8(y), uint8(rng.IntN(256)))
		s.Want, s.Heft = append(s.Want, want), append(s.Heft, 1)
	}
	return s
}

var settings = Settings{Trees: 60, Leaves: 8, Rate: 0.2, Lambda: 1, MinWeight: 1, Columns: 0.8, Rows: 0.8, Seed: 3}

func TestAForestLearnsWhatOneQuestionCannotTell(t *testing.T) {
	f := Train(ring(4000), settings)
	test := ring(8000)
	odds := make([]float32, 8000)
	f.Predict(test.Rows, 3, odds)
	wrong := 0
	for i, p := range odds[4000:] {
		if (p > 0.5) != (test.Want[4000+i] == 1) {
			wrong++
		}
	}
	if wrong > 300 {
		t.Errorf("%d of 4000 unseen rows are wrong", wrong)
	}
}

func TestTheSameSampleGivesTheSameBytes(t *testing.T) {
	if !bytes.Equal(Train(ring(2000), settings).Bytes(), Train(ring(2000), settings).Bytes()) {
		t.Error("two trainings differ")
	}
}

func TestBytesAndBack(t *testing.T) {
	s := ring(2000)
	f := Train(s, settings)
	b := append(f.Bytes(), "rest"...)
	g, rest, err := Parse(b, 3)
	if err != nil || string(rest) != "rest" {
		t.Fatalf("%v, rest %q", err, rest)
	}
	p, q := make([]float32, 2000), make([]float32, 2000)
	f.Predict(s.Rows, 3, p)
	g.Predict(s.Rows, 3, q)
	for i := range p {
		if p[i] != q[i] {
			t.Fatalf("row %d: %v and %v", i, p[i], q[i])
		}
	}
}

func TestColumnsAreThoseOfTheRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, width := range []int{1, 8, 19} {
		rows := make([]uint8, 61*width)
		for i := range rows {
			rows[i] = uint8(rng.IntN(256))
		}
		var d desk
		d.open(&Forest{}, rows, width)
		for feature := range width {
			d.fill(feature)
			for i := range 61 {
				if got := uint8(d.columns[feature].words[i/8] >> (8 * (i % 8))); got != rows[i*width+feature] {
					t.Fatalf("width %d, row %d, feature %d: %d, not %d", width, i, feature, got, rows[i*width+feature])
				}
			}
		}
	}
}

func TestBrokenBytesAreRefused(t *testing.T) {
	b := Train(ring(500), settings).Bytes()
	for _, n := range []int{0, 5, 7, len(b) / 2, len(b) - 1} {
		if _, _, err := Parse(b[:n], 3); err == nil {
			t.Errorf("%d of %d bytes pass", n, len(b))
		}
	}
	if _, _, err := Parse(b, 1); err == nil {
		t.Error("a forest that asks for a feature which rows do not have passes")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Train(ring(300), settings).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		g, _, err := Parse(b, 3)
		if err != nil || len(g.nodes) > 1000 {
			return
		}
		g.Predict(make([]uint8, 3), 3, make([]float32, 1))
	})
}

func TestALimitHidesTheFeaturesAfterIt(t *testing.T) {
	set := settings
	set.Limit = 1
	for _, n := range Train(ring(500), set).nodes {
		if n.feature > 0 {
			t.Fatalf("a tree asks for feature %d", n.feature)
		}
	}
}
