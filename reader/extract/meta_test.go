package extract

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/reader/dom"
)

func metaOf(t *testing.T, page string) Meta {
	t.Helper()
	base, err := url.Parse("https://www.havenkrant.example/nieuws/peiling?x=1")
	if err != nil {
		t.Fatal(err)
	}
	return Metadata(dom.Parse([]byte(page), dom.Limits{}), base)
}

func TestMetadataOfAPageThatSaysAll(t *testing.T) {
	got := metaOf(t, `<html lang="nl_NL"><head><title>De peiling van de haven - Havenkrant</title>
<link rel=canonical href="/nieuws/peiling#top"><meta property="og:site_name" content="Havenkrant"><meta property="og:image" content="/a.png">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
{"@type":"WebSite","@id":"#site","name":"Havenkrant"},
{"@type":"Person","@id":"#p","name":"Anna de Vries"},
{"@type":["NewsArticle","Article"],"headline":"De peiling van de haven","author":[{"@id":"#p"},{"@type":"Person","name":"Door Bea Kok"}],
"datePublished":"2024-03-05T08:09:10.000+0100","dateModified":"2024-03-06","image":{"@type":"ImageObject","url":"https://img.example/x.jpg"},"description":"Over de &amp; haven.","keywords":"haven, peiling, Haven","inLanguage":"nl"},]}
</script></head><body><h1>De peiling van de haven</h1></body></html>`)
	want := Meta{Title: "De peiling van de haven", Byline: "Anna de Vries, Bea Kok", PublishedAt: "2024-03-05T08:09:10+01:00", ModifiedAt: "2024-03-06", Language: "nl-NL", SiteName: "Havenkrant",
		Canonical: "https://www.havenkrant.example/nieuws/peiling", Image: "https://img.example/x.jpg", Description: "Over de & haven.", Tags: []string{"haven", "peiling"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTitleIsWithoutTheSite(t *testing.T) {
	for page, want := range map[string]string{
		`<title>Storm season - Harbour Press</title><meta property=og:site_name content="Harbour Press">`:                             "Storm season",
		`<title>Harbour Press | Storm season</title><meta property=og:site_name content="Harbour Press">`:                             "Storm season",
		`<title>Storm season – Havenkrant</title>`:                                                                                    "Storm season",
		`<title>Storm season: what now? | Weather | The Daily</title><h1>Storm season: what now?</h1>`:                                "Storm season: what now?",
		`<title>Rust - a review</title><h1>Rust - a review</h1>`:                                                                      "Rust - a review",
		`<title>Twenty-one ways - and more</title>`:                                                                                   "Twenty-one ways - and more",
		`<title>Subsidie aanvragen | Gemeente Waterland</title>`:                                                                      "Subsidie aanvragen",
		`<title>Községi Önkormányzat - Városi rendezvények pályázata</title><h2>Városi rendezvények pályázata</h2>`:                   "Városi rendezvények pályázata",
		`<title>Home</title><h1>Welcome</h1>`:                                                                                         "Home",
		`<h1>Only a heading</h1>`:                                                                                                     "Only a heading",
		`<title>A story</title><meta property=og:title content="Something unlike it"><h1>A story</h1>`:                                "A story",
		`<title>x</title><script type="application/ld+json">{"@type":"Article","headline":"Other page, related"}</script><h1>x</h1>`:  "x",
		`<title>Nieuws</title><svg><title>icon</title></svg>`:                                                                         "Nieuws",
		`<title>Harbour Press</title><meta property=og:site_name content="Harbour Press"><h1>Tides of March</h1>`:                     "Tides of March",
		`<title>A &amp; B &lt;c&gt;</title>`:                                                                                          "A & B <c>",
		`<title>Prix 2024 : les gagnants | Le Port</title><meta property="og:title" content="Prix 2024 : les gagnants"><h1>Prix</h1>`: "Prix 2024 : les gagnants",
	} {
		if got := metaOf(t, page).Title; got != want {
			t.Errorf("%s\ngives %q, want %q", page, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	for _, c := range []struct{ page, published, modified string }{
		{`<meta property="article:published_time" content="2024-02-29T23:59:59Z"><meta property="article:modified_time" content="2024-03-01 10:00:00">`, "2024-02-29T23:59:59Z", "2024-03-01T10:00:00"},
		{`<meta name="DC.date.issued" content="20240305">`, "2024-03-05", ""},
		{`<meta name="date" content="Tue, 05 Mar 2024 10:11:12 GMT">`, "2024-03-05T10:11:12Z", ""},
		{`<meta name="date" content="2024-02-30">`, "", ""},
		{`<meta name="date" content="soon">`, "", ""},
		{`<h1>T</h1><p>Gepubliceerd op 5 maart 2024</p><p>Laatst gewijzigd: 06-03-2024</p>`, "2024-03-05", "2024-03-06"},
		{`<h1>T</h1><span>Közzétéve:</span> <span>2024. március 5.</span><p>Utolsó módosítás: 2024. 03. 07.</p>`, "2024-03-05", "2024-03-07"},
		{`<h1>T</h1><p>Veröffentlicht am 5. März 2024</p>`, "2024-03-05", ""},
		{`<h1>T</h1><p>Publié le 1er août 2023</p>`, "2023-08-01", ""},
		{`<h1>T</h1><p>March 5, 2024</p><p>On 1 May 2020 it rained for a long time over the whole harbour.</p>`, "2024-03-05", ""},
		{`<h1>T</h1><p>Published: 03/04/2024</p>`, "", ""},
		{`<html lang=nl><h1>T</h1><p>Gepubliceerd: 03/04/2024</p>`, "2024-04-03", ""},
		{`<h1>T</h1><p>It happened on 5 March 2024, and nobody was there to see it happen.</p>`, "", ""},
		{`<time class="entry-date published" datetime="2024-03-05T10:00:00+02:00">x</time><time class="updated" datetime="2024-03-08">y</time>`, "2024-03-05T10:00:00+02:00", "2024-03-08"},
		{`<time datetime="2024-03-05">x</time>`, "2024-03-05", ""},
		{`<time datetime="2024-03-05">x</time><time datetime="2021-03-05">y</time>`, "", ""},
		{`<span itemprop="datePublished" content="2024-03-05">x</span>`, "2024-03-05", ""},
		{`<meta property="article:published_time" content="2024-03-05"><meta property="article:modified_time" content="2020-01-01">`, "2024-03-05", ""},
		{`<h1>T</h1><p>Last updated 5 March 2024</p>`, "", "2024-03-05"},
	} {
		m := metaOf(t, c.page)
		if m.PublishedAt != c.published || m.ModifiedAt != c.modified {
			t.Errorf("%s\ngives %q and %q, want %q and %q", c.page, m.PublishedAt, m.ModifiedAt, c.published, c.modified)
		}
	}
}

func TestByline(t *testing.T) {
	for page, want := range map[string]string{
		`<meta name=author content="By Jane Roe">`:                                                       "Jane Roe",
		`<meta name=author content="https://facebook.com/x"><a rel=author>Jan Kok</a>`:                   "Jan Kok",
		`<p class="byline">Door Jan Kok | 5 maart 2024</p>`:                                              "Jan Kok",
		`<div itemprop=author><span itemprop=name>Ann Lee</span>, editor</div>`:                          "Ann Lee",
		`<meta name=author content=admin>`:                                                               "",
		`<meta name=author content="Harbour Press"><meta property=og:site_name content="Harbour Press">`: "",
		`<p>No one wrote this by hand.</p>`:                                                              "",
	} {
		if got := metaOf(t, page).Byline; got != want {
			t.Errorf("%s\ngives %q, want %q", page, got, want)
		}
	}
}

func TestLanguage(t *testing.T) {
	for page, want := range map[string]string{
		`<html lang="HU">`: "hu", `<html lang="zh_hant_tw">`: "zh-Hant-TW", `<html lang="x"><meta property=og:locale content=de_DE>`: "de-DE", `<html lang="">`: "",
		`<p>De gemeente heeft voor dit jaar een nieuwe regeling en het geld dat er is wordt door de raad verdeeld. Dat is niet veel, maar de mensen van de haven zijn er blij met en willen er meer van.</p>`:                      "nl",
		`<p>A pályázat célja, hogy a helyi közösségek fejlődjenek, és az is fontos, hogy nem csak a nagy városok kapnak támogatást. Ez a felhívás egy évig él, de a keret már kevés, és az összeg nem nő, mint ahogy az volt.</p>`: "hu",
		`<p>港の調査は早春に始まった。水はまだ冷たく、少人数の作業員たちは夜明けから潮が変わるまで働き続けた。</p>`:                                                                                                                                                                 "ja",
		`<p>Lorem ipsum dolor sit amet.</p>`: "",
	} {
		if got := metaOf(t, page).Language; got != want {
			t.Errorf("%.60s gives %q, want %q", page, got, want)
		}
	}
}

func TestBrokenJSONLDIsRead(t *testing.T) {
	for name, body := range map[string]string{
		"trailing comma": `{"@type":"Article","headline":"Right one",}`,
		"line end":       "{\"@type\":\"Article\",\"headline\":\"Right one\",\"description\":\"a\nb\"}",
		"cdata":          "//<![CDATA[\n{\"@type\":\"Article\",\"headline\":\"Right one\"}\n//]]>",
		"two objects":    `{"@type":"WebSite","name":"S"}{"@type":"Article","headline":"Right one"}`,
		"bad escape":     `{"@type":"Article","headline":"Right one","x":"\x"}`,
		"semicolon":      `{"@type":"Article","headline":"Right one"};`,
		"array":          `[{"@type":"BreadcrumbList"},[{"@type":"BlogPosting","headline":"Right one"}]]`,
		"main entity":    `{"@type":"WebPage","mainEntity":{"@type":"Article","headline":"Right one"}}`,
	} {
		if got := metaOf(t, `<title>Right one here</title><script type="application/ld+json">`+body+`</script>`).Title; got != "Right one" {
			t.Errorf("%s gives %q", name, got)
		}
	}
}

func TestListedArticlesAreNotThePage(t *testing.T) {
	m := metaOf(t, `<title>Latest news</title><h1>Latest news</h1><script type="application/ld+json">[{"@type":"NewsArticle","headline":"One","datePublished":"2024-01-01"},{"@type":"NewsArticle","headline":"Two","datePublished":"2024-01-02"}]</script>`)
	if m.Title != "Latest news" || m.PublishedAt != "" {
		t.Errorf("got %+v", m)
	}
}

func TestMetadataIsBoundedAndSafe(t *testing.T) {
	start := time.Now()
	for _, page := range []string{
		`<script type="application/ld+json">` + strings.Repeat(`{"a":[`, 200_000) + `</script>`,
		`<script type="application/ld+json">[` + strings.Repeat(`{"@type":"Article","headline":"x"},`, 50_000) + `{}]</script>`,
		strings.Repeat(`<meta name=a content=b>`, 100_000),
		strings.Repeat(`<time>5 maart 2024</time><p>published`, 50_000),
		`<title>` + strings.Repeat("x - ", 100_000) + `</title><h1>` + strings.Repeat("y | ", 100_000) + `</h1>`,
	} {
		m := metaOf(t, page)
		if len(m.Title) > longTitle {
			t.Errorf("a title of %d bytes", len(m.Title))
		}
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
	m := metaOf(t, `<link rel=canonical href="javascript:x"><meta property=og:image content="data:image/png;base64,x"><meta property=og:title content="a`+"\u202e\u200b"+`b">`)
	if m.Canonical != "" || m.Image != "" || m.Title != "ab" {
		t.Errorf("got %+v", m)
	}
}

func FuzzMetadata(f *testing.F) {
	for _, s := range []string{`<title>a - b</title>`, `<script type="application/ld+json">{"@type":"Article","author":{"@id":"x"}}</script>`, `<time>5 maart 2024</time>`, `<p class=byline>By x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, page string) {
		tree := dom.Parse([]byte(page), dom.Limits{})
		if a, b := Metadata(tree, nil), Metadata(tree, nil); !reflect.DeepEqual(a, b) {
			t.Errorf("two readings differ: %+v, %+v", a, b)
		}
	})
}

func TestWhatHeadsOftenSay(t *testing.T) {
	ld := func(s string) string { return `<script type="application/ld+json">` + s + `</script>` }
	for page, want := range map[string]Meta{
		ld(`{"@type":"Article","headline":"X","author":{"@type":"Person","name":["Ann","Bob"]},"dateCreated":"2020-01-01"}`):                                                             {Title: "X", Byline: "Ann, Bob", PublishedAt: "2020-01-01"},
		ld(`{"@graph":[{"@type":"WebPage","primaryImageOfPage":{"@id":"#i"}},{"@type":"ImageObject","@id":"#i","url":"https://i.example/p.jpg"}]}`):                                      {Image: "https://i.example/p.jpg"},
		`<title>P</title><h1>P</h1><p>Nieuwsbericht | 12-05-2020 | 10:30</p>`:                                                                                                            {Title: "P", PublishedAt: "2020-05-12"},
		`<title>P</title><h1>P</h1><p>Sluitingsdatum: 12 mei 2020</p>`:                                                                                                                   {Title: "P"},
		`<title>P</title><h1>P</h1><p>Tot 12-05-2020</p>`:                                                                                                                                {Title: "P"},
		`<title>P</title><h1>P</h1><p>Beküldve: 2021-06-03</p>`:                                                                                                                          {Title: "P", PublishedAt: "2021-06-03"},
		`<title>P</title><meta name="twitter:label1" content="Geschreven door"><meta name="twitter:data1" content="Dana Roe">`:                                                           {Title: "P", Byline: "Dana Roe"},
		`<title>Thoughts | Sam Boss</title><h1>Thoughts</h1><meta name=author content="Sam Boss">`:                                                                                       {Title: "Thoughts", Byline: "Sam Boss"},
		`<title>P</title><p class="post_author">By Anna Bakker, May 3, 2021 10:15 am</p><p class="comment-author">Troll</p>`:                                                             {Title: "P", Byline: "Anna Bakker"},
		`<title>P</title><p class="byline">Sat, 20 Dec, 2025</p>`:                                                                                                                        {Title: "P"},
		`<title>Een kop - Kade</title><meta property="og:site_name" content="Kade">` + ld(`{"@type":"WebPage","name":"Een kop - Kade"},{"@type":"Article","headline":"Een kop - Kade"}`): {Title: "Een kop", SiteName: "Kade"},
		`<title>Hij zei "nee"</title><meta property="og:title" content="Hij zei "nee"">`:                                                                                                 {Title: `Hij zei "nee"`},
		`<title>Havenkrant's thuis | De boot is weer terug</title>`:                                                                                                                      {Title: "De boot is weer terug"},
	} {
		got := metaOf(t, page)
		got.Language, got.Canonical = "", ""
		if want.SiteName == "" {
			got.SiteName = ""
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngives %+v\nwant  %+v", page, got, want)
		}
	}
}
