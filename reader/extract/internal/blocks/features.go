package blocks

import (
	"bytes"
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// levels is how many elements around a block are described.
const levels = 6

// near is how many blocks on each side of a block are described.
const near = 3

// The layout of a row of features.
const (
	fOwn    = 0
	nOwn    = 29
	fNear   = fOwn + nOwn
	nNear   = 6
	fMarks  = fNear + 2*near*nNear
	fLevels = fMarks + row
	nLevel  = 11
	fRepeat = fLevels + levels*nLevel
	nRepeat = 6
	fPlace  = fRepeat + nRepeat
	nPlace  = 12
	fPage   = fPlace + nPlace
	nPage   = 34 + textGroup
	// Plain is how many of them come first that say nothing of headings, frames and kinds of pages.
	Plain  = fPage + nPage
	fTop   = Plain
	fUnit  = fTop + nTop
	fHead  = fUnit + nUnit
	fKinds = fHead + textGroup
	// Features is how many numbers describe a block.
	Features = fKinds + nKinds
)

var logs = func() (t [4096]uint8) {
	for i := range t {
		t[i] = uint8(min(255, math.Round(12*math.Log2(1+float64(i)))))
	}
	return t
}()

// amount puts a count on a scale of equal ratios.
func amount(n int32) uint8 {
	if n < 0 {
		n = 0
	}
	if int(n) < len(logs) {
		return logs[n]
	}
	return uint8(min(255, math.Round(12*math.Log2(1+float64(n)))))
}

// share is part of whole, on a scale to 250; 255 when there is no whole.
func share(part, whole int32) uint8 {
	if whole <= 0 {
		return 255
	}
	return uint8(min(250, int64(part)*250/int64(whole)))
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// look notes headings, titles and counts that need all blocks.
func (p *Page) look() {
	last := int32(-1)
	titles := titleWords(p.Facts.Title)
	social := titleWords(p.Facts.Social)
	f := &p.Facts
	for i := range p.Blocks {
		b := &p.Blocks[i]
		b.Heading = last
		if b.Level > 0 {
			last = int32(i)
			switch b.Level {
			case 1:
				f.H1s++
			case 2:
				f.H2s++
			}
		}
		if b.Words <= 40 && b.Words > 0 && (b.Level > 0 && b.Level < 4 || b.Words >= 3) {
			b.Title = p.isTitle(b, titles, social)
		}
		if p.Mark(i, groups+markPara) == 1 {
			f.Paras++
		}
	}
	for i := range p.Elems {
		e := &p.Elems[i]
		if e.Blocks == 0 {
			continue
		}
		switch tagMark(p.Tree.Tag(e.ID)) {
		case markMain:
			f.Mains++
		case markArticle:
			f.Articles++
		}
	}
}

// titleWords is the title in lower case, letters and digits only.
func titleWords(title string) []byte { return fold(nil, title) }

// longestTitle bounds the bytes of a title that count.
const longestTitle = 400

// fold appends the letters and digits of s in lower case.
func fold(b []byte, s string) []byte {
	for _, r := range s {
		if len(b) >= longestTitle {
			break
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return b
}

// isTitle says that a block reads like one of the page's titles or like the part of it that is not the
// site's name.
func (p *Page) isTitle(b *Block, titles ...[]byte) bool {
	var memory [longestTitle + utf8.UTFMax]byte
	text := memory[:0]
	for _, title := range titles {
		if len(title) == 0 || int(b.Chars)*9 < len(title) || int(b.Chars) > 2*len(title) {
			continue
		}
		if len(text) == 0 {
			for _, n := range p.Texts[b.Lo:b.Hi] {
				text = fold(text, p.Tree.Data(n))
			}
		}
		if len(text) > 0 && len(text)*5 >= len(title)*2 && bytes.Contains(title, text) {
			return true
		}
	}
	return false
}

// Text is the text of block i as it stands in the tree, with a blank for each line break.
func (p *Page) Text(i int) string {
	var s strings.Builder
	for _, n := range p.Texts[p.Blocks[i].Lo:p.Blocks[i].Hi] {
		if prev := p.Tree.Prev(n); prev != 0 && p.Tree.Tag(prev) == atom.Br {
			s.WriteByte(' ')
		}
		s.WriteString(p.Tree.Data(n))
		if next := p.Tree.Next(n); next != 0 && p.Tree.Tag(next) == atom.Br {
			s.WriteByte(' ')
		}
	}
	return s.String()
}

// Describe gives the features of all blocks, a row of Features for each. The memory is the Page's.
func (p *Page) Describe() []uint8 {
	n := len(p.Blocks) * Features
	if cap(p.feats) < n {
		p.feats = make([]uint8, n)
	}
	p.feats = p.feats[:n]
	clear(p.feats)
	page := p.pageRow()
	before, heads := int32(0), int32(0)
	h1 := p.firstH1()
	p.circle()
	for i := range p.Blocks {
		x := p.feats[i*Features : (i+1)*Features]
		p.own(x[fOwn:], i)
		copy(x[fMarks:fMarks+row], p.marks[i*row:(i+1)*row])
		p.levelRows(x[fLevels:], i)
		p.repeats(x[fRepeat:], i)
		p.place(x[fPlace:], i, before, heads, h1)
		copy(x[fPage:], page[:])
		p.lex(x[fPage+34:], i)
		p.topRow(x[fTop:], i)
		p.unitRow(x[fUnit:], i)
		if h := p.Blocks[i].Heading; h >= 0 {
			p.lex(x[fHead:], int(h))
		}
		p.tell(x[fKinds:])
		before += p.Blocks[i].Words
		if p.Blocks[i].Level > 0 {
			heads++
		}
	}
	for i := range p.Blocks {
		p.nearRows(p.feats[i*Features+fNear:], i)
	}
	return p.feats
}

func (p *Page) firstH1() int32 {
	for i := range p.Blocks {
		if p.Blocks[i].Level == 1 {
			return int32(i)
		}
	}
	return -1
}

func (p *Page) own(x []uint8, i int) {
	b := &p.Blocks[i]
	words := b.Words - b.Wide/2
	x[0] = amount(words)
	x[1] = share(b.Linked, b.Words)
	x[2] = amount(b.Commas)
	x[3] = amount(b.Stops)
	x[4] = share(b.Digits, b.Chars)
	x[5] = share(b.Upper, b.Chars)
	x[6] = b.Level
	x[7] = b.End
	x[8] = b.Start
	x[9] = flag(b.Year)
	x[10] = flag(b.Clock)
	x[11] = flag(b.Money)
	x[12] = flag(b.Mail)
	x[13] = flag(b.Title)
	x[14] = uint8(min(250, b.Chars*10/max(1, b.Words)))
	x[15] = share(b.Stops+b.Commas, b.Words)
	x[16] = share(b.Wide, b.Words)
	x[17] = flag(b.Fluent())
	x[18] = uint8(min(40, p.Elems[b.Box].Depth))
	x[19] = uint8(min(60, b.Hi-b.Lo))
	x[20] = tagKind(p.Tree.Tag(p.Elems[b.Box].ID))
	x[21] = tagKind(p.Tree.Tag(p.Elems[b.Elem].ID))
	x[22] = amount(p.Elems[b.Box].Links)
	x[23] = amount(p.Elems[b.Box].Inputs)
	x[24] = amount(p.Elems[b.Box].Images)
	x[25] = flag(b.Description)
	x[26] = flag(b.Body) + flag(p.hasBody)
	x[28] = flag(b.Again) + 2*flag(b.Later)
	x[27] = uint8(bits.OnesCount32(b.Lex))
}

func (p *Page) nearRows(x []uint8, i int) {
	for k := 1; k <= near; k++ {
		for side := range 2 {
			j := i - k
			if side == 1 {
				j = i + k
			}
			o := x[((k-1)*2+side)*nNear:]
			if j < 0 || j >= len(p.Blocks) {
				o[0], o[1] = 0, 255
				continue
			}
			own := p.feats[j*Features+fOwn:]
			b := &p.Blocks[j]
			o[0], o[1], o[2], o[3], o[4] = own[0], own[1], own[15], own[6], own[20]
			o[5] = flag(b.Path == p.Blocks[i].Path)<<1 | flag(b.Box == p.Blocks[i].Box)
		}
	}
}

func (p *Page) levelRows(x []uint8, i int) {
	b := &p.Blocks[i]
	e := b.Box
	for k := range levels {
		o := x[k*nLevel : (k+1)*nLevel]
		if e < 0 {
			o[0], o[1], o[3], o[4], o[5] = 255, 255, 255, 255, 255
			continue
		}
		el := &p.Elems[e]
		o[0] = amount(el.Words)
		o[1] = share(el.Linked, el.Words)
		o[2] = amount(el.Blocks)
		o[3] = share(el.Fluent, el.Words)
		o[4] = share(el.Words, p.Words)
		o[5] = amount(el.Words * 4 / max(1, el.Blocks))
		o[6] = amount(el.Heads)
		o[7] = amount(el.Images)
		o[8] = amount(p.twinsOf(e))
		o[9] = share(int32(i)-el.First, max(1, el.Last-el.First))
		o[10] = tagKind(p.Tree.Tag(el.ID))
		e = el.Up
	}
}

// twinsOf is how many siblings are like e or like one of the elements around it with the same blocks.
func (p *Page) twinsOf(e int32) int32 {
	most, up := int32(1), p.Elems[e].Up
	for hops := 0; e >= 0 && e != up && hops < 12; hops++ {
		most = max(most, p.Elems[e].Twins)
		e = p.Elems[e].Parent
	}
	return most
}

func (p *Page) repeats(x []uint8, i int) {
	s := p.paths[p.Blocks[i].Path]
	x[0] = amount(s.blocks)
	x[1] = amount(s.words)
	x[2] = amount(s.words * 4 / max(1, s.blocks))
	x[3] = share(s.linked, s.words)
	x[4] = share(s.words, p.Words)
	e, most := p.Blocks[i].Box, int32(1)
	for k := 0; k < 8 && e >= 0; k++ {
		most = max(most, p.Elems[e].Twins)
		e = p.Elems[e].Parent
	}
	x[5] = amount(most)
}

func (p *Page) place(x []uint8, i int, before, heads, h1 int32) {
	b := &p.Blocks[i]
	x[0] = share(int32(i), int32(len(p.Blocks)))
	x[1] = share(before, p.Words)
	x[2] = amount(int32(i))
	x[3] = amount(int32(len(p.Blocks) - i - 1))
	switch {
	case h1 < 0:
		x[4] = 128
	case int32(i) < h1:
		x[4] = 127 - amount(h1-int32(i))/2
	default:
		x[4] = 129 + amount(int32(i)-h1)/2
	}
	x[5] = amount(heads)
	if b.Heading < 0 {
		x[6], x[7], x[8], x[9] = 255, 0, 0, 0
		return
	}
	h := &p.Blocks[b.Heading]
	x[6] = amount(int32(i) - b.Heading)
	x[7] = h.Level
	x[8] = amount(h.Words)
	x[9] = share(h.Linked, h.Words)
	x[10] = flag(h.Title)
	x[11] = uint8(max(0, 10+int(p.Elems[b.Box].Depth)-int(p.Elems[h.Box].Depth)))
}

func (p *Page) lex(x []uint8, i int) {
	b := &p.Blocks[i]
	for k := range textGroup {
		x[k] = flag(b.Lex>>k&1 == 1)
	}
}

func (p *Page) pageRow() (x [34]uint8) {
	f := &p.Facts
	x[0] = amount(p.Words)
	x[1] = share(p.Linked, p.Words)
	x[2] = share(p.Fluent, p.Words)
	x[3] = amount(int32(len(p.Blocks)))
	x[4] = f.OG
	x[5] = f.Maker
	x[6] = uint8(min(f.Mains, 3))
	x[7] = amount(f.Articles)
	x[8] = amount(f.H1s)
	x[9] = amount(f.H2s)
	x[10] = amount(f.Paras)
	x[11] = uint8(min(f.Path, 20))
	x[12] = uint8(min(f.Slug, 30))
	x[13] = flag(f.Query)
	x[14] = flag(f.Dated)
	for k := range len(urlWords) {
		x[15+k] = flag(f.Word>>k&1 == 1)
	}
	for k := range 12 {
		x[22+k] = flag(f.Types>>k&1 == 1)
	}
	return x
}
