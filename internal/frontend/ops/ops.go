// Package ops says how the work of a tenant is going, in numbers that a bounded number of reads can
// tell. It keeps no history: what happened in each hour follows from the runs and the deliveries
// that are there.
//
//	exact             since when the longest waits, budgets
//	up to 500, then   calls that wait or are due, runs of the last 24 hours, failed ones,
//	"at least"        dead deliveries, disabled endpoints
//
// Deliveries that fail and are still attempted are listed by thread only, so they are not counted.
package ops

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

const (
	// most is how many things of one kind are read.
	most = 500
	page = 100
	// soon is when a call that waits is due.
	soon  = 4 * time.Hour
	hours = 24
)

// Desk tells the numbers.
type Desk struct {
	front      *frontend.Frontend
	deliveries *webhooks.Desk
}

// New returns the desk of a frontend. Without deliveries there are none.
func New(f *frontend.Frontend, deliveries *webhooks.Desk) *Desk { return &Desk{f, deliveries} }

// Read returns the numbers of the caller's tenant at this moment.
func (d *Desk) Read(ctx context.Context, c frontend.Caller) (wire.Ops, error) {
	now := d.front.Clock.Now()
	s := sums{now: now, Ops: wire.Ops{At: wire.Millis(now.UnixMilli())}}
	for i := range hours {
		s.Hours = append(s.Hours, wire.OpsHour{From: wire.Millis(now.Truncate(time.Hour).Add(time.Duration(i-hours+1) * time.Hour).UnixMilli())})
	}
	leave, err := d.front.Pages.Take(ctx, c.Tenant)
	if err != nil {
		return s.Ops, err
	}
	defer leave()
	for _, read := range []func(context.Context, frontend.Caller, *sums) error{d.waiting, d.runs, d.dead, d.disabled} {
		if err := read(ctx, c, &s); err != nil {
			return s.Ops, err
		}
	}
	s.Budgets, err = d.front.Budgets(ctx, c)
	return s.Ops, err
}

type sums struct {
	wire.Ops
	now time.Time
}

// hour is the hour of a time; nil if it is not among the last 24.
func (s *sums) hour(at time.Time) *wire.OpsHour {
	i := int(at.Sub(s.Hours[0].From.Time) / time.Hour)
	if at.Before(s.Hours[0].From.Time) || i >= len(s.Hours) {
		return nil
	}
	return &s.Hours[i]
}

// each reads pages until there are no more, or as many were read as may be. see says whether to go
// on; more, that what comes next was not read.
func each[T any](ctx context.Context, d *Desk, read func(cursor string) ([]T, string, error), see func(T) bool) (more bool, err error) {
	for cursor, looked := "", 0; ; {
		var next string
		found, err := storecall.Try(ctx, d.front.Clock, func() (found []T, err error) {
			found, next, err = read(cursor)
			return found, err
		})
		if err != nil {
			return false, err
		}
		for _, one := range found {
			if !see(one) {
				return false, nil
			}
		}
		looked += len(found)
		if cursor = next; cursor == "" || looked >= most {
			return cursor != "", nil
		}
	}
}

// waiting reads the heads of runs that wait, the longest waiting first, and no journal.
func (d *Desk) waiting(ctx context.Context, c frontend.Caller, s *sums) error {
	more, err := each(ctx, d, func(cursor string) ([]core.Head, string, error) {
		return d.front.Store.Approvals(ctx, c.Tenant, cursor, page)
	}, func(h core.Head) bool {
		s.wait(h)
		return true
	})
	s.Waiting.AtLeast, s.Due.AtLeast = s.Waiting.AtLeast || more, s.Due.AtLeast || more
	return err
}

func (s *sums) wait(h core.Head) {
	if len(h.Calls) == 0 { // it cannot be read
		s.Waiting.Count++
		s.Waiting.AtLeast, s.Due.AtLeast = true, true
		return
	}
	open := journal.OpenSuspensions(journal.Place{Head: h, Record: h.Record(), Current: true})
	waits := 0
	for _, call := range h.Calls {
		if !open[call.Sus] || call.Kind == core.KindClient {
			continue
		}
		waits++
		if call.Deadline != 0 && time.UnixMilli(call.Deadline).Before(s.now.Add(soon)) {
			s.Due.Count++
		}
	}
	if s.Waiting.Count += waits; waits == 0 {
		return
	}
	at, _, _ := strings.Cut(h.Oldest, "#")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return
	}
	since := wire.Millis(ms)
	if s.OldestSince == nil || since.Before(s.OldestSince.Time) {
		s.OldestSince = &since
	}
	if hour := s.hour(since.Time); hour != nil {
		hour.Waiting++
	}
}

// runs reads the newest runs, as far back as a day.
func (d *Desk) runs(ctx context.Context, c frontend.Caller, s *sums) error {
	first := s.now.Add(-hours * time.Hour)
	more, err := each(ctx, d, func(cursor string) ([]core.Record, string, error) {
		return d.front.Store.Runs(ctx, c.Tenant, "", cursor, page)
	}, func(r core.Record) bool {
		born := time.UnixMilli(r.Born)
		if born.Before(first) {
			return false
		}
		hour := s.hour(born)
		if hour == nil {
			hour = &wire.OpsHour{}
		}
		s.Started.Count++
		hour.Started++
		if r.End != nil && r.End.Kind == core.Failed {
			s.Failed.Count++
			hour.Failed++
		}
		return true
	})
	s.Started.AtLeast, s.Failed.AtLeast = more, more
	return err
}

func (d *Desk) dead(ctx context.Context, c frontend.Caller, s *sums) error {
	if d.deliveries == nil {
		return nil
	}
	more, err := each(ctx, d, func(cursor string) ([]wire.Delivery, string, error) {
		found, err := d.deliveries.Deliveries(ctx, c, webhooks.Query{Dead: true, Limit: page, Cursor: cursor})
		return found.Items, found.Next, err
	}, func(one wire.Delivery) bool {
		s.DeadDeliveries.Count++
		if one.EndedAt == nil {
			return true
		}
		if hour := s.hour(one.EndedAt.Time); hour != nil {
			hour.Dead++
		}
		return true
	})
	s.DeadDeliveries.AtLeast = more
	return err
}

func (d *Desk) disabled(ctx context.Context, c frontend.Caller, s *sums) error {
	if d.deliveries == nil {
		return nil
	}
	more, err := each(ctx, d, func(cursor string) ([]wire.DisabledEndpoint, string, error) {
		found, err := d.deliveries.Disabled(ctx, c, cursor, page)
		return found.Items, found.Next, err
	}, func(wire.DisabledEndpoint) bool {
		s.DisabledEndpoints.Count++
		return true
	})
	s.DisabledEndpoints.AtLeast = more
	return err
}
