package markdown_test

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// TestShapes has the forms in which generators of pages write what a reader means by one thing.
func TestShapes(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"github code":     {`<div class="highlight highlight-source-rust"><pre>fn x() {}</pre></div>`, "```rust\nfn x() {}\n```"},
		"math as code":    {`<pre lang="math"><code>x^2</code></pre>`, "$$x^2$$"},
		"brush":           {`<pre class="brush: php; gutter: false">echo 1;</pre>`, "```php\necho 1;\n```"},
		"prettyprint":     {`<pre class="prettyprint lang-css">a{}</pre>`, "```css\na{}\n```"},
		"shiki":           {"<pre class=shiki data-language=ts><code><span class=line>a</span>\n<span class=line></span>\n<span class=line>b</span></code></pre>", "```ts\na\n\nb\n```"},
		"lines by spans":  {"<pre><code><span class=line>a</span><span class=line></span><span class=line>b</span></code></pre>", "```\na\n\nb\n```"},
		"docusaurus":      {`<pre class="language-jsx"><code><span class="token-line">a<br></span><span class="token-line">b<br></span></code><button>Copy</button></pre>`, "```jsx\na\nb\n```"},
		"sphinx prompt":   {`<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span><span class="gp">&gt;&gt;&gt; </span>x</pre></div></div>`, "```python3\n>>> x\n```"},
		"hexo":            {`<figure class="highlight js"><table><tr><td class="gutter"><pre><span class="line">1</span><br></pre></td><td class="code"><pre><span class="line">var a</span><br><span class="line">var b</span><br></pre></td></tr></table></figure>`, "```js\nvar a\nvar b\n```"},
		"hljs lines":      {`<pre><code class="hljs"><table class="hljs-ln"><tr><td class="hljs-ln-numbers">1</td><td class="hljs-ln-code">x=1</td></tr><tr><td class="hljs-ln-numbers">2</td><td class="hljs-ln-code">y=2</td></tr></table></code></pre>`, "```\nx=1\ny=2\n```"},
		"old highlighter": {`<div class="syntaxhighlighter java"><table><tr><td class="gutter"><div class="line">1</div><div class="line">2</div></td><td class="code"><div class="container"><div class="line"><code>int a;</code></div><div class="line"><code>int b;</code></div></div></td></tr></table></div>`, "```java\nint a;\nint b;\n```"},
		"rowspan":         {`<table><tr><th>A</th><th>B</th></tr><tr><td rowspan=2>x</td><td>1</td></tr><tr><td>2</td></tr></table>`, "| A | B |\n| --- | --- |\n| x | 1 |\n|  | 2 |"},
		"table by roles":  {`<div role=table>Cap<div role=rowgroup><div role=row><div role=columnheader>A</div><div role=columnheader>B</div></div></div><div role=row>stray<span role=cell>1</span><span role=cell>2</span></div></div>`, "|  |  |  |\n| --- | --- | --- |\n| Cap |  |  |\n| A | B |  |\n| stray | 1 | 2 |"},
		"start":           {`<ol start="5"><li>a</li><li>b</li></ol>`, "5. a\n6. b"},
		"reversed":        {`<ol reversed><li>a</li><li>b</li></ol>`, "2. a\n1. b"},
		"two lists":       {`<ul><li>a</li></ul><ul><li>b</li></ul>`, "- a\n\n* b"},
		"task in label":   {`<ul><li><label><input type=checkbox checked> done</label></li><li><p><input type=checkbox> todo</p></li></ul>`, "- [x] done\n- [ ] todo"},
		"task by role":    {`<ul data-type="taskList"><li data-checked="true"><div><p>done</p></div></li></ul>`, "- [x] done"},
		"wikipedia note":  {`<p>Text<sup id="cite_ref-1"><a href="#cite_note-1"><span>[</span>1<span>]</span></a></sup>.</p><ol class="references"><li id="cite_note-1"><span class="mw-cite-backlink"><b><a href="#cite_ref-1">^</a></b></span> <span>Smith.</span></li></ol>`, "Text[^1].\n\n[^1]: Smith."},
		"word note":       {`<p>Text<sup><a href="#_ftn1" name="_ftnref1">[1]</a></sup>.</p><hr><p><a href="#_ftnref1" name="_ftn1">[1]</a> Note.</p>`, "Text[^1].\n\n[^1]: Note."},
		"pandoc note":     {`<p>Text<a href="#fn1" class="footnote-ref" id="fnref1"><sup>1</sup></a></p><section class="footnotes"><hr><ol><li id="fn1"><p>Note.<a href="#fnref1" class="footnote-back">↩</a></p></li></ol></section>`, "Text[^1]\n\n[^1]: Note."},
		"wordpress note":  {`<p>Text<sup data-fn="u" class="fn"><a href="#u" id="u-link">1</a></sup></p><ol class="wp-block-footnotes"><li id="u">Note <a href="#u-link">↩︎</a></li></ol>`, "Text[^1]\n\n[^1]: Note"},
		"plain sup note":  {`<p>Text<sup><a href="#note1">1</a></sup></p><p id="note1">1. Note.</p>`, "Text[^1]\n\n[^1]: Note."},
		"mathjax 2":       {`<p>x <span class="MathJax_Preview"></span><span class="MathJax">junk</span><script type="math/tex">a_b</script></p>`, "x $a_b$"},
		"mathjax 3":       {`<mjx-container display="true"><mjx-math><mjx-mi>q</mjx-mi></mjx-math><mjx-assistive-mml><math display="block"><msqrt><mi>q</mi></msqrt></math></mjx-assistive-mml></mjx-container>`, `$$\sqrt{q}$$`},
		"mathml":          {`<p><math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mfrac><mi>α</mi><mn>2</mn></mfrac></math></p>`, `$x^2 + \frac{\alpha}{2}$`},
		"wikipedia math":  {`<p><span class="mwe-math-element"><span style="display: none;" class="mwe-math-mathml-inline"><math alttext="{\displaystyle z}"><mi>z</mi></math></span><img class="mwe-math-fallback-image-inline" alt="{\displaystyle z}" src="z.svg"></span></p>`, "$z$"},
		"math is safe":    {`<math><annotation encoding="application/x-tex">[x](javascript:a) &lt;script></annotation></math>`, "$[x] (javascript:a) < script>$"},
		"tex in text":     {`<script src="https://cdn.example/mathjax@3/tex.js"></script><p>Let \(a_1*b_2*c\) be. \[x_i\]</p>`, "Let $a_1*b_2*c$ be.\n\n$$x_i$$"},
		"no tex in text":  {`<p>Use \(a\) in sed.</p>`, `Use \\(a\\) in sed.`},
		"picture":         {`<picture><source srcset="/a.webp 400w, /b.webp 800w"><img alt="P"></picture>`, "![P](https://example.com/b.webp)"},
		"srcset":          {`<img srcset="/a.jpg 1x, /b.jpg 2x" alt="S">`, "![S](https://example.com/b.jpg)"},
		"vimeo":           {`<iframe src="https://player.vimeo.com/video/12345" title="V"></iframe>`, "[V](https://vimeo.com/12345)"},
		"amp-youtube":     {`<amp-youtube data-videoid="abc"></amp-youtube>`, "[Video](https://www.youtube.com/watch?v=abc)"},
		"video":           {`<video><source src="/v.mp4"></video>`, "[Video](https://example.com/v.mp4)"},
		"card":            {`<a href="/c"><div><h3>Title</h3></div><p>Teaser</p></a>`, "### [Title](https://example.com/c)\n\nTeaser"},
		"address as text": {`<a href="https://e.example/x_y">https://e.example/x_y</a>`, "<https://e.example/x_y>"},
		"links touch":     {`<p><a href="/a">A</a><a href="/b">B</a></p>`, "[A](https://example.com/a) [B](https://example.com/b)"},
		"bold blanks":     {`<p>x<b> bold </b>y</p>`, "x **bold** y"},
		"bold twice":      {`<p><b>a</b><b>b</b></p>`, "**ab**"},
		"bold in nothing": {`<p><b>a</b><s><b>b</b></s>c</p>`, "**a**~~b~~c"},
		"bold goes on":    {`<p><b>a</b><b><a href="https://x.example/"><code>b </code>c</a></b></p>`, "**a[`b` c](https://x.example/)**"},
		"code side by":    {`<p><code>a</code><code>b</code></p>`, "`ab`"},
		"nested details":  {`<details><summary>A</summary><details><summary>B</summary><p>C</p></details></details>`, "**A**\n\n**B**\n\nC"},
		"callout":         {`<div class="admonition note"><p class="admonition-title">Note</p><p>Body</p></div>`, "> **Note**\n>\n> Body"},
		"edit link":       {`<h2>A<span class="mw-editsection">[<a href="/e">edit</a>]</span></h2>`, "## A"},
		"line starts":     {`<p>1. a</p><p>+ b</p><p>&gt; c</p><p>- d<br># e</p>`, "1\\. a\n\n\\+ b\n\n\\> c\n\n\\- d  \n\\# e"},
		"entities typed":  {`<p>&amp;copy; &amp;#38; a&amp;b AT&amp;T; &amp; c AT&amp;T <a href="/q?a=1&amp;b=2">&amp;<span>amp</span><span>; https://e.example/?a=1&amp;b=2</a></p>`, "\\&copy; \\&#38; a&b AT\\&T; & c AT&T [\\&amp; https://e.example/?a=1&b=2](https://example.com/q?a=1&b=2)"},
		"ordinal":         {`<p>the 3<sup>rd</sup>, x<sup>n</sup></p>`, "the 3rd, x<sup>n</sup>"},
		"caption":         {`<table><caption>Cap</caption><tr><th>A</th></tr><tr><td>1</td></tr></table>`, "Cap\n\n| A |\n| --- |\n| 1 |"},
		"bold side by":    {`<p><b>a</b> <b>b</b> <s>c</s> <del>d</del></p>`, "**a** **b** ~~c~~ ~~d~~"},
		"struck by style": {`<p>x <span style="text-decoration:line-through">y</span></p>`, "x ~~y~~"},
		"list in list":    {`<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>`, "- a\n  - b\n- c"},
		"confluence task": {`<ul class="inline-task-list"><li class="checked" data-inline-task-id="1">a</li><li data-inline-task-id="2">b</li></ul>`, "- [x] a\n- [ ] b"},
		"notion task":     {`<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> a</li><li><div class="checkbox checkbox-off"></div> b</li></ul>`, "- [x] a\n- [ ] b"},
		"code's label":    {`<div class="language-sh"><span class="lang">sh</span><pre><code>ls</code></pre></div>`, "```sh\nls\n```"},
		"code's toolbox":  {`<pre><code class="language-sh">ls</code><div class="source-toolbox"><span>sh</span></div></pre>`, "```sh\nls\n```"},
		"sphinx note":     {`<p>a<a role="doc-noteref" href="#id2" id="id1">[1]</a></p><aside role="doc-footnote" id="id2"><span>[</span><a role="doc-backlink" href="#id1">1</a><span>]</span><p>Note.</p></aside>`, "a[^1]\n\n[^1]: Note."},
		"github math":     {`<p>x <math-renderer>$a_1$</math-renderer></p><math-renderer>$$b_1*c_2*$$</math-renderer>`, "x $a_1$\n\n$$b_1*c_2*$$"},
		"no cookie frame": {`<iframe src="https://www.youtube-nocookie.com/embed/abc"></iframe><iframe src="https://consent.example/x"></iframe>`, "[Video](https://www.youtube.com/watch?v=abc)"},
		"loose notes":     {`<p>One.<sup>1</sup> Two 5 m<sup>2</sup>.<sup>2</sup></p><hr><p><sup>1</sup> First.</p><p><b><sup>2</sup> Second:</b> more.</p>`, "One.[^1] Two 5 m<sup>2</sup>.[^2]\n\n[^1]: First.\n\n[^2]: **Second:** more."},
		"verses":          {`<p><sup>1</sup> In the beginning. <sup>2</sup> And so.</p><p><sup>3</sup> Then there. <sup>1</sup> x</p>`, "<sup>1</sup> In the beginning. <sup>2</sup> And so.\n\n<sup>3</sup> Then there. <sup>1</sup> x"},
		"labelled notes":  {`<p>One<sup>1</sup>, two<sup>2</sup>.</p><h3>Voetnoten</h3><ol><li>Eén.</li><li>Twee.</li><li>Drie.</li></ol>`, "One[^1], two[^2].\n\n### Voetnoten\n\n[^1]: Eén.\n\n[^2]: Twee.\n\n3. Drie."},
		"notes by number": {`<p>a <a href="#r1">[1]</a> b <a href="#bib.2">2</a></p><ol><li><a id="r1"></a>One.</li></ol><ul><li id="bib.2"><span>[2]</span> Two.</li></ul>`, "a[^1] b[^2]\n\n[^1]: One.\n\n[^2]: Two."},
		"no note":         {`<p><a href="#s1">1</a></p><h2 id="s1">1. Start</h2><p>Text.</p>`, "[1](https://example.com/docs/page.html#s1)\n\n## 1. Start\n\nText."},
		"word notes left": {`<p>a<sup><a href="#_ftn1">[1]</a></sup></p><p><sup><a href="//GUID#_ftnref1">[1]</a> </sup>Note.</p>`, "a[^1]\n\n[^1]: Note."},
		"sidenote":        {`<p>One<label for="sn" class="margin-toggle sidenote-number"></label><input type="checkbox" id="sn" class="margin-toggle"><span class="sidenote">Aside <i>x</i>.</span> goes on.</p><p>Two.</p>`, "One[^1] goes on.\n\nTwo.\n\n[^1]: Aside *x*."},
		"arxiv equation":  {`<table class="ltx_equation ltx_eqn_table"><tr><td></td><td><math display="block"><mi>x</mi></math></td><td></td></tr></table>`, "$$x$$"},
		"formula's alt":   {`<p><img src="/e.svg" alt="\exp(x) - \frac{a}{b}"> <img src="/f.png" alt="C:\dir\f"></p>`, "$\\exp(x) - \\frac{a}{b}$ ![C:\\\\dir\\\\f](https://example.com/f.png)"},
		"any lazy image":  {`<img src="data:image/svg+xml,x" data-image-loader="https://i.example/a.png?w=1" data-image-path="a.png" alt="A">`, "![A](https://i.example/a.png?w=1)"},
		"preview's twin":  {`<div><div><img src="/s60.png"></div><img class="l"><noscript><img src="/s.png" srcset="/s9.png 9w" alt="S"></noscript></div>`, "![S](https://example.com/s.png)"},
		"hidden preview":  {`<p>a</p><img style="display:none" data-src="/o.jpg" alt="O"><noscript><img src="/o.jpg" alt="O"></noscript>`, "a\n\n![O](https://example.com/o.jpg)"},
		"lightbox":        {`<p><a href="/big.jpg"><img src="/small.jpg" alt="A"></a><img src="/big.jpg"></p>`, "[![A](https://example.com/small.jpg)](https://example.com/big.jpg)"},
		"emoji permalink": {`<h2>A <a href="find/?x=1">🔗</a></h2>`, "## A"},
		"numbered rows":   {`<pre><div class="row"><span>9</span><div>a</div></div><div class="row"><span>10</span><div>b</div></div></pre>`, "```\na\nb\n```"},
		"rows of numbers": {`<pre><div><span>1</span><i>a</i></div><div><span>3</span><i>b</i></div></pre>`, "```\n1a\n3b\n```"},
		"chroma inline":   {"<pre><code class=language-go><span style=display:flex><span style=\"user-select:none;color:#777\"> 1</span><span>a\n</span></span><span style=display:flex><span style=\"user-select:none;color:#777\"> 2</span><span>b\n</span></span></code></pre>", "```go\na\nb\n```"},
		"editor":          {`<pre><div><div>Python<button>Copy</button></div><div class="cm-editor"><div class="cm-content"><span>a</span><br><span>b</span></div></div></div></pre>`, "```python\na\nb\n```"},
		"asciidoc note":   {`<p>A<sup class="footnote">[<a id="_ref_1" class="footnote" href="#_def_1">1</a>]</sup>.</p><div class="footnote" id="_def_1"><a href="#_ref_1">1</a>. Note.</div>`, "A[^1].\n\n[^1]: Note."},
		"github task":     {`<ul><li class="task-list-item"><task-lists-item><input type="checkbox" checked></task-lists-item> a</li></ul>`, "- [x] a"},
		"span caption":    {`<div><img src="/w.jpg" alt="W"><span class="caption">Words</span></div>`, "![W](https://example.com/w.jpg)\n\nWords"},
		"told permalink":  {`<h2><a class="anchor-link" href="#x">Link to this section</a>A</h2><h3>B <a class="direct-link" href="#b"><span>Permalink to B</span>#</a></h3>`, "## A\n\n### B"},
		"single dollars":  {`<script>MathJax={tex:{inlineMath:[['$','$']]}}</script><script src="mathjax.js"></script><p>a $x_1$ b $5 and $ 6</p>`, "a $x_1$ b \\$5 and \\$ 6"},
		"object":          {`<object type="text/html" data="https://player.vimeo.com/video/76"></object><object data="/d.pdf"><a href="/d.pdf">PDF</a></object>`, "[Video](https://vimeo.com/76)\n\n[PDF](https://example.com/d.pdf)"},
		"empty bold":      {`<p>a<b> </b>b<i></i>c</p>`, "a bc"},
	} {
		if got := render(t, c.page, "https://example.com/docs/page.html", markdown.Options{NoTokens: true}).Markdown; got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	page := `<h1>My title</h1><p>See <a href="/a">one</a> and <a href="/a">two</a> [3].</p><p><img src="/i.png" alt="Pic"> end</p>`
	for name, c := range map[string]struct {
		o    markdown.Options
		want string
	}{
		"title":      {markdown.Options{Title: "My Title!"}, "See [one](https://example.com/a) and [two](https://example.com/a) [3].\n\n![Pic](https://example.com/i.png) end"},
		"references": {markdown.Options{Links: "references"}, "# My title\n\nSee [one][1] and [two][1] \\[3\\].\n\n![Pic](https://example.com/i.png) end\n\n[1]: https://example.com/a"},
		"none":       {markdown.Options{Links: "none", Images: "none"}, "# My title\n\nSee one and two [3].\n\nend"},
		"alt":        {markdown.Options{Links: "none", Images: "alt"}, "# My title\n\nSee one and two [3].\n\nPic end"},
	} {
		if got := render(t, page, "https://example.com/", c.o).Markdown; got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestLinksAndImagesAreCollected(t *testing.T) {
	r := render(t, `<p><a href="/a">one <b>b</b></a> <a href="javascript:x">no</a><img src="/i.png" alt="Pic"></p>`, "https://example.com/", markdown.Options{Collect: true})
	if len(r.Links) != 1 || r.Links[0] != (markdown.Link{URL: "https://example.com/a", Text: "one b"}) || len(r.Images) != 1 || r.Images[0] != (markdown.Image{URL: "https://example.com/i.png", Alt: "Pic"}) {
		t.Errorf("%+v %+v", r.Links, r.Images)
	}
}

func TestMaxTokensCutsAtABlock(t *testing.T) {
	page := strings.Repeat("<p>One paragraph of nine words stands here, alone.</p><ul><li>a</li><li>b</li></ul>", 20)
	full := render(t, page, "https://example.com/", markdown.Options{})
	if full.Tokens != markdown.Tokens(full.Markdown) || full.Truncated {
		t.Errorf("%d tokens, truncated %v", full.Tokens, full.Truncated)
	}
	for most := 1; most < full.Tokens; most += 7 {
		r := render(t, page, "https://example.com/", markdown.Options{MaxTokens: most})
		if !r.Truncated || r.Tokens > most || r.Tokens != markdown.Tokens(r.Markdown) || !strings.HasPrefix(full.Markdown, r.Markdown) {
			t.Errorf("most %d gives %d tokens, truncated %v", most, r.Tokens, r.Truncated)
		}
		if most > 12 && !strings.HasSuffix(r.Markdown, "alone.") && !strings.HasSuffix(r.Markdown, "b") && !strings.HasSuffix(r.Markdown, "- a") {
			t.Errorf("most %d ends with %q", most, r.Markdown[max(0, len(r.Markdown)-20):])
		}
	}
	if r := render(t, page, "https://example.com/", markdown.Options{MaxTokens: full.Tokens}); r.Truncated || r.Markdown != full.Markdown {
		t.Error("a page that fits is cut")
	}
}

func TestTextAndHTML(t *testing.T) {
	tree := dom.Parse([]byte(`<h2>A *b*</h2><p onclick=x class=y>c <a href="javascript:x">d</a> <b>e</b><script>no</script></p><ul><li>f</li></ul><table><tr><th>g</th><th>h</th></tr><tr><td>1</td><td>2</td></tr></table><pre>i  j</pre>`), dom.Limits{})
	keep := keepVisible(tree)
	if got, want := markdown.Text(tree, keep, markdown.Options{}), "A *b*\n\nc d e\n\n- f\n\ng\th\n1\t2\n\ni  j"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	got := markdown.HTML(tree, keep, markdown.Options{})
	if want := `<h2>A *b*</h2>`; !strings.HasPrefix(got, want) || strings.Contains(got, "script") || strings.Contains(got, "class") || strings.Contains(got, "onclick") || !strings.Contains(got, "<td>1</td>") {
		t.Errorf("html %s", got)
	}
}
