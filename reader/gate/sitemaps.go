package gate

import "context"

// Sitemaps are the addresses that the robots.txt of a's target names as sitemaps, as they stand there; it
// may request robots.txt. There are none where robots.txt is absent or not reachable.
func (g *Gate) Sitemaps(ctx context.Context, a Ask) ([]string, error) {
	r, ctx, end, err := g.begin(ctx, a)
	if err != nil {
		return nil, err
	}
	defer end()
	c, v, err := r.judge(ctx, a.Target)
	if err != nil {
		return nil, err
	}
	if refusedByUs(v) {
		return nil, refusalFault(v)
	}
	if c.Signals.Robots.File == nil {
		return nil, nil
	}
	return c.Signals.Robots.File.Sitemaps, nil
}
