package core

import (
	"encoding/json"
	"testing"
)

var allCalls = []CallStatus{CallNew, CallRunning, CallSuspended, CallResuming, CallSucceeded, CallFailed, CallCancelled}

var allRuns = []RunStatus{RunCreated, RunRunning, RunWaiting, RunDone}

func TestCallTransitions(t *testing.T) {
	check := func(id string, from, to CallStatus, want bool) {
		t.Helper()
		if got := from.Allows(to); got != want {
			t.Errorf("%s: %s to %s: allowed %v, want %v", id, from, to, got, want)
		}
	}
	t.Run("C01 a call moves along its life", func(t *testing.T) {
		for _, p := range [][2]CallStatus{{CallNew, CallRunning}, {CallRunning, CallSuspended}, {CallSuspended, CallResuming},
			{CallResuming, CallRunning}, {CallResuming, CallFailed}, {CallRunning, CallSucceeded}, {CallRunning, CallFailed}, {CallSuspended, CallCancelled}} {
			check("C01", p[0], p[1], true)
		}
	})
	t.Run("C02 a settled call stays settled", func(t *testing.T) {
		for _, from := range []CallStatus{CallSucceeded, CallFailed, CallCancelled} {
			for _, to := range allCalls {
				check("C02", from, to, from == to)
			}
		}
	})
	t.Run("C03 a new call may go anywhere", func(t *testing.T) {
		for _, to := range allCalls {
			check("C03", CallNew, to, true)
		}
	})
	t.Run("C04 a running call neither resumes nor becomes new", func(t *testing.T) {
		check("C04", CallRunning, CallResuming, false)
		check("C04", CallRunning, CallNew, false)
	})
	t.Run("C05 a suspended call has two exits", func(t *testing.T) {
		for _, to := range allCalls {
			check("C05", CallSuspended, to, to == CallSuspended || to == CallResuming || to == CallCancelled)
		}
	})
	t.Run("C06 a resuming call may go anywhere but back to new", func(t *testing.T) {
		for _, to := range allCalls {
			check("C06", CallResuming, to, to != CallNew)
		}
	})
}

func TestRunTransitions(t *testing.T) {
	legal := map[[2]RunStatus]bool{{RunCreated, RunRunning}: true, {RunCreated, RunDone}: true, {RunRunning, RunWaiting}: true,
		{RunRunning, RunDone}: true, {RunWaiting, RunRunning}: true, {RunWaiting, RunDone}: true}
	t.Run("C13 C14 the table has these moves and no other", func(t *testing.T) {
		for _, from := range allRuns {
			for _, to := range allRuns {
				want := from == to || legal[[2]RunStatus{from, to}]
				if got := from.Allows(to); got != want {
					t.Errorf("%s to %s: allowed %v, want %v", from, to, got, want)
				}
				if _, err := from.To(to); (err == nil) != want {
					t.Errorf("%s to %s: error %v", from, to, err)
				}
			}
		}
	})
	t.Run("C15 only done is terminal", func(t *testing.T) {
		for _, s := range allRuns {
			if s.Terminal() != (s == RunDone) {
				t.Errorf("%s: terminal %v", s, s.Terminal())
			}
		}
	})
}

func TestZeroValues(t *testing.T) {
	t.Run("C07 a zero call status is new, a zero mode replays", func(t *testing.T) {
		var s CallStatus
		var m ResumeMode
		if s.String() != "new" || m.String() != "replay_tool_call" {
			t.Errorf("zero values are %s and %s", s, m)
		}
	})
}

func TestAggregate(t *testing.T) {
	round := func(calls ...Call) map[string]Call {
		m := map[string]Call{}
		for i, c := range calls {
			m[string(rune('a'+i))] = c
		}
		return m
	}
	st := func(s CallStatus) Call { return Call{Status: s} }
	for _, c := range []struct {
		name  string
		calls map[string]Call
		want  Aggregate
	}{
		{"C28 running", round(st(CallRunning)), Executing},
		{"C28 resuming, suspended", round(st(CallResuming), st(CallSuspended)), Executing},
		{"C28 new, suspended", round(st(CallNew), st(CallSuspended)), Executing},
		{"C28 suspended, succeeded", round(st(CallSuspended), st(CallSucceeded)), Waiting},
		{"C28 suspended, new and held", round(st(CallSuspended), Call{HeldBehind: "a"}), Waiting},
		{"C28 all settled", round(st(CallSucceeded), st(CallFailed), st(CallCancelled)), StepComplete},
		{"C28 no calls", nil, StepComplete},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := AggregateOf(c.calls); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestWordsRoundTrip(t *testing.T) {
	t.Run("C11 every status, action and mode is a snake case word", func(t *testing.T) {
		words := map[string]any{}
		for _, s := range allCalls {
			words[s.String()] = s
		}
		want := []string{"new", "running", "suspended", "resuming", "succeeded", "failed", "cancelled"}
		for i, s := range allCalls {
			if s.String() != want[i] {
				t.Errorf("status %d is %q, want %q", i, s, want[i])
			}
			roundTrip(t, s)
		}
		for i, s := range allRuns {
			if want := []string{"created", "running", "waiting", "done"}[i]; s.String() != want {
				t.Errorf("run status %d is %q, want %q", i, s, want)
			}
			roundTrip(t, s)
		}
		for i, a := range []ResumeAction{ActionResume, ActionCancel} {
			if want := []string{"resume", "cancel"}[i]; a.String() != want {
				t.Errorf("action %d is %q, want %q", i, a, want)
			}
			roundTrip(t, a)
		}
		for i, m := range []ResumeMode{ReplayToolCall, UseDecisionAsToolResult, PassDecisionToTool} {
			if want := []string{"replay_tool_call", "use_decision_as_tool_result", "pass_decision_to_tool"}[i]; m.String() != want {
				t.Errorf("mode %d is %q, want %q", i, m, want)
			}
			roundTrip(t, m)
		}
	})
	t.Run("C11 a word that is none is refused", func(t *testing.T) {
		var s CallStatus
		if err := json.Unmarshal([]byte(`"Running"`), &s); err == nil {
			t.Error("Running with a capital was taken")
		}
		var a ResumeAction
		if err := json.Unmarshal([]byte(`""`), &a); err == nil {
			t.Error("an empty action was taken")
		}
	})
}

func roundTrip[T comparable](t *testing.T, v T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(b, &back); err != nil || back != v {
		t.Errorf("%v came back as %v from %s (%v)", v, back, b, err)
	}
}
