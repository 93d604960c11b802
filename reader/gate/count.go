package gate

import (
	"context"
	"sync/atomic"
)

type countKey struct{}

// Counting is ctx, and how many requests to sites were made under it so far: pages, redirects, robots.txt.
func Counting(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, countKey{}, n), n
}

func count(ctx context.Context) {
	if n, ok := ctx.Value(countKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
