package local

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// mostDeliveries is how many lines are worked on at once, mostOfTenant how many of one tenant, and
// shareOfTenant how many of each tenant even when the others have taken all. A silent endpoint
// holds one for each thread it is notified of, and never a step.
const (
	mostDeliveries = 32
	mostOfTenant   = 16
	shareOfTenant  = 2
)

// deliveries work on lines beside the steps. A wake-up that finds no room is dropped: it is a hint,
// the line stays due, and the sweep sends another one.
type deliveries struct {
	deliverer *delivery.Deliverer
	log       *slog.Logger
	places    *places

	mu   sync.Mutex
	line map[engine.Wakeup]bool // that are worked on
}

func newDeliveries(o delivery.Options) *deliveries {
	return &deliveries{deliverer: delivery.New(o), log: o.Logger, places: newPlaces(mostDeliveries, mostOfTenant, shareOfTenant), line: map[engine.Wakeup]bool{}}
}

// begin takes a place for a line; false if there is none, or the line is at work already.
func (d *deliveries) begin(w engine.Wakeup) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line[w] || !d.places.Take(w.Tenant) {
		return false
	}
	d.line[w] = true
	return true
}

func (d *deliveries) end(w engine.Wakeup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.line, w)
	d.places.Free(w.Tenant)
}

// deliver works on a line for which begin took a place. An error is logged and needs no other
// answer: the line is due when its lease ends, at the latest.
func (d *deliveries) deliver(ctx context.Context, w engine.Wakeup) {
	defer d.end(w)
	defer func() {
		if r := recover(); r != nil {
			d.log.Error("a delivery panicked", "thread", w.Thread, "endpoint", w.Endpoint, "panic", r, "stack", string(debug.Stack()))
		}
	}()
	if _, err := d.deliverer.Deliver(ctx, w); err != nil {
		d.log.Warn("a delivery failed; the sweep repeats it", "thread", w.Thread, "endpoint", w.Endpoint, "error", err)
	}
}
