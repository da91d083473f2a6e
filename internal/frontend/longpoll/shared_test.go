package longpoll_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/dormouse-dev/dormouse/internal/frontend/longpoll"
)

// source is what readers want; each read of it lasts until it is over or unwanted.
type source struct {
	longpoll.Shared[string, int]
	reads, stopped atomic.Int64
	over           chan error
}

func (s *source) want(ctx context.Context, key string, got chan<- error) {
	go func() {
		n, err := s.Do(ctx, key, func(ctx context.Context) (int, error) {
			s.reads.Add(1)
			select {
			case err := <-s.over:
				return 7, err
			case <-ctx.Done():
				s.stopped.Add(1)
				return 0, ctx.Err()
			}
		})
		if err == nil && n != 7 {
			err = errors.New("another value")
		}
		got <- err
	}()
	synctest.Wait()
}

func TestReadersOfOneThingShareARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, got := &source{over: make(chan error)}, make(chan error, 101)
		for range 100 {
			s.want(t.Context(), "a", got)
		}
		s.want(t.Context(), "b", got)
		if n := s.reads.Load(); n != 2 {
			t.Errorf("%d reads of two things", n)
		}
		s.over <- nil
		s.over <- nil
		for range 101 {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
		s.want(t.Context(), "a", got)
		if n := s.reads.Load(); n != 3 {
			t.Error("what was read before is given again")
		}
		broken := errors.New("broken")
		s.want(t.Context(), "a", got)
		s.over <- broken
		for range 2 {
			if err := <-got; !errors.Is(err, broken) {
				t.Error(err)
			}
		}
	})
}

func TestAReadLastsAsLongAsSomeoneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, got := &source{over: make(chan error)}, make(chan error, 3)
		first, firstLeaves := context.WithCancel(t.Context())
		second, secondLeaves := context.WithCancel(t.Context())
		defer firstLeaves()
		defer secondLeaves()
		s.want(first, "a", got)
		s.want(second, "a", got)
		firstLeaves()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		if s.stopped.Load() != 0 {
			t.Fatal("the read ended with the one that began it")
		}
		secondLeaves()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		if s.stopped.Load() != 1 {
			t.Error("a read goes on though all have left")
		}
		s.want(t.Context(), "a", got)
		s.over <- nil
		if err := <-got; err != nil || s.reads.Load() != 2 {
			t.Errorf("after all have left: %v, %d reads", err, s.reads.Load())
		}
	})
}

func TestAReadThatPanicsIsAnError(t *testing.T) {
	var s longpoll.Shared[string, int]
	if _, err := s.Do(t.Context(), "a", func(context.Context) (int, error) { panic("broken") }); err == nil {
		t.Error("no error")
	}
	if got, err := s.Do(t.Context(), "a", func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("afterwards: %d, %v", got, err)
	}
}
