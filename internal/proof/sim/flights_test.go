package sim_test

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// flights are the bodies of each owner as they begin and end. They check the rules for decisions
// that arrive while bodies run.
type flights struct {
	s     *stage
	begun map[string]bool              // by idempotency key and owner
	up    map[string]map[string]flying // by owner and call
	// by owner and call: the key of a body that has returned to a living owner
	back map[string]map[string]string
	// by owner: two calls whose bodies wrote one key side by side
	torn map[string][][2]string
	// by run and call: a body ran out of its owner's time
	cut map[string]bool
}

// flying is a body that runs.
type flying struct {
	ctx   context.Context
	rev   int64 // of the head when it began
	tears bool
}

func newFlights(s *stage) *flights {
	return &flights{s, map[string]bool{}, map[string]map[string]flying{}, map[string]map[string]string{}, map[string][][2]string{}, map[string]bool{}}
}

func ownerOf(thread string, epoch int64) string { return fmt.Sprint(thread, "@", epoch) }

// begin notes a body. One owner begins each attempt once (RD-2, RD-5).
func (f *flights) begin(ctx context.Context, req engine.ToolRequest) (end func()) {
	owner := ownerOf(req.Thread, req.Epoch)
	if once := req.Key + " of " + owner; f.begun[once] {
		f.s.wrong("RD-5: one owner began the body of %s (%s) twice under its key %s", req.Call.ID, req.Call.Name, req.Key)
	} else {
		f.begun[once] = true
	}
	rev := f.s.watched.last[req.Thread].Rev
	beside, tears := false, roles[req.Call.Name].tears
	for id, other := range f.up[owner] {
		beside = beside || other.rev < rev
		if tears && other.tears {
			f.torn[owner] = append(f.torn[owner], [2]string{id, req.Call.ID})
		}
	}
	if beside {
		f.s.faults.Counts["bodies begun beside others"]++
	}
	if f.up[owner] == nil {
		f.up[owner], f.back[owner] = map[string]flying{}, map[string]string{}
	}
	f.up[owner][req.Call.ID] = flying{ctx, rev, tears}
	return func() {
		delete(f.up[owner], req.Call.ID)
		if ctx.Err() == nil {
			f.back[owner][req.Call.ID] = req.Key
		} else {
			f.cut[req.Run+"/"+req.Call.ID] = true
		}
	}
}

// released checks an owner that has given its claim up. It has asked every body that still runs to
// stop (RD-4), and has committed the outcomes of the bodies that returned to it (RD-3); a run that
// ends closes its calls whatever their outcomes. If two bodies overlapped and wrote a key that only
// one may write, one of the writes counts.
func (f *flights) released(h core.Head) {
	owner := ownerOf(h.Thread, h.Epoch)
	for call, body := range f.up[owner] {
		if body.ctx.Err() == nil {
			f.s.wrong("RD-4: %s was given up while the body of %s ran", h.Run, call)
		}
	}
	for id, key := range f.back[owner] {
		c, tracked := h.Calls[id]
		open := c.Status == core.CallNew || c.Status == core.CallRunning || c.Status == core.CallResuming
		if tracked && open && h.End == nil && key == fmt.Sprintf("%s/%s/%d", h.Run, id, c.Number) {
			f.s.wrong("RD-3: %s was given up, and the outcome of %s was forgotten", h.Run, id)
		}
	}
	for _, pair := range f.torn[owner] {
		if h.Calls[pair[0]].Status == core.CallSucceeded && h.Calls[pair[1]].Status == core.CallSucceeded {
			f.s.wrong("H57: %s and %s of %s wrote one key side by side, and both count", pair[0], pair[1], h.Run)
		}
	}
	delete(f.torn, owner)
	delete(f.up, owner)
	delete(f.back, owner)
}
