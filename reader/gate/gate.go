// Package gate applies policy to the world: it gathers what a site says (robots.txt, signals,
// opt-outs), asks policy.Judge, waits for the host's turn, judges again, fetches, and judges what
// came back. Nobody reaches a site but through Get.
package gate

import (
	"context"

	"github.com/webreaderapi/webreader/policy"
)

// Gate is the only way to a site.
type Gate struct{}

// Decide answers the verdict for a without requesting the page. It may request robots.txt.
func (g *Gate) Decide(ctx context.Context, a Ask) (policy.Verdict, error) {
	return policy.Verdict{}, nil
}

// Get reads one page. A refusing verdict comes with a *fault.Error whose Err is a *policy.Refusal.
func (g *Gate) Get(ctx context.Context, a Ask) (Page, policy.Verdict, error) {
	return Page{}, policy.Verdict{}, nil
}
