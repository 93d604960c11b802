package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxBatch is how many items one transaction takes at most.
const maxBatch = 200

// maxWeight is what the items of one transaction may weigh, but for the last one: the URLs that they queue. Others
// wait for its locks.
const maxWeight = 5000

// flushTime is how long the transaction of a batch may take.
const flushTime = 20 * time.Second

// errClosed is returned for what comes after Close.
var errClosed = errors.New("the store is closed")

// batcher writes items of many callers in one transaction: one commit for all that came while the
// last one was written. Nothing waits for company: a lone item is written at once.
type batcher[T any] struct {
	flush func(ctx context.Context, items []*T) error
	weigh func(*T) int // how much of maxWeight an item takes; nil is nothing
	in    chan *waiting[T]
	quit  chan struct{}
	once  sync.Once
	done  sync.WaitGroup
}

type waiting[T any] struct {
	item *T
	err  chan error
}

func newBatcher[T any](flush func(ctx context.Context, items []*T) error, weigh func(*T) int) *batcher[T] {
	b := &batcher[T]{flush: flush, weigh: weigh, in: make(chan *waiting[T], maxBatch), quit: make(chan struct{})}
	b.done.Go(b.run)
	return b
}

// do writes item and answers when it is committed. ctx counts until the item is taken; from then on
// do waits, so that its caller always learns what became of it.
func (b *batcher[T]) do(ctx context.Context, item *T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiting[T]{item, make(chan error, 1)}
	select {
	case b.in <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.quit:
		return errClosed
	}
	select {
	case err := <-w.err:
		return err
	case <-b.quit:
		b.done.Wait()
	}
	select {
	case err := <-w.err:
		return err
	default:
		return errClosed
	}
}

func (b *batcher[T]) run() {
	for {
		select {
		case first := <-b.in:
			b.write(b.gather(first))
		case <-b.quit:
			b.drain()
			return
		}
	}
}

// drain writes what was taken before the end.
func (b *batcher[T]) drain() {
	for {
		select {
		case first := <-b.in:
			b.write(b.gather(first))
		default:
			return
		}
	}
}

func (b *batcher[T]) gather(first *waiting[T]) []*waiting[T] {
	batch := []*waiting[T]{first}
	for weight := b.weight(first); len(batch) < maxBatch && weight < maxWeight; {
		select {
		case next := <-b.in:
			batch = append(batch, next)
			weight += b.weight(next)
		default:
			return batch
		}
	}
	return batch
}

func (b *batcher[T]) weight(w *waiting[T]) int {
	if b.weigh == nil {
		return 0
	}
	return b.weigh(w.item)
}

// write flushes a batch. When it fails as a whole, each item is tried alone, so that one bad item
// harms nobody else.
func (b *batcher[T]) write(batch []*waiting[T]) {
	items := make([]*T, len(batch))
	for i, w := range batch {
		items[i] = w.item
	}
	err := b.timed(items)
	if err == nil || len(batch) == 1 {
		for _, w := range batch {
			w.err <- err
		}
		return
	}
	for _, w := range batch {
		w.err <- b.timed([]*T{w.item})
	}
}

func (b *batcher[T]) timed(items []*T) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	return b.flush(ctx, items)
}

// close writes what was taken and ends the goroutine.
func (b *batcher[T]) close() {
	b.once.Do(func() { close(b.quit) })
	b.done.Wait()
}
