package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// reads counts the reads of a journal, and changes what an earlier state of it has.
type reads struct {
	engine.Store
	change                func([]core.Segment) ([]core.Segment, error)
	consistently, earlier int
}

func (s *reads) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	s.consistently++
	return s.Store.Segments(ctx, tenant, thread, from, to)
}

func (s *reads) EarlierSegments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	s.earlier++
	segments, err := s.Store.Segments(ctx, tenant, thread, from, to)
	if err != nil {
		return nil, err
	}
	return s.change(segments)
}

// Each step begins in a new process. What an earlier state of the journal lacks is read
// consistently, and never makes a difference.
func TestAnEarlierStateOfTheJournalCountsOnlyIfItIsWhole(t *testing.T) {
	whole := func(segments []core.Segment) ([]core.Segment, error) { return segments, nil }
	for name, c := range map[string]struct {
		change func([]core.Segment) ([]core.Segment, error)
		enough bool
	}{
		"whole":                {whole, true},
		"the last is missing":  {func(s []core.Segment) ([]core.Segment, error) { return s[:len(s)-1], nil }, false},
		"the first is missing": {func(s []core.Segment) ([]core.Segment, error) { return s[1:], nil }, false},
		"nothing is there":     {func([]core.Segment) ([]core.Segment, error) { return nil, nil }, false},
		"unreadable":           {func([]core.Segment) ([]core.Segment, error) { return nil, engine.ErrUnreadable }, false},
		"no answer":            {func([]core.Segment) ([]core.Segment, error) { return nil, errors.New("no answer") }, false},
		"the last was never committed": {func(s []core.Segment) ([]core.Segment, error) {
			s = slices.Clone(s)
			s[len(s)-1].W++
			return s, nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{"n":1}`)), calls(call("c2", "echo", `{"n":2}`)), says("done"))
			store := &reads{Store: r.db, change: c.change}
			r.store = store
			r.start("hi")
			for r.head().Status != core.RunDone {
				r.build(engine.Options{Earlier: store})
				r.step()
			}
			r.wantRan(`echo{"n":1}`, `echo{"n":2}`)
			r.wantRun(core.RunDone, core.NaturalEnd)
			if store.earlier == 0 || (store.consistently == 0) != c.enough {
				t.Errorf("%d reads of an earlier state, %d consistent ones", store.earlier, store.consistently)
			}
		})
	}
}
