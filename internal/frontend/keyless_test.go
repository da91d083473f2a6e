package frontend_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// taking is a store whose next write is done and whose answer is lost, and a worker takes up what
// was written before anything else happens. From then on a request without a key cannot be told
// from its repeat.
type taking struct {
	frontend.Store
	take func(thread string)
}

func taken[T any](s *taking, thread string, do func() (T, error)) (T, error) {
	v, err := do()
	if s.take == nil || err != nil {
		return v, err
	}
	take := s.take
	s.take = nil
	take(thread)
	var none T
	return none, errLost
}

func (s *taking) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	return taken(s, req.Thread, func() (engine.Written, error) { return s.Store.Signal(ctx, req) })
}

func (s *taking) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	return taken(s, req.Head.Thread, func() (engine.Written, error) { return s.Store.Start(ctx, req) })
}

// said is how many user messages say the text, in the journal and in the inbox.
func (x *fixture) said(thread, text string) (n int) {
	x.t.Helper()
	h := x.head(thread)
	segments, err := x.store.Segments(x.t.Context(), anna.Tenant, thread, 1, h.Seq)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, m := range core.Messages(segments) {
		if m.Role == core.RoleUser && m.Text() == text {
			n++
		}
	}
	for _, s := range h.Inbox {
		if string(s.Value) == string(core.Encode(core.TextParts(text))) {
			n++
		}
	}
	return n
}

// wantUnknown: the caller is told that the request may have been done.
func (x *fixture) wantUnknown(err error) {
	x.t.Helper()
	if x.wantCode(err, refusal.CodeUnavailable); !errors.Is(err, engine.ErrUnavailable) {
		x.t.Errorf("error %v", err)
	}
}

func TestAMessageWithoutAKeyIsSentOnce(t *testing.T) {
	var store *taking
	x := newFixture(t, func(s frontend.Store) frontend.Store { store = &taking{Store: s}; return store })
	run := x.start()
	x.worker.Drain(run.ID)
	store.take = func(string) { x.worker.Drain(run.ID) }
	_, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: core.Encode("pay it")})
	x.wantUnknown(err)
	if n := x.said(run.ThreadID, "pay it"); n != 1 {
		t.Errorf("the message is stored %d times", n)
	}
}

func TestTheNextRunOfAThreadWithoutAKeyIsStartedOnce(t *testing.T) {
	next := map[string]func(*fixture, string) error{
		"start on the thread": func(x *fixture, thread string) error {
			_, err := x.Start(x.t.Context(), anna, "", wire.StartRequest{Agent: "desk", ThreadID: thread, Input: core.Encode("pay it")})
			return err
		},
		"message to a thread that has no open run": func(x *fixture, thread string) error {
			_, err := x.Message(x.t.Context(), anna, thread, "", wire.MessageRequest{Input: core.Encode("pay it")})
			return err
		},
	}
	states := map[string]func(*fixture, string){
		"drained":  func(x *fixture, run string) { x.worker.Drain(run) },
		"finished": func(x *fixture, run string) { x.worker.Finish(run, "paid") },
	}
	for how, request := range next {
		for state, take := range states {
			t.Run(how+", "+state, func(t *testing.T) {
				var store *taking
				x := newFixture(t, func(s frontend.Store) frontend.Store { store = &taking{Store: s}; return store })
				first := x.start()
				x.worker.Finish(first.ID, "done")
				store.take = func(thread string) { take(x, x.head(thread).Run) }
				x.wantUnknown(request(x, first.ThreadID))
				if n := x.said(first.ThreadID, "pay it"); n != 1 {
					t.Errorf("the input is stored %d times", n)
				}
			})
		}
	}
}
