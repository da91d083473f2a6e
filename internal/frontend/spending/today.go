package spending

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Today keeps the sums of today, so that asking again reads only what may have changed: the newest
// runs, and the older ones that were not done. It is safe for concurrent use.
//
//	midnight ── done, open, done, done, open ── last ── newest ── now
//	            read again: only the open ones          all
type Today struct {
	Runs Runs

	mu      sync.Mutex
	tenants map[string]*today
}

// today is what is known of a tenant's day.
type today struct {
	turn     chan struct{} // holds one token while the rest is in use
	midnight time.Time
	last     place     // of the newest run that is old enough for nothing to turn up before it
	passed   int       // runs up to last
	done     Day       // of those
	open     []openRun // the others of those, oldest first
	all      Day       // of all runs
	read     time.Time
}

// openRun is a run that was not done when it was read last.
type openRun struct {
	place
	agent string
	nth   int // among the runs of the day
	used  Sum
}

const (
	// fresh is how long a sum counts as that of now
	fresh = 2 * time.Second
	// settled is how old a run is before nothing older can turn up: by so much clocks may
	// differ and an index may be late
	settled = 2 * time.Minute
)

// Read sums the runs that the tenant started today. It waits for another read of the same tenant,
// until ctx ends.
func (t *Today) Read(ctx context.Context, tenant string, now time.Time) (Day, error) {
	d := t.of(tenant)
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if midnight := Midnight(now); !midnight.Equal(d.midnight) {
		*d = today{turn: d.turn, midnight: midnight, last: place{at: midnight.UnixMilli()}, done: Day{}}
	}
	if now.Sub(d.read) < fresh {
		return d.all, nil
	}
	again, err := d.readAgain(ctx, t.Runs, tenant)
	if err != nil {
		return nil, err
	}
	found, err := since(ctx, t.Runs, tenant, d.midnight, d.last)
	if err != nil {
		return nil, err
	}
	d.fold(found, again, now)
	return d.all, nil
}

// readAgain reads the open runs up to last, by their ids.
func (d *today) readAgain(ctx context.Context, runs Runs, tenant string) (map[string]core.Record, error) {
	again := map[string]core.Record{}
	for rest := d.open; len(rest) > 0; {
		newest := rest[len(rest)-1]
		n := together(rest)
		oldest := rest[len(rest)-n]
		err := walk(ctx, runs, tenant, newest.at+1, newest.nth-oldest.nth+1, func(r core.Record) bool {
			again[r.Run] = r
			return oldest.before(r)
		})
		if err != nil {
			return nil, err
		}
		rest = rest[:len(rest)-n]
	}
	return again, nil
}

// together is how many of the newest runs one page reads: as many as are not further apart than a
// few done runs each.
func together(open []openRun) (n int) {
	const apart = 4
	newest := open[len(open)-1].nth
	for n = 1; n < len(open) && newest-open[len(open)-1-n].nth < min(page, apart*(n+1)); {
		n++
	}
	return n
}

// fold adds the runs behind last, newest first, and what has become of the open ones before.
func (d *today) fold(found []core.Record, again map[string]core.Record, now time.Time) {
	open := d.open
	d.open, d.read = nil, now
	for _, o := range open {
		r, there := again[o.run]
		if there {
			o.used = of(r)
		}
		d.pass(o, there && r.Status == core.RunDone)
	}
	newest := Day{}
	for i := range found {
		r := found[len(found)-1-i]
		if r.Born >= now.Add(-settled).UnixMilli() {
			newest.add(r.Agent, of(r))
			continue
		}
		d.passed++
		d.last = place{r.Born, r.Run}
		d.pass(openRun{d.last, r.Agent, d.passed, of(r)}, r.Status == core.RunDone)
	}
	d.all = maps.Clone(d.done)
	for _, o := range d.open {
		d.all.add(o.agent, o.used)
	}
	for agent, used := range newest {
		d.all.add(agent, used)
	}
}

// pass notes a run up to last.
func (d *today) pass(o openRun, done bool) {
	if done {
		d.done.add(o.agent, o.used)
		return
	}
	d.open = append(d.open, o)
}

func (t *Today) of(tenant string) *today {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tenants == nil {
		t.tenants = map[string]*today{}
	}
	if t.tenants[tenant] == nil {
		t.tenants[tenant] = &today{turn: make(chan struct{}, 1)}
	}
	return t.tenants[tenant]
}
