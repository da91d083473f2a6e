package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// witness looks at the head after every write, and knows what the journal says.
type witness struct {
	*sim.Memory
	p      *performance
	thread string // of the story
	ended  time.Time
	runs   []string
	last   map[string]core.Head
	named  map[string]core.Stamp // segments that a head has named

	asked map[string]core.ToolCall // by run and call: as the model asked for it
	tools map[string]string        // by run and call
	// by tool: the last suspension that a story's people are asked about
	waiting  map[string]core.SuspendedCall
	kinds    map[string]core.Kind
	approved map[string]bool
	edited   map[string]json.RawMessage
	closed   map[string]string // why a call may not run
	granted  map[string]bool   // by run and tool: for the rest of the turn
	moments  *moments
	came     map[string]int // moments of calls that wait, by tool and type of their event
	writes   int            // that callers tried
	tree     storyTree
}

func newWitness(p *performance) *witness {
	return &witness{Memory: p.db, p: p, last: map[string]core.Head{}, named: map[string]core.Stamp{}, asked: map[string]core.ToolCall{},
		tools: map[string]string{}, waiting: map[string]core.SuspendedCall{}, kinds: map[string]core.Kind{}, approved: map[string]bool{},
		edited: map[string]json.RawMessage{}, closed: map[string]string{}, granted: map[string]bool{},
		moments: newMoments(p.wrong, map[string]int{}), came: map[string]int{}, tree: newStoryTree()}
}

func (w *witness) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	h, err := w.Memory.Claim(ctx, req)
	w.look(req.Tenant, req.Thread)
	return h, err
}

func (w *witness) UpdateHead(req engine.CommitRequest) (engine.Written, error) {
	got, err := w.Memory.UpdateHead(req)
	w.look(req.Next.Tenant, req.Next.Thread)
	return got, err
}

func (w *witness) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	w.writes++
	got, err := w.Memory.Start(ctx, req)
	if err == nil && w.thread == "" && req.Head.Agent == storyAgent {
		w.thread = req.Head.Thread
	}
	w.look(req.Head.Tenant, req.Head.Thread)
	return got, err
}

func (w *witness) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	w.writes++
	got, err := w.Memory.Signal(ctx, req)
	w.look(req.Tenant, req.Thread)
	return got, err
}

// look holds the head against the one before: what never goes back, what an open run must have,
// what is history.
func (w *witness) look(tenant, thread string) {
	h, err := w.Load(context.Background(), tenant, thread)
	if err != nil {
		return
	}
	old := w.last[thread]
	w.last[thread] = h
	w.tree.look(h)
	if h.Epoch < old.Epoch || h.Rev < old.Rev || h.Seq < old.Seq || h.Ev < old.Ev || h.Sigs < old.Sigs {
		w.p.wrong("the head went back: %s\n\tafter %s", core.Encode(h), core.Encode(old))
	}
	if why := idle(h); why != "" {
		w.p.wrong("I-5: %s: %s", why, core.Encode(h))
	}
	if thread == w.thread && (len(w.runs) == 0 || w.runs[len(w.runs)-1] != h.Run) {
		w.runs = append(w.runs, h.Run)
	}
	if thread == w.thread && !h.Open() && old.Open() {
		w.ended = w.p.w.Now()
	}
	if h.Seq > old.Seq {
		w.read(old, h)
	}
	w.p.change()
}

func (w *witness) read(old, h core.Head) {
	from := old.Seq
	segments, _ := w.Segments(context.Background(), h.Tenant, h.Thread, from+1, h.Seq)
	if int64(len(segments)) != h.Seq-from {
		w.p.wrong("I-8: %d segments behind %d, the head says %d", len(segments), from, h.Seq)
	}
	for _, s := range segments {
		w.named[fmt.Sprint(h.Thread, s.Seq)] = s.W
		if h.Thread == w.thread || h.Parent != nil {
			w.moments.read(old, s)
			w.index(h, s)
		}
	}
}

func (w *witness) index(h core.Head, s core.Segment) {
	for _, m := range s.Messages {
		for _, c := range m.Calls {
			w.asked[m.RunID+"/"+c.ID] = c
			w.tools[m.RunID+"/"+c.ID] = c.Name
		}
	}
	for _, e := range s.Events {
		switch e.Type {
		case core.EventCallSuspended:
			var call core.SuspendedCall
			_ = json.Unmarshal(e.Data, &call)
			// a run below that is paused is not the story's own
			if call.ToolName != "" || h.Parent == nil {
				w.suspended(call)
			}
		case core.EventDecisionRecorded:
			var rec core.DecisionRecord
			_ = json.Unmarshal(e.Data, &rec)
			w.decided(e.RunID, rec)
		case core.EventCallReminded, core.EventCallEscalated:
			var data events.Reminded
			_ = json.Unmarshal(e.Data, &data)
			w.came[fmt.Sprint(e.Type, " ", data.ToolName)]++
		case core.EventTurnEnded:
			if asksSomebody(e) {
				clear(w.granted)
			}
		}
	}
	if slices.ContainsFunc(s.Messages, func(m core.Message) bool { return m.Role == core.RoleUser }) {
		clear(w.granted)
	}
}

func (w *witness) suspended(call core.SuspendedCall) {
	w.kinds[call.Suspension.ID] = call.Kind
	if call.Kind != core.KindUnknownOutcome {
		w.waiting[call.ToolName] = call
	}
}

// decided keeps what a decision that took effect lets a body do.
func (w *witness) decided(run string, rec core.DecisionRecord) {
	what := run + "/" + rec.CallID
	switch {
	case !rec.Applied:
	case rec.TimedOut && !(rec.Silent && w.silent(what)):
		w.closed[what] = "its deadline had been used"
	case rec.Action == core.ActionCancel:
		w.closed[what] = "it was refused"
	case rec.Error != "":
		w.closed[what] = "an error was its result"
	case w.kinds[rec.Suspension] == core.KindApproval:
		w.tree.ruled[what] = rec.Suspension
		w.approve(run, what, rec)
	}
}

// silent says whether the story lets a call run that no one answers.
func (w *witness) silent(what string) bool {
	t := w.p.setting.tools[w.tools[what]]
	return t != nil && t.silence != nil
}

func (w *witness) approve(run, what string, rec core.DecisionRecord) {
	w.approved[what] = true
	if !core.IsNull(rec.Arguments) {
		w.edited[what] = rec.Arguments
	}
	tool := w.tools[what]
	if t := w.p.setting.tools[tool]; rec.Grant == core.GrantRun && t != nil && t.grants {
		w.granted[run+"/"+tool] = true
	}
}
