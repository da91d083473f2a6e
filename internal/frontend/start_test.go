package frontend_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func request(text string) wire.StartRequest {
	return wire.StartRequest{Agent: "desk", Input: core.Encode(text)}
}

func TestStartWithoutAKeyIsAlwaysNew(t *testing.T) {
	x := newFixture(t, nil)
	a, b := x.start(), x.start()
	if a.ID == b.ID || a.Status != "created" || a.AgentVersion != "sha256:desk" {
		t.Errorf("runs %+v and %+v", a, b)
	}
	h := x.head(a.ThreadID)
	if s := h.Inbox[core.KeyStart]; h.Due == 0 || string(s.Value) != `[{"type":"text","text":"refund A-17"}]` {
		t.Errorf("due %d, input %+v", h.Due, s)
	}
}

func TestStartWithAKeyAtOnceStartsOneRun(t *testing.T) {
	x := newFixture(t, nil)
	var mu sync.Mutex
	runs, fresh := map[string]bool{}, 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			s, err := x.Start(t.Context(), anna, "k1", request("hello"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			runs[s.Run.ID] = true
			if s.New {
				fresh++
			}
		})
	}
	wg.Wait()
	if len(runs) != 1 || fresh != 1 {
		t.Errorf("%d runs, %d of them new", len(runs), fresh)
	}
}

func TestTheKeyOfAStart(t *testing.T) {
	x := newFixture(t, nil)
	s, err := x.Start(t.Context(), anna, "k1", request("hello"))
	if err != nil || !s.New {
		t.Fatal(s, err)
	}
	first := s.Run
	again := func(what string, wantNew bool, c frontend.Caller, req wire.StartRequest) wire.Run {
		t.Helper()
		s, err := x.Start(t.Context(), c, "k1", req)
		if err != nil || s.New != wantNew {
			t.Fatalf("%s: new %v, %v", what, s.New, err)
		}
		return s.Run
	}
	if got := again("same body", false, anna, wire.StartRequest{Agent: "desk", Input: json.RawMessage(` "hello" `)}); got.ID != first.ID {
		t.Errorf("got %s, want %s", got.ID, first.ID)
	}
	_, err = x.Start(t.Context(), anna, "k1", request("something else"))
	x.wantCode(err, refusal.CodeIdempotencyMismatch)
	if got := again("another tenant", true, frontend.Caller{Tenant: "other"}, request("hello")); got.ID == first.ID {
		t.Error("tenants share a key")
	}

	x.worker.Finish(first.ID, "hi")
	on := wire.StartRequest{Agent: "desk", Input: core.Encode("next"), ThreadID: first.ThreadID}
	second := again("the same key on a thread is apart", true, anna, on)
	if second.ThreadID != first.ThreadID || second.ID == first.ID {
		t.Errorf("second run %+v", second)
	}
	if got := again("repeated while it is open", false, anna, on); got.ID != second.ID {
		t.Errorf("H15 got %s, want %s", got.ID, second.ID)
	}
	x.worker.Finish(second.ID, "bye")
	if got := again("repeated when it is done", false, anna, on); got.ID != second.ID {
		t.Errorf("H15 got %s, want %s", got.ID, second.ID)
	}
	if got := again("the thread's first start, after another run", false, anna, request("hello")); got.ID != first.ID || got.Status != "done" {
		t.Errorf("got %+v, want the first run, done", got)
	}
}

func TestStartWhoseAnswerIsLost(t *testing.T) {
	for _, key := range []string{"", "k1"} {
		t.Run("key "+key, func(t *testing.T) {
			var broken *flaky
			x := newFixture(t, func(s frontend.Store) frontend.Store {
				broken = &flaky{Store: s}
				return broken
			})
			broken.fail("start", 1, true)
			s, err := x.Start(t.Context(), anna, key, request("hello"))
			if err != nil {
				t.Fatal(err)
			}
			page, err := x.Runs(t.Context(), anna, query.List{})
			if err != nil || len(page.Items) != 1 || page.Items[0].ID != s.Run.ID {
				t.Errorf("HB27 runs %+v, %v; want %s alone", page.Items, err, s.Run.ID)
			}
		})
	}
}

func TestStartOnAThread(t *testing.T) {
	x := newFixture(t, nil)
	first := x.start()
	on := func(thread string) error {
		_, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: core.Encode("x"), ThreadID: thread})
		return err
	}
	if e := x.wantCode(on(first.ThreadID), refusal.CodeRunOpen); e.RunID != first.ID {
		t.Errorf("the run in the way is %s, want %s", e.RunID, first.ID)
	}
	x.wantCode(on("thr_nobody"), refusal.CodeThreadNotFound)
	before := x.worker.Finish(first.ID, "done")
	if err := on(first.ThreadID); err != nil {
		t.Fatal(err)
	}
	h := x.head(first.ThreadID)
	if h.Epoch <= before.Epoch || h.Rev <= before.Rev || h.Sigs <= before.Sigs || h.Seq0 != before.Seq || h.Ev0 != before.Ev {
		t.Errorf("H14 head %+v after %+v", h, before)
	}
	old, err := x.Run(t.Context(), anna, first.ID)
	if err != nil || old.Status != "done" || string(old.Output) != `"done"` {
		t.Errorf("H16 the first run: %+v, %v", old, err)
	}
}

func TestManyStartsOnOneThread(t *testing.T) {
	x := newFixture(t, nil)
	first := x.start()
	x.worker.Finish(first.ID, "done")
	var mu sync.Mutex
	started := 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := x.Start(t.Context(), anna, fmt.Sprint("k", i), wire.StartRequest{Agent: "desk", Input: core.Encode("x"), ThreadID: first.ThreadID})
			mu.Lock()
			defer mu.Unlock()
			var e *refusal.Error
			if err == nil {
				started++
			} else if !errors.As(err, &e) || e.Code != refusal.CodeRunOpen {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if started != 1 {
		t.Errorf("%d runs were started on one thread", started)
	}
}

func TestStartRefusals(t *testing.T) {
	x := newFixture(t, nil)
	for name, tt := range map[string]struct {
		req  wire.StartRequest
		want refusal.Code
	}{
		"no agent":            {wire.StartRequest{Input: core.Encode("x")}, refusal.CodeInvalid},
		"an unknown agent":    {wire.StartRequest{Agent: "nobody", Input: core.Encode("x")}, refusal.CodeAgentNotFound},
		"no input":            {wire.StartRequest{Agent: "desk"}, refusal.CodeInvalid},
		"a null input":        {wire.StartRequest{Agent: "desk", Input: []byte(`null`)}, refusal.CodeInvalid},
		"an empty input":      {wire.StartRequest{Agent: "desk", Input: []byte(`" "`)}, refusal.CodeInvalid},
		"no part":             {wire.StartRequest{Agent: "desk", Input: []byte(`[]`)}, refusal.CodeInvalid},
		"a number":            {wire.StartRequest{Agent: "desk", Input: []byte(`7`)}, refusal.CodeInvalid},
		"a part that is none": {wire.StartRequest{Agent: "desk", Input: []byte(`[{"type":"image","text":"x"}]`)}, refusal.CodeInvalid},
		"a part with more":    {wire.StartRequest{Agent: "desk", Input: []byte(`[{"type":"text","text":"x","more":1}]`)}, refusal.CodeInvalid},
		"metadata, no object": {wire.StartRequest{Agent: "desk", Input: core.Encode("x"), Metadata: []byte(`[]`)}, refusal.CodeInvalid},
		"on_pending other":    {wire.StartRequest{Agent: "desk", Input: core.Encode("x"), OnPending: "maybe"}, refusal.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := x.Start(t.Context(), anna, "", tt.req)
			x.wantCode(err, tt.want)
		})
	}
}

func TestLargeInputIsKeptBesideTheHead(t *testing.T) {
	x := newFixture(t, nil)
	text := strings.Repeat("a long story ", 1000)
	s, err := x.Start(t.Context(), anna, "", request(text))
	if err != nil {
		t.Fatal(err)
	}
	if signal := x.head(s.Run.ThreadID).Inbox[core.KeyStart]; signal.Ref == "" || signal.Value != nil {
		t.Errorf("signal %+v", signal)
	}
	x.worker.Drain(s.Run.ID)
	page, err := x.Messages(t.Context(), anna, s.Run.ThreadID, query.List{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Text != text {
		t.Errorf("%d messages, %v", len(page.Items), err)
	}
}

func TestMessages(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	say := func(key, text string) (frontend.Started, error) {
		return x.Message(t.Context(), anna, run.ThreadID, key, wire.MessageRequest{Input: core.Encode(text)})
	}
	same := func(key, text string, want string) {
		t.Helper()
		x.unchanged(run.ThreadID, func() {
			if s, err := say(key, text); err != nil || s.New || s.Run.ID != want {
				t.Errorf("H8 repeat of %s: %+v, %v; want %s", key, s, err, want)
			}
		})
	}
	if s, err := say("k1", "more"); err != nil || !s.New || s.Run.ID != run.ID {
		t.Fatal(s, err)
	}
	same("k1", "more", run.ID)
	_, err := say("k1", "other")
	x.wantCode(err, refusal.CodeIdempotencyMismatch)
	if _, err := say("start", "a key like the input's own"); err != nil {
		t.Fatal(err)
	}

	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	same("k1", "more", run.ID)
	x.unchanged(run.ThreadID, func() {
		_, err := say("", "hello?")
		if e := x.wantCode(err, refusal.CodeRunOpen); e.RunID != run.ID {
			t.Errorf("C110 the run in the way is %q", e.RunID)
		}
	})
	if _, err := x.decide(run.ID, "c1", yes); err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(run.ID, "done")

	s, err := say("k2", "next turn")
	if err != nil || !s.New || s.Run.ID == run.ID || s.Run.ThreadID != run.ThreadID {
		t.Fatalf("a message to a finished run: %+v, %v", s, err)
	}
	same("k2", "next turn", s.Run.ID)
	same("k1", "more", run.ID)
	_, err = x.Message(t.Context(), anna, "thr_nobody", "", wire.MessageRequest{Input: core.Encode("x")})
	x.wantCode(err, refusal.CodeThreadNotFound)
}

func TestInboxIsBounded(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	var err error
	for range 40 {
		if _, err = x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: core.Encode("x")}); err != nil {
			break
		}
	}
	if e := x.wantCode(err, refusal.CodeInboxFull); e.RetryAfter == 0 {
		t.Error("H29 the caller is not told when to try again")
	}
	if n := len(x.head(run.ThreadID).Inbox); n != 32 {
		t.Errorf("H29 %d signals in the inbox, want 32", n)
	}
	if _, err := x.Cancel(t.Context(), anna, run.ID); err != nil {
		t.Errorf("H29 a cancel finds room: %v", err)
	}
}

func TestCancel(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	for range 2 {
		got, err := x.Cancel(t.Context(), anna, run.ID)
		if err != nil || got.ID != run.ID {
			t.Fatal(got, err)
		}
	}
	if h := x.head(run.ThreadID); h.Inbox[core.KeyCancel].By != "anna" || h.Sigs != 1 {
		t.Errorf("inbox %v, sigs %d", h.Inbox, h.Sigs)
	}
	x.worker.End(run.ID, core.Reason{Kind: core.Cancelled}, "")
	if got, err := x.Cancel(t.Context(), anna, run.ID); err != nil || got.Status != "done" {
		t.Errorf("the end that was asked for is there, and the repeat got %v, %v", got.Status, err)
	}

	s, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: core.Encode("again")})
	if err != nil {
		t.Fatal(err)
	}
	x.unchanged(s.Run.ThreadID, func() {
		if got, err := x.Cancel(t.Context(), anna, run.ID); err != nil || got.ID != run.ID {
			t.Errorf("the repeat got %v, %v once the next run was there", got.ID, err)
		}
	})
	x.worker.End(s.Run.ID, core.Reason{Kind: core.NaturalEnd}, "")
	_, err = x.Cancel(t.Context(), anna, s.Run.ID)
	x.wantCode(err, refusal.CodeRunDone)
	_, err = x.Cancel(t.Context(), anna, "run_nobody_0")
	x.wantCode(err, refusal.CodeRunNotFound)
}
