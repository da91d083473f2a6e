// Package recall keeps what a request has read of a run in order to decide what it does, so that
// the stream which shows the run doesn't read it again.
package recall

import (
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// Events are those of a run that were read, from the first on. The zero value has none.
type Events struct {
	run    string
	items  []wire.Event
	next   string // the cursor behind them
	weight int
}

// Add takes a page. Those of a run that is too large to be held are let go, and what doesn't
// continue the pages before is left out.
func (e *Events) Add(run string, q query.EventQuery, page wire.EventPage) {
	if q.After == "" {
		*e = Events{run: run}
	}
	if e.run != run || e.next != q.After {
		return
	}
	for _, one := range page.Items {
		e.weight += len(one.Data)
	}
	if e.weight > journal.PageBytes {
		*e = Events{}
		return
	}
	e.items, e.next = append(e.items, page.Items...), page.Next
}

// Take returns what was read of a run, and the cursor behind it, and keeps nothing.
func (e *Events) Take(run string) (items []wire.Event, next string) {
	if e.run == run {
		items, next = e.items, e.next
	}
	*e = Events{}
	return items, next
}
