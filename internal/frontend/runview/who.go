package runview

import (
	"encoding/json"
	"slices"

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
	if e, ok := runStarted(p, found); ok {
		return actorIn(e)
	}
	return nil
}

// runStarted is the event with which the journal of the run begins.
func runStarted(p journal.Place, found map[int64]core.Segment) (core.Event, bool) {
	events := found[p.Record.Seq0+1].Events
	i := slices.IndexFunc(events, func(e core.Event) bool { return e.Type == core.EventRunStarted })
	if i < 0 {
		return core.Event{}, false
	}
	return events[i], true
}

// suppliedTools are the names of the tools that the run has from its client.
func suppliedTools(p journal.Place, found map[int64]core.Segment) (names []string) {
	e, _ := runStarted(p, found)
	var data wire.RunStartedData
	if p.Record.Supplied == "" || json.Unmarshal(e.Data, &data) != nil {
		return nil
	}
	for _, t := range data.ClientTools {
		names = append(names, t.Name)
	}
	return names
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
