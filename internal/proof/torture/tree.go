package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// ParentCall is the call that a run works for.
type ParentCall struct {
	Run  string `json:"run"`
	Call string `json:"call"`
}

// child is what a run's journal says of a run that a call of it started.
type child struct {
	Call       string `json:"call_id"`
	Suspension string `json:"suspension"`
	Run        string `json:"child_run_id"`
	Thread     string `json:"child_thread_id"`
	Outcome    string `json:"outcome"`
	Applied    bool   `json:"applied"`
	ends       int    // how often it is reported to have ended
}

// waits is the run that waits for what is shown as pending of a run.
func waits(run string, p wire.Pending) string {
	if n := len(p.Path); n > 0 {
		return p.Path[n-1].RunID
	}
	return run
}

// child reads the beginning and the end of a child.
func (s *story) child(e wire.Event) {
	var c child
	if json.Unmarshal(e.Data, &c) != nil || c.Run == "" {
		return
	}
	switch e.Type {
	case "child.started":
		s.children = append(s.children, c)
	case "child.ended":
		for i := range s.children {
			if known := &s.children[i]; known.Suspension == c.Suspension {
				known.Outcome, known.Applied = c.Outcome, c.Applied
				known.ends++
			}
		}
	}
}

// lookBelow reads the threads of all runs below those of a thread, by id.
func (w *world) lookBelow(ctx context.Context, t Thread, patience time.Duration) (map[string]Thread, error) {
	below := map[string]Thread{}
	for todo := t.Runs; len(todo) > 0; todo = todo[1:] {
		for _, c := range read(todo[0]).children {
			thread, err := w.readEnded(ctx, c.Thread, patience)
			if err != nil {
				return nil, err
			}
			thread.Parent = &ParentCall{todo[0].ID, c.Call}
			below[c.Thread] = thread
			todo = append(todo, thread.Runs...)
		}
	}
	return below, nil
}

// readEnded reads a thread once its runs are done, or as it is when patience is over: the check
// finds what is not done.
//
// A caller has waited for the run that it started, and that may be done before a run below is:
//
//	worker of the child   commits its end
//	worker of the child   writes the result into the parent's inbox
//	                      killed: its lease runs, and its message comes again after it
//	worker of the parent  takes the result, and ends
//	caller                sees the parent done
//	next worker           releases the child: done
func (w *world) readEnded(ctx context.Context, id string, patience time.Duration) (Thread, error) {
	for patient := time.Now().Add(patience); ; {
		thread, err := w.readWithin(ctx, id, patience)
		done := !slices.ContainsFunc(thread.Runs, func(r RunLog) bool { return r.Status != "done" })
		if err != nil || done || time.Now().After(patient) {
			return thread, err
		}
		if err := machine.Sleep(ctx, lookEvery); err != nil {
			return thread, err
		}
	}
}

func (w *world) readWithin(ctx context.Context, id string, patience time.Duration) (Thread, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	return w.readThread(ctx, id)
}

// givenUpAbove says whether a call that a run works for, or one further up, stopped waiting, or
// that one of the runs above was cancelled: the run may see that before its parent does, which
// then has its result.
func (c *check) givenUpAbove(p *ParentCall) bool {
	for ; p != nil; p = c.parentOf(p.Run) {
		if c.cancelled[p.Run] {
			return true
		}
		s := c.stories[p.Run]
		if s == nil || s.byID[p.Call] == nil {
			return false
		}
		if slices.Contains(s.byID[p.Call].ends, "call.cancelled") {
			return true
		}
	}
	return false
}

func (c *check) parentOf(run string) *ParentCall {
	for _, t := range c.e.Threads {
		if slices.ContainsFunc(t.Runs, func(r RunLog) bool { return r.ID == run }) {
			return t.Parent
		}
	}
	return nil
}

// outcomes is what the reason of a child's end is for the call that it worked for.
var outcomes = map[string]string{"natural_end": "succeeded", "cancelled": "child_cancelled", "error": "child_failed", "stopped": "child_stopped", "blocked": "child_blocked"}

// children: a call of an agent starts one run. Its result is that run's, and comes once; a call
// that has ended leaves no run behind that goes on.
func (c *check) children() {
	for run, s := range c.stories {
		for _, k := range s.children {
			c.child(run, s, k)
		}
	}
}

func (c *check) child(run string, s *story, k child) {
	name := fmt.Sprintf("the call %s of run %s", k.Call, run)
	runs := c.e.Threads[k.Thread].Runs
	call := s.byID[k.Call]
	switch {
	case len(runs) == 0:
		// it was given up before it was launched; the check of calls holds its result
		if k.Applied {
			c.violated("a child is a run", 0, name+" got the result of "+k.Run, "there is no such run")
		}
		return
	case len(runs) > 1 || runs[0].ID != k.Run:
		c.violated("a call starts one child", 0, name+" starts "+k.Run, "its thread has %s", ids(runs))
		return
	case k.ends > 1:
		c.violated("a child ends once", 0, name+" takes one result", "the journal has its end %d times", k.ends)
	}
	reason := ""
	if runs[0].Reason != nil {
		reason = *runs[0].Reason
	}
	if k.Applied && outcomes[reason] != k.Outcome {
		c.violated("a call has the result of its child", 0, name+" ended as "+k.Outcome, "run %s ended as %s", k.Run, orNothing(reason))
	}
	if call == nil || !k.Applied && len(call.ends) > 0 && call.ends[0] != "call.cancelled" {
		c.violated("a call has the result of its child", 0, name+" ends with its child", "it ended, and no end of %s was applied", k.Run)
	}
}

// childRuns counts the runs that other runs have started.
func (e Evidence) childRuns() (n int) {
	for _, t := range e.Threads {
		if t.Parent != nil {
			n += len(t.Runs)
		}
	}
	return n
}
