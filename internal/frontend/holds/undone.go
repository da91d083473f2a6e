package holds

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// LastUndone is who withdrew the newest of the withdrawn decisions on a suspension; empty if none
// was withdrawn. The head has only their ids: one that a worker has journaled is read from there.
func (s Holds) LastUndone(ctx context.Context, p journal.Place, sus string) (by By, err error) {
	if w, unread := p.Head.Inbox[core.WithdrawnKey(sus)]; unread && p.Current {
		return By{w.By, w.Link}, nil
	}
	seq, _ := core.SuspensionSeq(sus)
	err = s.Journal(ctx, p, seq, func(segment core.Segment) bool {
		for _, e := range segment.Events {
			var undone events.Withdrawn
			if e.Type == core.EventDecisionWithdrawn && json.Unmarshal(e.Data, &undone) == nil && undone.Suspension == sus {
				by = By{undone.By, undone.Link}
			}
		}
		return true
	})
	return by, err
}
