package remote_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// TestAnAttemptMeansTheSameToEveryAdapter is one attempt, however often it is made.
func TestAnAttemptMeansTheSameToEveryAdapter(t *testing.T) {
	const effect = " The call may or may not have taken effect."
	for _, tt := range []struct {
		name    string
		attempt remote.Attempt
		sent    map[kind]int
		says    map[kind]string // a question begins with ?
	}{
		{"not sent", unreached, map[kind]int{once: 3, again: 3, look: 3}, alike("The call did not run: bank could not be reached.")},
		{"not sent, for good", closed, map[kind]int{once: 1, again: 1, look: 1}, alike("The call did not run: bank cannot be called.")},
		{"refused", unwelcome, map[kind]int{once: 1, again: 1, look: 1}, alike("The call did not run: bank answered 401.")},
		{"refused for now", busy, map[kind]int{once: 1, again: 3, look: 3}, alike("Bank is busy.")},
		{"refused for now, for certain", throttled, map[kind]int{once: 3, again: 3, look: 3}, alike("The call did not run: bank has no room.")},
		{"unknown", broken, map[kind]int{once: 1, again: 3, look: 3}, map[kind]string{once: "?the connection broke",
			again: "The request was sent to bank, and the connection broke. It may or may not have taken effect.", look: "Bank was asked, and the connection broke."}},
		{"unknown, for good", stopped, map[kind]int{once: 1, again: 1, look: 1},
			map[kind]string{once: "?it was stopped", again: "Bank was stopped." + effect, look: "Bank was stopped."}},
		{"a gateway", gateway, map[kind]int{once: 1, again: 3, look: 3},
			map[kind]string{once: "?a gateway answered 502", again: "Bank answered 502." + effect, look: "Bank answered 502."}},
		{"a success", paid, map[kind]int{once: 1, again: 1, look: 1}, alike("paid")},
		{"half a success", half, map[kind]int{once: 1, again: 3, look: 3}, map[kind]string{once: "pa",
			again: "The request was sent to bank, and the rest is missing. It may or may not have taken effect.", look: "Bank was asked, and the rest is missing."}},
		{"a failure", fault, map[kind]int{once: 1, again: 1, look: 1},
			map[kind]string{once: "Bank failed." + effect, again: "Bank failed." + effect, look: "Bank failed."}},
		{"a failure that may pass", overload, map[kind]int{once: 1, again: 3, look: 3},
			map[kind]string{once: "Bank answered 503." + effect, again: "Bank answered 503." + effect, look: "Bank answered 503."}},
		{"a failure without effect", duplicate, map[kind]int{once: 1, again: 1, look: 1}, alike("Paid already.")},
		{"nothing", nil, map[kind]int{once: 1, again: 1, look: 1}, openEnd},
		{"a pointer", &unreached, map[kind]int{once: 1, again: 1, look: 1}, openEnd},
		{"no pointer", (*remote.NotSent)(nil), map[kind]int{once: 1, again: 1, look: 1}, openEnd},
		{"not sent, without a reason", remote.NotSent{Retry: true}, map[kind]int{once: 1, again: 1, look: 1}, openEnd},
		{"refused, without a reason", remote.Refused{Retry: true, Certain: true}, map[kind]int{once: 1, again: 1, look: 1}, openEnd},
		{"unknown, without a reason", remote.Unknown{Retry: true}, map[kind]int{once: 1, again: 3, look: 3}, openEnd},
	} {
		for k := range kinds {
			w := newWorld(t, k)
			out, err := w.run(t.Context(), tt.attempt)
			want, asked := strings.CutPrefix(tt.says[k], "?")
			if asked {
				want = "pay was sent to bank, and " + want + ". Say what happened: its result, its error, or that it did not happen and may run."
			}
			if got := out.Text + question(out); err != nil || got != want || asked != (out.Kind == core.KindUnknownOutcome) || w.sent != tt.sent[k] {
				t.Errorf("%s, %s: sent %d times, %q, %+v, %v\nwant %d times, %q", tt.name, kinds[k], w.sent, got, out, err, tt.sent[k], want)
			}
		}
	}
}

// openEnd is what is shown of an attempt that says nothing.
var openEnd = map[kind]string{once: "?its outcome is unknown", look: "Bank was asked, and its outcome is unknown.",
	again: "The request was sent to bank, and its outcome is unknown. It may or may not have taken effect."}

func alike(text string) map[kind]string { return map[kind]string{once: text, again: text, look: text} }

// TestADoubtStaysUntilASuccess: what a later attempt meets with says nothing about an earlier one.
func TestADoubtStaysUntilASuccess(t *testing.T) {
	const before = " It was sent before, and the connection broke: the call may or may not have taken effect."
	const open = "The request was sent to bank, and the connection broke. It may or may not have taken effect. It could not be sent again: bank "
	for _, tt := range []struct {
		name string
		then []remote.Attempt
		want string
	}{
		{"not sent", []remote.Attempt{unreached}, open + "could not be reached."},
		{"not sent, for good", []remote.Attempt{closed}, open + "cannot be called."},
		{"no room", []remote.Attempt{throttled}, open + "has no room."},
		{"refused", []remote.Attempt{unwelcome}, "Bank answered 401." + before},
		{"busy", []remote.Attempt{busy}, "Bank is busy." + before},
		{"a failure", []remote.Attempt{fault}, "Bank failed." + before},
		{"a failure without effect", []remote.Attempt{duplicate}, "Paid already." + before},
		{"stopped", []remote.Attempt{stopped}, "Bank was stopped." + before},
		{"not sent, then refused", []remote.Attempt{unreached, unwelcome}, "Bank answered 401." + before},
		{"a newer doubt, then refused", []remote.Attempt{gateway, unwelcome}, strings.ReplaceAll("Bank answered 401."+before, "the connection broke", "a gateway answered 502")},
		{"a success", []remote.Attempt{paid}, "paid"},
	} {
		w := newWorld(t, again)
		if out, err := w.run(t.Context(), append([]remote.Attempt{broken}, tt.then...)...); err != nil || out.Text != tt.want || out.Ticket != nil {
			t.Errorf("%s: %+v, %v\nwant %q", tt.name, out, err, tt.want)
		}
		w = newWorld(t, look)
		if out, err := w.run(t.Context(), append([]remote.Attempt{broken}, tt.then...)...); err != nil || strings.Contains(out.Text, "effect") {
			t.Errorf("%s: what only reads has no effect: %+v, %v", tt.name, out, err)
		}
	}
}

func TestPausesGrowAndTheOtherSideCanAskForMore(t *testing.T) {
	w := newWorld(t, again)
	w.call.Repeats, w.call.Quiet = 8, time.Hour
	if _, err := w.run(t.Context(), broken); err != nil || w.sent != 9 {
		t.Fatalf("sent %d times, %v", w.sent, err)
	}
	for i, pause := range w.clock.pauses {
		if whole := min(250*time.Millisecond<<i, 5*time.Second); pause < whole/2 || pause > whole {
			t.Errorf("pause %d is %s, of %s", i, pause, whole)
		}
	}
	for after, want := range map[time.Duration]int{-time.Hour: 2, time.Second: 2, quiet - 1: 2, quiet: 1, time.Hour: 1} {
		for _, first := range []remote.Attempt{remote.NotSent{Why: "is busy", Retry: true, After: after}, remote.Refused{Said: "Busy.", Retry: true, After: after},
			remote.Unknown{Why: "it is busy", Retry: true, After: after}, remote.Answered{Doubt: "it is busy", After: after}} {
			w := newWorld(t, again)
			if _, err := w.run(t.Context(), first, paid); err != nil || w.sent != want {
				t.Errorf("%+v: sent %d times, want %d, %v", first, w.sent, want, err)
			}
			if want == 2 && after > 0 && !slices.Equal(w.clock.pauses, []time.Duration{after}) {
				t.Errorf("%+v: pauses %v", first, w.clock.pauses)
			}
		}
	}
}

func TestNothingIsSentWhenTheTimeIsOver(t *testing.T) {
	for k := range kinds {
		w := newWorld(t, k)
		w.before = func(int) { w.clock.Advance(quiet) }
		if _, err := w.run(t.Context(), unreached); err != nil || w.sent != 1 {
			t.Errorf("%s: sent %d times, %v", kinds[k], w.sent, err)
		}
	}
}

func TestTheEndOfTheContextInAPauseIsReturned(t *testing.T) {
	for k := range kinds {
		w := newWorld(t, k)
		ctx, cancel := context.WithCancel(t.Context())
		w.clock.asleep = cancel
		if out, err := w.run(ctx, unreached); !errors.Is(err, context.Canceled) || w.sent != 1 || out.Text != "" {
			t.Errorf("%s: sent %d times, %+v, %v", kinds[k], w.sent, out, err)
		}
	}
}

// TestWhatWasSaidBeforeTheContextEndedIsKept: unless the call may be repeated and would have been.
// Its owner decides then, as for an attempt of which nothing was heard.
func TestWhatWasSaidBeforeTheContextEndedIsKept(t *testing.T) {
	for _, tt := range []struct {
		name    string
		attempt remote.Attempt
		kept    []kind
	}{
		{"not sent", closed, nil},
		{"unknown", remote.Unknown{Why: "the connection broke"}, nil},
		{"nothing", nil, nil},
		{"refused", unwelcome, []kind{once, again, look}},
		{"refused for now", busy, []kind{once}},
		{"no room", throttled, nil},
		{"stopped", stopped, []kind{once, again, look}},
		{"a gateway", gateway, []kind{once}},
		{"a success", paid, []kind{once, again, look}},
		{"half a success", half, []kind{once}},
		{"a failure", fault, []kind{once, again, look}},
		{"a failure that may pass", overload, []kind{once}},
	} {
		for k := range kinds {
			w := newWorld(t, k)
			ctx, cancel := context.WithCancel(t.Context())
			w.before = func(int) { cancel() }
			out, err := w.run(ctx, tt.attempt)
			if kept := err == nil; kept != slices.Contains(tt.kept, k) || !kept && !errors.Is(err, context.Canceled) || w.sent != 1 {
				t.Errorf("%s, %s: sent %d times, %+v, %v", tt.name, kinds[k], w.sent, out, err)
			}
		}
	}
}
