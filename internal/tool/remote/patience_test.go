package remote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

func TestPatienceEndsWithSilenceAndAtTheLatestWithItsTime(t *testing.T) {
	for _, tt := range []struct {
		name    string
		longest time.Duration
		signs   []time.Duration // between one sign of life and the next
		lasts   time.Duration
	}{
		{"nothing is heard", 0, nil, quiet},
		{"a sign", 3 * quiet, []time.Duration{6 * time.Second}, 16 * time.Second},
		{"signs in no time", 0, []time.Duration{6 * time.Second}, quiet},
		{"signs without end", 25 * time.Second, []time.Duration{9 * time.Second, 9 * time.Second, 5 * time.Second}, 25 * time.Second},
	} {
		w := newWorld(t, again)
		ctx, p := remote.NewPatience(t.Context(), w.clock, quiet, tt.longest)
		left := tt.lasts
		for _, pause := range tt.signs {
			w.clock.Advance(pause)
			p.Renew()
			left -= pause
		}
		w.clock.Advance(left - 1)
		if ctx.Err() != nil || p.Allows(tt.lasts) {
			t.Errorf("%s: it ended too early, or allows more than its time", tt.name)
		}
		w.clock.Advance(1)
		if !errors.Is(context.Cause(ctx), remote.ErrSlow) {
			t.Errorf("%s: %v after %s", tt.name, context.Cause(ctx), tt.lasts)
		}
		p.End()
	}
}

func TestASignOfLifeThatComesLateDoesNothing(t *testing.T) {
	w := newWorld(t, again)
	ctx, p := remote.NewPatience(t.Context(), w.clock, quiet, 0)
	p.End()
	p.Renew()
	if _, waits := w.clock.Next(); waits || !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Errorf("a timer is set: %v, cause %v", waits, context.Cause(ctx))
	}
}

func TestASilentAttemptIsEndedAndNotRepeated(t *testing.T) {
	for k := range kinds {
		w := newWorld(t, k)
		w.call.Longest = time.Minute // if there had been signs of life
		out, err := w.call.Run(t.Context(), func(ctx context.Context, _ *remote.Patience) remote.Attempt {
			w.sent++
			w.clock.Advance(quiet)
			<-ctx.Done()
			return remote.Unknown{Why: remote.Silence(context.Cause(ctx), quiet, remote.Broke), Retry: true}
		})
		want := map[kind]string{look: "Bank was asked, and no answer came within 10s.",
			once:  "pay was sent to bank, and no answer came within 10s. Say what happened: its result, its error, or that it did not happen and may run.",
			again: "The request was sent to bank, and no answer came within 10s. It may or may not have taken effect."}[k]
		if got := out.Text + question(out); err != nil || w.sent != 1 || got != want {
			t.Errorf("%s: sent %d times, %q, %v", kinds[k], w.sent, got, err)
		}
	}
}

func TestSignsOfLifeGiveACallMoreTime(t *testing.T) {
	w := newWorld(t, once)
	w.call.Longest = time.Minute
	out, err := w.call.Run(t.Context(), func(ctx context.Context, p *remote.Patience) remote.Attempt {
		for range 3 {
			w.clock.Advance(quiet - 1)
			p.Renew()
		}
		if ctx.Err() != nil {
			return nil
		}
		return paid
	})
	if err != nil || out.Text != "paid" {
		t.Errorf("%+v, %v", out, err)
	}
}
