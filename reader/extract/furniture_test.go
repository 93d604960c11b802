package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

func TestWhatAPageLaysOverItselfIsLeftOut(t *testing.T) {
	const asks = `<h2>We value your privacy</h2><p>We and our partners store information on a device, such as unique identifiers, and process personal data for the purposes described below.</p>
<p>You may accept or manage your choices, including your right to object where legitimate interest is used, at any time on the page of our privacy policy.</p>
<p>Strictly necessary cookies are required for the site to work and cannot be switched off. Targeting cookies may be set through our site by our advertising partners.</p>`
	const offer = `<h1>Roof tiles, glazed</h1><p>Black, 42 by 26 centimetres, from a works on the river. A pallet holds two hundred and forty of them, enough for sixteen square metres.</p>
<p>They are fired twice, at over a thousand degrees, and stand frost. We have them in stock in black, in blue and in two reds.</p>`
	for _, c := range []struct{ open, close string }{
		{`<div role="dialog" aria-label="Privacy">`, "</div>"},
		{`<div role="alertdialog">`, "</div>"},
		{`<div aria-modal="true">`, "</div>"},
		{`<dialog open>`, "</dialog>"},
		{`<div class="cc-window cookie-notice">`, "</div>"},
		{`<section id="onetrust-consent-sdk">`, "</section>"},
	} {
		for _, page := range []string{"<main>" + offer + "</main>" + c.open + asks + c.close, c.open + asks + c.close + "<div>" + offer + "</div>"} {
			tree := dom.Parse([]byte("<html><body>"+page+"</body></html>"), dom.Limits{})
			got := keptText(tree, Extract(tree, nil, Options{}))
			if strings.Contains(got, "partners") || !strings.Contains(got, "fired twice") {
				t.Errorf("%s: %q", c.open, got)
			}
		}
	}
	for _, page := range []string{
		`<body class="cookie-consent-unset"><div>` + offer + `</div>`,         // the page bears the name for its style
		`<div role="dialog" aria-modal="true">` + offer + `</div><p>Menu</p>`, // the page shows nothing else
	} {
		tree := dom.Parse([]byte("<html>"+page+"</html>"), dom.Limits{})
		if got := keptText(tree, Extract(tree, nil, Options{})); !strings.Contains(got, "fired twice") {
			t.Errorf("the content is gone: %q of %q", got, page)
		}
	}
}
