package blocks

import (
	"net/url"
	"slices"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

// kept cuts a page of three posts, the last of which quotes the first, and keeps what is not dropped
// when the classifier is sure of all.
func kept(t *testing.T, address string) []bool {
	t.Helper()
	post := "I have tried three kinds of glue on the hull by now, and none of them holds when the wood gets wet again."
	tree := dom.Parse([]byte("<body><div><p>"+post+"</p></div><div><p>Then take the one that boat builders use, it costs more but it holds for years, even under water.</p></div><div><blockquote>"+post+"</blockquote><p>So did I.</p></div>"), dom.Limits{})
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var p Page
	p.Cut(tree, base, func(dom.ID) bool { return false })
	odds := make([]float32, len(p.Blocks))
	for i := range odds {
		odds[i] = 0.95
	}
	return Choose(odds, p.View())
}

func TestAThreadSaysNothingTwice(t *testing.T) {
	if got := kept(t, "https://www.example.org/forum/viewtopic.php?t=4"); !slices.Equal(got, []bool{true, true, false, true}) {
		t.Errorf("in a thread, kept is %v", got)
	}
	if got := kept(t, "https://www.example.org/hulls"); slices.Contains(got, false) {
		t.Errorf("elsewhere, kept is %v", got)
	}
}

func TestQuestionsOfAListOfQuestionsAreNoThread(t *testing.T) {
	faq := Facts{Types: schemaType("FAQPage") | schemaType("Question")}
	asked := Facts{Types: schemaType("QAPage") | schemaType("Question")}
	if faq.thread() || !asked.thread() {
		t.Errorf("a list of questions is a thread: %v; a question is one: %v", faq.thread(), asked.thread())
	}
}
