package frontend_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func keyed(key, text string) wire.StartRequest {
	return wire.StartRequest{Agent: "desk", ThreadKey: key, Input: core.Encode(text)}
}

func TestAConversationIsFoundOrCreatedUnderItsCallersKey(t *testing.T) {
	x := newFixture(t, nil)
	first, err := x.Start(t.Context(), anna, "", keyed("chat-7", "hello"))
	if err != nil || !first.New {
		t.Fatal(first, err)
	}
	_, err = x.Start(t.Context(), anna, "", keyed("chat-7", "again"))
	if e := x.wantCode(err, refusal.CodeRunOpen); e.RunID != first.Run.ID {
		t.Errorf("the run in the way is %s", e.RunID)
	}
	x.worker.Finish(first.Run.ID, "done")
	second, err := x.Start(t.Context(), anna, "", keyed("chat-7", "and now?"))
	if err != nil || second.Run.ThreadID != first.Run.ThreadID || second.Run.ID == first.Run.ID {
		t.Errorf("the second run is %+v, %v", second.Run, err)
	}
	other, err := x.Start(t.Context(), anna, "", keyed("chat-8", "hello"))
	if err != nil || other.Run.ThreadID == first.Run.ThreadID {
		t.Errorf("another key gives %+v, %v", other.Run, err)
	}
	ben := frontend.Caller{Tenant: "another", By: "ben"}
	if _, err := x.ThreadByKey(t.Context(), ben, "chat-7"); err == nil {
		t.Error("another tenant finds the conversation")
	}
	found, err := x.ThreadByKey(t.Context(), anna, "chat-7")
	if err != nil || found.ID != first.Run.ThreadID || found.RunID != second.Run.ID || found.Key != "chat-7" {
		t.Errorf("found %+v, %v", found, err)
	}
	_, err = x.ThreadByKey(t.Context(), anna, "chat-9")
	x.wantCode(err, refusal.CodeThreadNotFound)
}

func TestAThreadKeyWithAnIdempotencyKeyStartsOneRun(t *testing.T) {
	x := newFixture(t, nil)
	runs := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			s, err := x.Start(t.Context(), anna, "k1", keyed("chat-7", "hello"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			runs[s.Run.ID]++
		})
	}
	wg.Wait()
	if len(runs) != 1 {
		t.Errorf("runs %v", runs)
	}
	_, err := x.Start(t.Context(), anna, "k1", keyed("chat-7", "something else"))
	x.wantCode(err, refusal.CodeIdempotencyMismatch)
	for run := range runs {
		x.worker.Finish(run, "done")
	}
	s, err := x.Start(t.Context(), anna, "k1", keyed("chat-7", "hello"))
	if err != nil || s.New || runs[s.Run.ID] == 0 {
		t.Errorf("the repeat once the run is done: %+v, %v", s, err)
	}
}

func TestManyFirstStartsOfAKeyMakeOneConversation(t *testing.T) {
	x := newFixture(t, nil)
	var mu sync.Mutex
	started, open := 0, 0
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			_, err := x.Start(t.Context(), anna, "", keyed("chat-7", "hello"))
			mu.Lock()
			defer mu.Unlock()
			var refused *refusal.Error
			switch {
			case err == nil:
				started++
			case errors.As(err, &refused) && refused.Code == refusal.CodeRunOpen:
				open++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if started != 1 || open != 39 {
		t.Errorf("%d started, %d met the open run", started, open)
	}
}

// stalled is a store that creates a thread and loses the answer.
type stalled struct {
	frontend.Store
	starts int
}

func (s *stalled) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	s.starts++
	if _, err := s.Store.Start(ctx, req); err != nil {
		return engine.Written{}, err
	}
	return engine.Written{}, engine.ErrUnavailable
}

func TestAKeyedStartWithoutAnIdempotencyKeyIsSentOnce(t *testing.T) {
	var store *stalled
	x := newFixture(t, func(s frontend.Store) frontend.Store { store = &stalled{Store: s}; return store })
	_, err := x.Start(t.Context(), anna, "", keyed("chat-7", "hello"))
	x.wantCode(err, refusal.CodeUnavailable)
	if store.starts != 1 {
		t.Errorf("sent %d times: a worker may have finished the first run in between", store.starts)
	}
}

func TestAThreadKeyThatCannotBe(t *testing.T) {
	x := newFixture(t, nil)
	for name, req := range map[string]wire.StartRequest{
		"too long":         keyed(strings.Repeat("k", 256), "hi"),
		"with a NUL":       keyed("a\x00b", "hi"),
		"no text":          keyed("a\xff", "hi"),
		"beside a thread":  {Agent: "desk", ThreadKey: "chat-7", ThreadID: "thr_a", Input: core.Encode("hi")},
		"a long message":   {Agent: "desk", ThreadKey: "chat-7", MessageID: strings.Repeat("m", 129), Input: core.Encode("hi")},
		"a message of two": {Agent: "desk", ThreadKey: "chat-7", MessageID: "a\nb", Input: core.Encode("hi")},
	} {
		_, err := x.Start(t.Context(), anna, "", req)
		t.Run(name, func(*testing.T) { x.wantCode(err, refusal.CodeInvalid) })
	}
}

func TestACallersMessageIDIsKeptAndIdempotent(t *testing.T) {
	x := newFixture(t, nil)
	req := keyed("chat-7", "hello")
	req.MessageID = "m-1"
	first, err := x.Start(t.Context(), anna, "", req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := x.Start(t.Context(), anna, "", req)
	if err != nil || again.New || again.Run.ID != first.Run.ID {
		t.Errorf("sent again: %+v, %v", again, err)
	}
	x.worker.Finish(first.Run.ID, "done")
	message := wire.MessageRequest{Input: core.Encode("and now?"), MessageID: "m-2"}
	second, err := x.Message(t.Context(), anna, first.Run.ThreadID, "", message)
	if err != nil || !second.New {
		t.Fatal(second, err)
	}
	x.worker.Finish(second.Run.ID, "done")
	again, err = x.Message(t.Context(), anna, first.Run.ThreadID, "", message)
	if err != nil || again.New || again.Run.ID != second.Run.ID {
		t.Errorf("the message sent again: %+v, %v", again, err)
	}
	message.Input = core.Encode("something else")
	_, err = x.Message(t.Context(), anna, first.Run.ThreadID, "", message)
	x.wantCode(err, refusal.CodeIdempotencyMismatch)

	message.MessageID = "m-3"
	_, err = x.Message(t.Context(), anna, first.Run.ThreadID, "k-1", message)
	// which of the two would say what is the same request?
	x.wantCode(err, refusal.CodeInvalid)

	message.MessageID = "msg_" + strings.TrimPrefix(first.Run.ThreadID, "thr_") + "_1_1"
	_, err = x.Message(t.Context(), anna, first.Run.ThreadID, "", message)
	x.wantCode(err, refusal.CodeInvalid)
}

func TestTheMessageIDOfAFirstInputIsTaken(t *testing.T) {
	for _, key := range []string{"", "k-1"} {
		x := newFixture(t, nil)
		req := wire.StartRequest{Agent: "desk", Input: core.Encode("hello"), MessageID: "m-1"}
		first, err := x.Start(t.Context(), anna, key, req)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := x.Start(t.Context(), anna, key, req); err != nil || again.New != (key == "") {
			t.Errorf("key %q, sent again: %+v, %v", key, again, err)
		}
		x.worker.Finish(first.Run.ID, "done")
		_, err = x.Message(t.Context(), anna, first.Run.ThreadID, "", wire.MessageRequest{Input: core.Encode("and now?"), MessageID: "m-1"})
		x.wantCode(err, refusal.CodeIdempotencyMismatch)
	}
}
