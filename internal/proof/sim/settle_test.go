package sim_test

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// settle waits for all callers, ends the faults, and demands that every thread comes to rest: done,
// or waiting for somebody; what still waits is decided, and every run must end.
func (s *stage) settle(ctx context.Context) {
	for s.busy > 0 {
		_ = s.w.Sleep(ctx, 5*time.Second)
	}
	s.faults.Stop()
	s.lastSweep()
	_ = s.w.Sleep(ctx, 4*lease) // longer than any owner that stands still now
	for _, of := range s.tenants() {
		of.end(ctx)
	}
	_ = s.w.Sleep(ctx, 2*lease)
	for _, of := range s.tenants() {
		of.deliver(ctx)
	}
}

// deliver waits until no line has anything left, which is as long as a receiver that failed is left
// alone.
func (s *stage) deliver(ctx context.Context) {
	for range 400 {
		left := s.redrive(ctx)
		for _, t := range s.threads {
			lines, err := s.db.ThreadLines(ctx, s.tenant, t.id)
			for _, l := range lines {
				left = left || l.Due != 0
			}
			if err != nil {
				s.wrong("reading the lines of %s: %v", t.id, err)
			}
		}
		if !left {
			break
		}
		_ = s.w.Sleep(ctx, 2*time.Hour)
	}
	s.receivers.delivered(ctx)
}

// end brings every thread of one tenant to its end.
func (s *stage) end(ctx context.Context) {
	for _, t := range s.threads {
		for range 40 {
			if !t.rest(ctx) {
				break
			}
		}
		if h, err := s.db.Load(ctx, s.tenant, t.id); err == nil && h.Open() {
			s.wrong("I-5: run %s does not end although everything is decided: %s", h.Run, core.Encode(h))
		}
	}
}

// rest waits until the thread has nothing to do, and decides what waits; false once the run is
// done.
func (t *thread) rest(ctx context.Context) (open bool) {
	for range 400 { // bodies that kill their process take their time
		h, err := t.s.db.Load(ctx, t.s.tenant, t.id)
		if err != nil || !h.Open() {
			return false
		}
		if h.Status == core.RunWaiting && len(h.Inbox) == 0 {
			if h.Deadline != 0 && t.s.seed%2 == 0 {
				t.letPass(ctx, h)
			} else {
				t.decideAll(ctx, h)
			}
			return true
		}
		_ = t.s.w.Sleep(ctx, max(4*time.Second, t.s.nextAttempt(h)))
	}
	h, _ := t.s.db.Load(ctx, t.s.tenant, t.id)
	t.s.wrong("I-5: nothing moves any more in %s: %s", h.Run, core.Encode(h))
	return false
}

// letPass waits until something is due about what waits, as the journal has it; it must happen
// then.
func (t *thread) letPass(ctx context.Context, h core.Head) {
	id, first := t.s.watched.moments.due(h)
	if id == "" {
		t.s.wrong("I-5: %s has a deadline, and nothing that it waits for has one: %s", h.Run, core.Encode(h))
		return
	}
	_ = t.s.w.Sleep(ctx, time.UnixMilli(first).Sub(t.s.w.Now())+2*lease+sweepPeriod)
	now, err := t.s.db.Load(ctx, t.s.tenant, t.id)
	if c, was := now.Calls[id], h.Calls[id]; err == nil && now.Run == h.Run && c.Status == core.CallSuspended && c.Sus == was.Sus && c.Moments == was.Moments {
		t.s.wrong("I-5: the deadline of %s of %s has passed, and nothing happens: %s", id, h.Run, core.Encode(now))
	}
}

func (t *thread) decideAll(ctx context.Context, h core.Head) {
	got, err := t.look(ctx, h.Run)
	if err == nil && len(got.Pending) == 0 {
		t.s.wrong("I-5: %s waits, and shows nothing that it waits for: %s", h.Run, core.Encode(h))
	}
	for _, p := range got.Pending {
		t.decideOrDeny(ctx, h.Run, p, t.truth(h.Run, p))
	}
	_ = t.s.w.Sleep(ctx, time.Second)
}
