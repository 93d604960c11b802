package store

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestABadItemHarmsNobodyElse(t *testing.T) {
	bad := errors.New("bad")
	var written atomic.Int64
	b := newBatcher(func(_ context.Context, items []*int) error {
		for _, item := range items {
			if *item%10 == 0 {
				return bad
			}
		}
		written.Add(int64(len(items)))
		return nil
	}, nil)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if err := b.do(t.Context(), &i); (i%10 == 0) != errors.Is(err, bad) {
				t.Errorf("item %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	b.close()
	if written.Load() != 90 {
		t.Errorf("%d items were written", written.Load())
	}
}

func TestWhatWasTakenIsWrittenBeforeTheEnd(t *testing.T) {
	var written atomic.Int64
	started, release := make(chan struct{}), make(chan struct{})
	b := newBatcher(func(_ context.Context, items []*int) error {
		if written.Add(int64(len(items))) == 1 {
			close(started)
			<-release
		}
		return nil
	}, nil)
	var wg sync.WaitGroup
	var refused atomic.Int64
	item := 1
	try := func() {
		if err := b.do(context.Background(), &item); err != nil {
			refused.Add(1)
		}
	}
	wg.Go(try)
	<-started
	for range 20 {
		wg.Go(try)
	}
	go close(release)
	b.close()
	wg.Wait()
	if written.Load()+refused.Load() != 21 {
		t.Errorf("%d written and %d refused of 21", written.Load(), refused.Load())
	}
	if err := b.do(t.Context(), &item); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.do(ctx, &item); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
}

// Two large sitemaps are two transactions.
func TestHeavyItemsAreWrittenApart(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	var sizes []int
	b := newBatcher(func(_ context.Context, items []*int) error {
		if sizes = append(sizes, len(items)); len(sizes) == 1 {
			close(started)
			<-release
		}
		return nil
	}, func(weight *int) int { return *weight })
	var wg sync.WaitGroup
	write := func(weight int) { wg.Go(func() { noError(t, b.do(t.Context(), &weight)) }) }
	write(1)
	<-started
	for range 4 {
		write(maxWeight / 2)
	}
	for len(b.in) < 4 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	b.close()
	if !slices.Equal(sizes, []int{1, 2, 2}) {
		t.Errorf("transactions of %v items, want 1, 2, 2", sizes)
	}
}
