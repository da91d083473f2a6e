package frontend_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// poisoned is a store in which something of one thread cannot be read.
type poisoned struct {
	frontend.Store
	thread         string
	journal, heads error
	// the head is listed without calls, as stores list what they cannot read
	bare bool
	torn bool
	deep bool // the arguments of waiting calls are nested deeper than readers go
}

func (s *poisoned) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	segments, err := s.Store.Segments(ctx, tenant, thread, from, to)
	switch {
	case thread != s.thread:
	case s.journal != nil:
		return nil, s.journal
	case s.torn:
		return nil, nil
	case s.deep:
		for _, segment := range segments {
			for i, e := range segment.Events {
				if e.Type == core.EventCallSuspended {
					segment.Events[i].Data = json.RawMessage(strings.ReplaceAll(string(e.Data), `{}`, strings.Repeat(`{"a":`, 1100)+"1"+strings.Repeat("}", 1100)))
				}
			}
		}
	}
	return segments, err
}

func (s *poisoned) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	if thread == s.thread && s.heads != nil {
		return core.Head{}, s.heads
	}
	return s.Store.Load(ctx, tenant, thread)
}

func (s *poisoned) Approvals(ctx context.Context, tenant, cursor string, limit int) ([]core.Head, string, error) {
	heads, next, err := s.Store.Approvals(ctx, tenant, cursor, limit)
	for i, h := range heads {
		if s.bare && h.Thread == s.thread {
			heads[i].Calls = nil
		}
	}
	return heads, next, err
}

// One run that cannot be read keeps nobody from the others, and the pages go on behind it.
func TestOneUnreadableRunHidesNoOther(t *testing.T) {
	lost := errors.Join(engine.ErrUnavailable, engine.ErrUnreadable)
	for _, tt := range []struct {
		name          string
		store         poisoned
		runs, waiting bool // whether the lists mark it
	}{
		{"its journal cannot be read", poisoned{journal: lost}, true, true},
		{"its journal is torn", poisoned{torn: true}, true, true},
		{"reading its journal fails", poisoned{journal: errors.New("exceeded max depth")}, true, true},
		{"its journal is not answered for", poisoned{journal: errLost}, true, true},
		{"its head cannot be read", poisoned{heads: lost, bare: true}, true, true},
		{"its head was written by a newer program", poisoned{heads: engine.ErrNewerSchema, bare: true}, true, true},
		{"its arguments are nested too deep", poisoned{deep: true}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &tt.store
			x := newFixture(t, func(s frontend.Store) frontend.Store { store.Store = s; return store })
			var runs []string
			for range 5 {
				run, _ := x.waiting(core.KindApproval)
				runs = append(runs, run.ID)
				if len(runs) == 3 {
					store.thread = run.ThreadID
				}
			}
			marked := map[string]int{}
			for cursor, pages := "", 0; pages < 10; pages++ {
				page, err := x.Runs(t.Context(), anna, query.List{Limit: 2, Cursor: cursor})
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range page.Items {
					if marked[run.ID]++; (run.Error != nil) != (tt.runs && run.ID == runs[2]) || run.Error != nil && run.Error.Code != "unreadable" {
						t.Errorf("run %s has the error %+v", run.ID, run.Error)
					}
					for _, p := range run.Pending {
						if depth.Exceeded(p.Arguments) {
							t.Errorf("run %s shows arguments that readers cannot take", run.ID)
						}
					}
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			for cursor, pages := "", 0; pages < 10; pages++ {
				page, err := x.Approvals(t.Context(), anna, query.List{Limit: 2, Cursor: cursor})
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range page.Items {
					if marked[a.RunID] += 10; (a.Error != nil) != (tt.waiting && a.RunID == runs[2]) || a.Error == nil && a.CallID != "c1" || depth.Exceeded(a.Arguments) {
						t.Errorf("approval %+v", a)
					}
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			for _, run := range runs {
				if marked[run] != 11 {
					t.Errorf("run %s is listed %d times among runs and %d among approvals", run, marked[run]%10, marked[run]/10)
				}
			}
		})
	}
}

// A store that does not answer at all has no list.
func TestAStoreThatDoesNotAnswerHasNoList(t *testing.T) {
	store := &poisoned{}
	x := newFixture(t, func(s frontend.Store) frontend.Store { store.Store = s; return store })
	run, _ := x.waiting(core.KindApproval)
	store.thread, store.journal, store.heads = run.ThreadID, errLost, errLost
	_, err := x.Approvals(t.Context(), anna, query.List{})
	x.wantCode(err, refusal.CodeUnavailable)
	_, err = x.Runs(t.Context(), anna, query.List{})
	x.wantCode(err, refusal.CodeUnavailable)
}
