package httpapi_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// refusedWith fails the test unless err is the server's refusal with this status and code.
func refusedWith(t *testing.T, err error, status int, code string) {
	t.Helper()
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != status || refused.Code != code {
		t.Errorf("got %v, want %d %s", err, status, code)
	}
}

func TestARunIsPausedAndGoesOn(t *testing.T) {
	s := newServer(t, settings{})
	ctx, c, run := t.Context(), s.client, s.start()
	_, err := c.Resume(ctx, run.ID, wire.ResumeRequest{})
	refusedWith(t, err, 409, "not_waiting")

	for range 2 {
		got := s.send("POST", "/v1/runs/"+run.ID+"/interrupt", "", header("Idempotency-Key", "i1"))
		if got.StatusCode != 202 || !strings.Contains(got.text, `"id":"`+run.ID+`"`) {
			t.Errorf("%d %s", got.StatusCode, got.text)
		}
	}
	s.worker.Drain(run.ID)
	paused, err := c.Run(ctx, run.ID)
	if err != nil || paused.Status != "waiting" || len(paused.Pending) != 1 || paused.Pending[0].Kind != "interrupt" {
		t.Fatalf("%+v, %v", paused, err)
	}
	_, err = c.Decide(ctx, run.ID, wire.Decision{Target: paused.Pending[0].Suspension.ID, Action: "cancel"})
	refusedWith(t, err, 400, "wrong_kind")

	for _, want := range []int{202, 200} {
		got := s.send("POST", "/v1/runs/"+run.ID+"/resume", "")
		var answer wire.DecisionAnswer
		if err := json.Unmarshal([]byte(got.text), &answer); err != nil || got.StatusCode != want || answer.Status != want {
			t.Errorf("HR3 %d %s, want %d", got.StatusCode, got.text, want)
		}
	}
	_, err = c.Resume(ctx, run.ID, wire.ResumeRequest{Reason: "another"})
	refusedWith(t, err, 409, "already_decided")
	s.worker.Drain(run.ID)
	_, err = c.Resume(ctx, run.ID, wire.ResumeRequest{})
	refusedWith(t, err, 409, "not_waiting")
	if again, err := c.Interrupt(ctx, run.ID, "i2"); err != nil || again.ID != run.ID {
		t.Errorf("%+v, %v", again, err)
	}
	s.worker.Finish(run.ID, "done")
	_, err = c.Interrupt(ctx, run.ID, "")
	refusedWith(t, err, 409, "run_done")
	_, err = c.Resume(ctx, run.ID, wire.ResumeRequest{})
	refusedWith(t, err, 409, "run_done")
}

func TestAFailedRunIsRetried(t *testing.T) {
	s := newServer(t, settings{})
	ctx, c, run := t.Context(), s.client, s.start()
	_, err := c.Retry(ctx, run.ID, "")
	refusedWith(t, err, 409, "run_open")
	s.worker.End(run.ID, core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")

	first := s.send("POST", "/v1/runs/"+run.ID+"/retry", "")
	again := s.send("POST", "/v1/runs/"+run.ID+"/retry", "{}")
	if first.StatusCode != 202 || again.StatusCode != 200 || first.text != again.text || !strings.Contains(first.text, `"retry_of":"`+run.ID+`"`) {
		t.Fatalf("H31 %d %s, then %d %s", first.StatusCode, first.text, again.StatusCode, again.text)
	}
	_, err = c.Retry(ctx, run.ID, "another")
	refusedWith(t, err, 409, "run_superseded")
	var second wire.Run
	if err := json.Unmarshal([]byte(first.text), &second); err != nil || first.Header.Get("Location") != "/v1/runs/"+second.ID {
		t.Errorf("%v, Location %q", err, first.Header.Get("Location"))
	}
	s.worker.Finish(second.ID, "done")
	_, err = c.Retry(ctx, second.ID, "")
	refusedWith(t, err, 409, "not_failed")
}

func TestWhatADecisionMayCarry(t *testing.T) {
	s := newServer(t, settings{})
	ctx, c, run := t.Context(), s.client, s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Deadline: 1},
		frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval})
	decide := func(d wire.Decision) error {
		d.Target = sus["c2"]
		_, err := c.Decide(ctx, run.ID, d)
		return err
	}
	refusedWith(t, decide(wire.Decision{Action: "resume", Arguments: []byte(`[]`)}), 422, "invalid_arguments")
	refusedWith(t, decide(wire.Decision{Action: "cancel", Arguments: []byte(`{}`)}), 400, "contradictory")
	refusedWith(t, decide(wire.Decision{Action: "resume", Grant: "all"}), 400, "bad_grant")
	if err := decide(wire.Decision{Action: "resume", Arguments: []byte(`{"order":"B-02"}`), Grant: "run"}); err != nil {
		t.Errorf("HB28 %v", err)
	}
	s.worker.TimeOut(run.ID, "c1")
	for range 2 {
		_, err := c.Decide(ctx, run.ID, wire.Decision{Target: sus["c1"], Action: "resume"})
		refusedWith(t, err, 409, "late_decision")
	}
}

func TestTheOutputIsAnyValue(t *testing.T) {
	s := newServer(t, settings{})
	run := s.start()
	if got := s.send("GET", "/v1/runs/"+run.ID, ""); !strings.Contains(got.text, `"output":null`) {
		t.Errorf("no output: %s", got.text)
	}
	s.worker.FinishWith(run.ID, []byte(`{"output":{"refunded":120},"response_state":"no_op"}`), core.ResponseNoOp)
	if got := s.send("GET", "/v1/runs/"+run.ID, ""); !strings.Contains(got.text, `"output":{"refunded":120}`) || !strings.Contains(got.text, `"response_state":"no_op"`) {
		t.Errorf("%s", got.text)
	}
	got, err := s.client.Run(t.Context(), run.ID)
	if text, ok := got.OutputText(); err != nil || !ok || text != `{"refunded":120}` {
		t.Errorf("%q, %v", text, err)
	}
}
