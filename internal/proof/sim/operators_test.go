package sim_test

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// operate looks at crowded delivery lines again and again, and redrives what was given up. Lines
// keep their bound whether or not a worker delivers (ND-8), but for one notice whose owner was lost
// before it gave another up, and one that failed meanwhile.
func (s *stage) operate(ctx context.Context) {
	for {
		_ = s.w.Sleep(ctx, s.w.Upto(5*time.Second))
		for _, of := range s.tenants() {
			of.measureLines(ctx)
			if s.w.Chance(0.3) {
				of.redrive(ctx)
			}
		}
	}
}

func (s *stage) measureLines(ctx context.Context) {
	most := s.plan.bound().Failed + s.plan.bound().New + 2
	for _, t := range s.threads {
		lines, err := s.db.ThreadLines(ctx, s.tenant, t.id)
		if err != nil {
			s.wrong("reading the lines of %s: %v", t.id, err)
		}
		for endpoint, l := range lines {
			if len(l.Entries) > most {
				s.wrong("ND-8: %d notices of %s wait for %s: %s", len(l.Entries), t.id, endpoint, core.Encode(l))
			}
		}
	}
}

// recorded is an operator who redrives a notice before its line is without it.
func (c casts) recorded(ctx context.Context, r notice.Record) {
	if of := c.of(r.Tenant).s; r.State == notice.StateDead && of.w.Chance(0.2) {
		of.redriveOne(ctx, r)
	}
}

// redrive puts dead letters back in their lines. It says whether there were any.
func (s *stage) redrive(ctx context.Context) (some bool) {
	dead, _, err := s.db.Records(ctx, s.tenant, engine.RecordQuery{Dead: true, Limit: 10_000})
	if err != nil {
		s.wrong("listing dead letters: %v", err)
	}
	for _, r := range dead {
		some = s.redriveOne(ctx, r) || some
	}
	return some
}

// redriveOne leaves alone what an endpoint that is gone did not get.
func (s *stage) redriveOne(ctx context.Context, r notice.Record) bool {
	if !s.plan.crowded || r.Endpoint == "gone" {
		return false
	}
	if last := r.Attempts[len(r.Attempts)-1]; last.Error != notice.TooMany {
		s.wrong("ND-1: %s is dead to %s: %s", r.Thread, r.Endpoint, core.Encode(r))
	}
	switch err := s.db.RedriveNotice(ctx, r.Key, r.Event, s.w.Now().UnixMilli()); {
	case err == nil:
		s.receivers.again[r.Key]++
		return true
	case !errors.Is(err, engine.ErrNotFound):
		s.wrong("redriving event %d of %s: %v", r.Event, r.Thread, err)
	}
	return false
}
