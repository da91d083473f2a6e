package runview

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// startedBy is who started the run: what the first segment of its journal says, or the inbox while
// there is none.
func startedBy(p journal.Place, found map[int64]core.Segment) *wire.Actor {
	if p.Record.Seq <= p.Record.Seq0 {
		start := p.Head.Inbox[core.KeyStart]
		return actor(start.By, start.Via)
	}
	for _, e := range found[p.Record.Seq0+1].Events {
		if e.Type == core.EventRunStarted {
			return actorIn(e)
		}
	}
	return nil
}

// actorIn is who an event names; nil if it names no one.
func actorIn(e core.Event) *wire.Actor {
	var who wire.Actor
	if json.Unmarshal(e.Data, &who) != nil {
		return nil
	}
	return actor(who.By, who.Via)
}

func actor(by, via string) *wire.Actor {
	if by == "" && via == "" {
		return nil
	}
	return &wire.Actor{By: by, Via: via}
}
