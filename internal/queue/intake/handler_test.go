package intake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// starter answers every start alike, and keeps what it was asked.
type starter struct {
	answer frontend.Started
	err    error
	panics bool

	caller frontend.Caller
	key    string
	req    wire.StartRequest
}

func (s *starter) Start(_ context.Context, c frontend.Caller, key string, req wire.StartRequest) (frontend.Started, error) {
	s.caller, s.key, s.req = c, key, req
	if s.panics {
		panic("broken")
	}
	return s.answer, s.err
}

const good = `{"idempotency_key":"k1","agent":"a","input":"go"}`

func delivery(body string) intake.Delivery {
	return intake.Delivery{ID: "1", Receipt: "r.1", Tenant: "acme", Body: []byte(body), Attempts: 1}
}

func handlerOf(s intake.Starter) *intake.Handler {
	return &intake.Handler{Starter: s, Log: slog.New(slog.DiscardHandler), MaxFailures: 3}
}

func TestTheTenantIsTheQueuesAndTheKeyTheMessages(t *testing.T) {
	s := &starter{answer: frontend.Started{Run: wire.Run{ID: "run_a_0"}, New: true}}
	f := handlerOf(s).Decide(t.Context(), delivery(good))
	if f.Outcome != intake.Started || f.Run != "run_a_0" {
		t.Errorf("result %+v", f)
	}
	if s.caller.Tenant != "acme" || s.key != "k1" || s.req.Agent != "a" || string(s.req.Input) != `"go"` {
		t.Errorf("asked for %+v, key %q, %+v", s.caller, s.key, s.req)
	}
}

func TestFates(t *testing.T) {
	refused := func(code refusal.Code, after time.Duration) error {
		return &refusal.Error{Code: code, Detail: "words", RetryAfter: after}
	}
	for _, tt := range []struct {
		name               string
		err                error
		attempts, returned int
		outcome            intake.Outcome
		code               refusal.Code
		after              time.Duration
	}{
		{"its run was there", nil, 1, 0, intake.Duplicate, "", 0},
		{"the store is busy", refused(refusal.CodeUnavailable, time.Second), 1, 0, intake.Busy, refusal.CodeUnavailable, time.Second},
		{"the inbox is full", refused(refusal.CodeInboxFull, time.Second), 3, 2, intake.Busy, refusal.CodeInboxFull, 4 * time.Second},
		{"any limit that says when to come back", refused("too_many_runs", 30*time.Second), 1, 0, intake.Busy, "too_many_runs", 30 * time.Second},
		{"the thread has a run that is not done", refused(refusal.CodeRunOpen, 0), 3, 50, intake.Busy, refusal.CodeRunOpen, time.Minute},
		{"a store that is not wrapped", fmt.Errorf("deep: %w", engine.ErrUnavailable), 1, 1, intake.Busy, refusal.CodeUnavailable, 2 * time.Second},
		{"a store that fails for as long as it is not repaired", refusal.Storage(engine.ErrGone), 3, 50, intake.Busy, refusal.CodeStorageGone, time.Minute},
		{"the server stops", context.Canceled, 1, 0, intake.Busy, refusal.CodeUnavailable, time.Second},
		{"an unknown agent", refused(refusal.CodeAgentNotFound, 0), 1, 0, intake.Dead, refusal.CodeAgentNotFound, 0},
		{"a key that stood for something else", refused(refusal.CodeIdempotencyMismatch, 0), 1, 0, intake.Dead, refusal.CodeIdempotencyMismatch, 0},
		{"a code that is not known here", refused("new_code", 0), 1, 0, intake.Dead, "new_code", 0},
		{"a fault of ours", errors.New("broken"), 1, 0, intake.Failed, intake.CodeInternal, time.Second},
		{"a fault of ours, too often", errors.New("broken"), 3, 2, intake.Dead, intake.CodeInternal, 0},
		{"handed over too often", nil, 4, 0, intake.Dead, intake.CodeLost, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := delivery(good)
			d.Attempts, d.Returned = tt.attempts, tt.returned
			f := handlerOf(&starter{err: tt.err}).Decide(t.Context(), d)
			if f.Outcome != tt.outcome || f.Code != tt.code || f.After != tt.after {
				t.Errorf("result %+v", f)
			}
			if (f.Detail == "") != f.Gone() {
				t.Errorf("the reason is %q", f.Detail)
			}
		})
	}
}

func TestMalformedTextIsADeadLetterAndReachesNobody(t *testing.T) {
	s := &starter{}
	for _, body := range []string{"", "\x00\xff", "{", "null", `{"idempotency_key":"k","agent":"a","input":"x","x":1}`} {
		if f := handlerOf(s).Decide(t.Context(), delivery(body)); f.Outcome != intake.Dead || f.Detail == "" {
			t.Errorf("%q: result %+v", body, f)
		}
	}
	if s.key != "" {
		t.Errorf("a start with key %q was asked for", s.key)
	}
}

func TestAPanicCostsItsMessageAnAttempt(t *testing.T) {
	if f := handlerOf(&starter{panics: true}).Decide(t.Context(), delivery(good)); f.Outcome != intake.Failed || f.Code != intake.CodeInternal {
		t.Errorf("result %+v", f)
	}
}
