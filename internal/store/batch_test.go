package store

import (
	"context"
	"errors"
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
	})
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
	})
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
