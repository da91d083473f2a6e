package frontend_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// flaky is a store that does not answer when told so, before or after it has done what was asked.
type flaky struct {
	frontend.Store
	mu    sync.Mutex
	op    string
	times int
	after bool
}

func (s *flaky) fail(op string, times int, after bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.op, s.times, s.after = op, times, after
}

var errLost = fmt.Errorf("connection reset: %w", engine.ErrUnavailable)

func fails[T any](s *flaky, op string, do func() (T, error)) (T, error) {
	s.mu.Lock()
	failing, after := s.op == op && s.times > 0, s.after
	if failing {
		s.times--
	}
	s.mu.Unlock()
	var none T
	if failing && !after {
		return none, errLost
	}
	v, err := do()
	if failing {
		return none, errLost
	}
	return v, err
}

func (s *flaky) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	return fails(s, "signal", func() (engine.Written, error) { return s.Store.Signal(ctx, req) })
}

func (s *flaky) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	return fails(s, "start", func() (engine.Written, error) { return s.Store.Start(ctx, req) })
}

func (s *flaky) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	return fails(s, "load", func() (core.Head, error) { return s.Store.Load(ctx, tenant, thread) })
}
