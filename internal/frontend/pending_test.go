package frontend_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func (x *fixture) say(thread, key, text, onPending string) (frontend.Started, error) {
	return x.Message(x.t.Context(), anna, thread, key, wire.MessageRequest{Input: core.Encode(text), OnPending: onPending})
}

func TestAMessageSaysWhatBecomesOfAWaitingRun(t *testing.T) {
	for onPending, want := range map[string]core.OnPending{"abandon": core.PendingAbandon, "queue": core.PendingQueue} {
		t.Run("C110 "+onPending, func(t *testing.T) {
			x := newFixture(t, nil)
			run, _ := x.waiting(core.KindApproval)
			s, err := x.say(run.ThreadID, "k", "leave it", onPending)
			if err != nil || !s.New || s.Run.ID != run.ID {
				t.Fatalf("%+v, %v", s, err)
			}
			inbox := x.head(run.ThreadID).Inbox
			for key, signal := range inbox {
				if len(inbox) != 1 || signal.On != want || signal.Kind != core.SignalMessage || !strings.HasPrefix(key, "m:") {
					t.Errorf("inbox %+v", inbox)
				}
			}
			x.unchanged(run.ThreadID, func() {
				if s, err := x.say(run.ThreadID, "k", "leave it", onPending); err != nil || s.New || s.Run.ID != run.ID {
					t.Errorf("H8 the repeat: %+v, %v", s, err)
				}
			})
			h := x.worker.Drain(run.ID)
			if abandoned := h.Calls["c1"].Status == core.CallCancelled; abandoned != (onPending == "abandon") || len(h.Held) != 1 && !abandoned {
				t.Errorf("head %+v", h)
			}
		})
	}
	for _, onPending := range []string{"", "refuse"} {
		t.Run("C110 refuse, said as '"+onPending+"'", func(t *testing.T) {
			x := newFixture(t, nil)
			run, _ := x.waiting(core.KindApproval)
			x.unchanged(run.ThreadID, func() {
				_, err := x.say(run.ThreadID, "k", "leave it", onPending)
				if e := x.wantCode(err, refusal.CodeRunOpen); e.RunID != run.ID {
					t.Errorf("run %q", e.RunID)
				}
			})
			if s, err := x.say(run.ThreadID, "k", "leave it", "abandon"); err != nil || !s.New {
				t.Errorf("the refused message left its key behind: %+v, %v", s, err)
			}
		})
	}
	t.Run("something else", func(t *testing.T) {
		x := newFixture(t, nil)
		_, err := x.say(x.start().ThreadID, "", "x", "wait")
		x.wantCode(err, refusal.CodeInvalid)
	})
}

func TestARunSaysHowManyMessagesAreQueuedBehindIt(t *testing.T) {
	x := newFixture(t, nil)
	run, _ := x.waiting(core.KindApproval)
	queued := func(want int) {
		t.Helper()
		if got, err := x.Run(t.Context(), anna, run.ID); err != nil || got.Queued != want {
			t.Errorf("%d queued, want %d; %v", got.Queued, want, err)
		}
	}
	queued(0)
	for i, key := range []string{"k1", "k2"} {
		s, err := x.say(run.ThreadID, key, "later", "queue")
		if err != nil || s.Run.Queued != i+1 {
			t.Fatalf("%+v, %v", s, err)
		}
		x.worker.Drain(run.ID)
		queued(i + 1)
	}
	if s, err := x.say(run.ThreadID, "k3", "leave it", "abandon"); err != nil || s.Run.Queued != 2 {
		t.Errorf("what is not queued is counted: %+v, %v", s, err)
	}
}

func TestAMessageForACallThatWaitsForInput(t *testing.T) {
	x := newFixture(t, nil)
	run, _ := x.waiting(core.KindInput)
	t.Run("C131 the same run goes on, with one wake-up", func(t *testing.T) {
		s, err := x.say(run.ThreadID, "", "red", "")
		if err != nil || s.Run.ID != run.ID || s.Run.Status != "running" {
			t.Fatalf("%+v, %v", s, err)
		}
		if h := x.head(run.ThreadID); len(h.Inbox) != 1 || h.Due == 0 {
			t.Errorf("inbox %v, due %d", h.Inbox, h.Due)
		}
	})
}

func TestHeldMessagesAreBounded(t *testing.T) {
	x := newFixture(t, nil)
	run, _ := x.waiting(core.KindApproval)
	for i := range 32 {
		if _, err := x.say(run.ThreadID, fmt.Sprint("k", i), "later", "queue"); err != nil {
			t.Fatal(i, err)
		}
		if i%8 == 7 {
			x.worker.Drain(run.ID)
		}
	}
	x.unchanged(run.ThreadID, func() {
		_, err := x.say(run.ThreadID, "k32", "one more", "queue")
		if e := x.wantCode(err, refusal.CodeInboxFull); e.RetryAfter == 0 {
			t.Error("H23 H29 the caller is not told when to try again")
		}
		if s, err := x.say(run.ThreadID, "k0", "later", "queue"); err != nil || s.New {
			t.Errorf("a repeat needs no room: %+v, %v", s, err)
		}
	})
	if _, err := x.say(run.ThreadID, "k33", "leave it", "abandon"); err != nil {
		t.Errorf("what is not held has room: %v", err)
	}
}

func TestAStartOnAnOpenThreadSaysWhatBecomesOfIt(t *testing.T) {
	with, without := true, false
	on := func(thread, onPending string, change func(*wire.StartRequest)) wire.StartRequest {
		req := wire.StartRequest{Agent: "desk", Input: core.Encode("again"), ThreadID: thread, OnPending: onPending}
		if change != nil {
			change(&req)
		}
		return req
	}
	for name, tt := range map[string]struct {
		onPending string
		change    func(*wire.StartRequest)
		want      refusal.Code // empty: the open run has it
	}{
		"C110 refuse":               {"refuse", nil, refusal.CodeRunOpen},
		"C110 nothing said":         {"", nil, refusal.CodeRunOpen},
		"C110 abandon":              {"abandon", nil, ""},
		"C110 queue":                {"queue", nil, ""},
		"the memory it has anyway":  {"queue", func(r *wire.StartRequest) { r.Memory = &with }, ""},
		"another agent":             {"abandon", func(r *wire.StartRequest) { r.Agent = "other" }, refusal.CodeRunOpen},
		"metadata of its own":       {"queue", func(r *wire.StartRequest) { r.Metadata = []byte(`{"a":1}`) }, refusal.CodeRunOpen},
		"permissions of its own":    {"queue", func(r *wire.StartRequest) { r.Permissions = []byte(`{"deny":["refund"]}`) }, refusal.CodeRunOpen},
		"without memory":            {"abandon", func(r *wire.StartRequest) { r.Memory = &without }, refusal.CodeRunOpen},
		"a word that means nothing": {"wait", nil, refusal.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			run, _ := x.waiting(core.KindApproval)
			req := on(run.ThreadID, tt.onPending, tt.change)
			if tt.want != "" {
				x.unchanged(run.ThreadID, func() {
					_, err := x.Start(t.Context(), anna, "k", req)
					x.wantCode(err, tt.want)
				})
				return
			}
			s, err := x.Start(t.Context(), anna, "k", req)
			if err != nil || !s.New || s.Run.ID != run.ID {
				t.Fatalf("%+v, %v", s, err)
			}
			x.unchanged(run.ThreadID, func() {
				if s, err := x.Start(t.Context(), anna, "k", req); err != nil || s.New || s.Run.ID != run.ID {
					t.Errorf("H15 the repeat: %+v, %v", s, err)
				}
			})
		})
	}
	t.Run("on a thread whose run is done it starts one", func(t *testing.T) {
		x := newFixture(t, nil)
		run := x.start()
		x.worker.Finish(run.ID, "done")
		s, err := x.Start(t.Context(), anna, "", on(run.ThreadID, "queue", func(r *wire.StartRequest) { r.Metadata = []byte(`{"a":1}`) }))
		if err != nil || s.Run.ID == run.ID {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestWhatTheRuntimeTellsTheModelIsNotShown(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Deadline: 1})["c1"]
	x.worker.TimeOut(run.ID, "c1")
	x.decides(t, "a late answer", run.ID, sus, yes, "late_decision")
	x.worker.Finish(run.ID, "done")
	h := x.head(run.ThreadID)
	system := 0
	segments, err := x.store.Segments(t.Context(), anna.Tenant, run.ThreadID, 1, h.Seq)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		for _, m := range s.Messages {
			if m.Role == core.RoleSystem {
				system++
			}
		}
	}
	t.Run("C132 system messages are hidden, in every page size", func(t *testing.T) {
		for limit := 1; limit < 5; limit++ {
			var roles []string
			for cursor := ""; ; {
				page, err := x.Messages(t.Context(), anna, run.ThreadID, query.List{Limit: limit, Cursor: cursor})
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range page.Items {
					roles = append(roles, m.Role)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if got := strings.Join(roles, " "); system != 1 || got != "user assistant assistant" {
				t.Errorf("limit %d: %d system messages, shown: %s", limit, system, got)
			}
		}
	})
}
