package longpoll_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/longpoll"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// purse pays for some pieces of five seconds.
type purse struct{ pieces, asked, over int }

func (p *purse) More(context.Context) time.Duration {
	if p.asked++; p.asked > p.pieces {
		return 0
	}
	return 5 * time.Second
}

func (p *purse) Over() { p.over++ }

func TestAReadIsHeldForAsLongAsItIsPaidFor(t *testing.T) {
	for name, tt := range map[string]struct {
		purse *purse
		wait  time.Duration
		news  time.Duration // after which there is something
		took  time.Duration // about
		asked int
	}{
		"nothing is paid":           {&purse{pieces: 0}, 20 * time.Second, time.Hour, 0, 1},
		"one piece":                 {&purse{pieces: 1}, 20 * time.Second, time.Hour, 5 * time.Second, 2},
		"all of it":                 {&purse{pieces: 9}, 20 * time.Second, time.Hour, 20 * time.Second, 4},
		"news in the second piece":  {&purse{pieces: 9}, 20 * time.Second, 7 * time.Second, 7 * time.Second, 2},
		"what is there costs none":  {&purse{pieces: 9}, 20 * time.Second, 0, 0, 0},
		"no wait costs none":        {&purse{pieces: 9}, 0, time.Hour, 0, 0},
		"a huge wait is cut before": {&purse{pieces: 99}, 1000 * time.Hour, time.Hour, 20 * time.Second, 4},
		"nothing pays":              {nil, 20 * time.Second, time.Hour, 20 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, ctx, begin, looks := &longpoll.Reads{Clock: machine.Clock{}, Longest: 20 * time.Second}, t.Context(), time.Now(), 0
				if tt.purse != nil {
					ctx = longpoll.With(longpoll.With(ctx, nil), tt.purse)
				}
				err := r.Until(ctx, "acme", "thread", tt.wait, false, func() (bool, error) {
					looks++
					return time.Since(begin) >= tt.news, nil
				})
				if took := time.Since(begin); err != nil || took < tt.took || took > tt.took+time.Second || looks == 0 {
					t.Errorf("%v after %v and %d looks", err, took, looks)
				}
				if p := tt.purse; p != nil && (p.asked != tt.asked || p.over != min(1, int(tt.wait))) {
					t.Errorf("paid %d times, over %d times", p.asked, p.over)
				}
			})
		})
	}
}
