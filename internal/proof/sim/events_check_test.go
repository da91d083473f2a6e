package sim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// One schedule in readEvents has its events read. To read those of all would make the simulator a
// third slower.
const readEvents = 8

// checkEvents reads the thread's events as callers see them. Each has the shape that the API
// document gives it, and together they keep what docs/reference/events.md says.
func (s *stage) checkEvents(ctx context.Context, t *thread, segments []core.Segment) {
	if !s.reads {
		return
	}
	shapes, err := eventShapes()
	if err != nil {
		s.wrong("events: the API document: %v", err)
		return
	}
	front := query.New(frontend.New(frontend.Options{Store: s.db, Catalog: casts{s.first}, Waker: s.bell, Clock: s.w, Random: s.w, Limits: frontend.Limits{Pages: inNobodysWay}}))
	r := &reading{stage: s, front: front, shapes: shapes, messages: map[string][]string{}, calls: map[string]*callRead{}, asked: map[string]wire.Pending{}}
	r.results = r.readResults(ctx, t.id)
	commits := commitsOf(segments)
	runs := s.records(ctx, t)
	slices.SortFunc(runs, func(a, b core.Record) int { return cmp.Compare(a.Seq0, b.Seq0) })
	for _, rec := range runs {
		r.readRun(ctx, rec.Run, commits)
	}
	if r.seq != int64(len(commits)) {
		s.wrong("events: the runs of %s have %d events, and its journal %d", t.id, r.seq, len(commits))
	}
}

// commitsOf are the words of checkpoints that each event of a thread must have: those of its
// commit, if it is the last one of that.
func commitsOf(segments []core.Segment) (words [][]string) {
	for _, seg := range segments {
		for i, e := range seg.Events {
			words = append(words, nil)
			if i < len(seg.Events)-1 {
				continue
			}
			for _, c := range seg.Checkpoints() {
				words[e.Seq-1] = append(words[e.Seq-1], string(c))
			}
		}
	}
	return words
}

// reading is what a reader of a thread's events knows so far.
type reading struct {
	*stage
	front   *query.Reader
	shapes  *shapes
	results map[string]wire.Message // tool messages, by call

	seq      int64
	last     wire.Event
	run      wire.Run            // whose events are read
	messages map[string][]string // by id: the parts that events have told of
	calls    map[string]*callRead
	asked    map[string]wire.Pending // by suspension
	turns    int                     // of the run
	open     bool                    // the run is at work
}

// callRead is what events have said of a call.
type callRead struct {
	run, name   string
	arguments   json.RawMessage
	status      string
	suspension  string // what it waits for
	starts      int
	unsolicited bool // the run's own wait
}

func (r *reading) bad(e wire.Event, format string, args ...any) {
	r.wrong("events: "+format+"\n\t%s", append(args, core.Encode(e))...)
}

func (r *reading) readResults(ctx context.Context, thread string) map[string]wire.Message {
	results, ids := map[string]wire.Message{}, map[string]bool{}
	for cursor := ""; ; {
		page, err := r.front.Messages(ctx, frontend.Caller{Tenant: r.tenant}, thread, query.List{Limit: 1000, Cursor: cursor})
		if err != nil {
			r.wrong("events: the messages of %s: %v", thread, err)
			return results
		}
		for _, m := range page.Items {
			if ids[m.ID] {
				r.wrong("events: two messages of %s are %s", thread, m.ID)
			}
			ids[m.ID] = true
			if m.Role == string(core.RoleTool) && !m.Pending {
				results[m.CallID] = m
			}
		}
		if cursor = page.Next; cursor == "" {
			return results
		}
	}
}

// readRun reads the events of a run, page by page.
func (r *reading) readRun(ctx context.Context, run string, commits [][]string) {
	caller := frontend.Caller{Tenant: r.tenant}
	var err error
	if r.run, err = r.front.Run(ctx, caller, run); err != nil {
		r.wrong("events: reading %s: %v", run, err)
		return
	}
	r.turns, r.open = 0, false
	var all []wire.Event
	var rests bool
	for q := (query.EventQuery{Limit: 1000}); ; {
		page, err := r.front.Events(ctx, caller, run, q)
		if err != nil {
			r.wrong("events: reading the events of %s: %v", run, err)
			return
		}
		for _, e := range page.Items {
			r.read(e, commits)
		}
		all, rests = append(all, page.Items...), page.Done || page.Waiting
		if q.After = page.Next; page.Done || len(page.Items) == 0 {
			break
		}
	}
	r.done()
	r.projected(all, rests)
}

// read holds one event against its shape, and against those before it.
func (r *reading) read(e wire.Event, commits [][]string) {
	r.met["event "+e.Type]++
	if r.seq++; e.Seq != r.seq || e.Seq > int64(len(commits)) {
		r.bad(e, "%d comes behind %d", e.Seq, r.last.Seq)
		return
	}
	if err := r.shapes.check(e); err != nil {
		r.bad(e, "%s has another shape: %v", e.Type, err)
		return
	}
	if want := commits[e.Seq-1]; !slices.Equal(e.Checkpoint, want) {
		r.bad(e, "its checkpoints are %v, and its commit's %v", e.Checkpoint, want)
	}
	for _, c := range e.Checkpoint {
		r.met["checkpoint "+c]++
	}
	if same := r.last.RunID == e.RunID; e.RunID != r.run.ID || e.ThreadID != r.run.ThreadID || same && (e.Turn < r.last.Turn || e.Step < r.last.Step) {
		r.bad(e, "it does not follow from %s", core.Encode(r.last))
	}
	r.last = e
	if make := wire.EventData[e.Type]; make != nil {
		data := make()
		_ = json.Unmarshal(e.Data, data) // it has its shape
		r.data(e, data)
	}
}

func (r *reading) data(e wire.Event, data any) {
	switch d := data.(type) {
	case *wire.RunStatusData:
		if d.ID != e.RunID || (d.DoneReason != nil) != (d.Status == core.RunDone.String()) {
			r.bad(e, "a status of another run, or a reason before the end")
		}
	case *wire.TurnStartedData:
		r.turnStarted(e, d)
	case *wire.TurnEndedData:
		r.turnEnded(e, d)
	case *wire.MessageReceivedData:
		r.message(e, d.MessageID, "")
	case *wire.SaidData:
		r.message(e, d.MessageID, e.Type)
	case *wire.StepStartedData:
		r.stepStarted(e, d)
	case *wire.CallReadyData:
		r.callReady(e, d)
	case *wire.CallStartedData:
		r.callStarted(e, d)
	case *wire.Pending:
		r.callSuspended(e, d)
	case *wire.DecisionRecordedData:
		r.decided(e, d)
	case *wire.CallResumingData:
		r.moved(e, d.CallID, "resuming", d.Status)
	case *wire.CallEndedData:
		r.callEnded(e, d)
	case *wire.StepResetData:
		r.met["reset "+d.Reason]++
	case *wire.ActivationEndedData:
		r.met["activation "+d.Outcome]++
	}
}

// message notes that an event tells of a message. Of an assistant message several do, each of
// another part of it; of any other message one does.
func (r *reading) message(e wire.Event, id, part string) {
	was := r.messages[id]
	if len(was) > 0 && (part == "" || was[0] == "" || slices.Contains(was, part)) {
		r.bad(e, "events have told of the message %s before: of its parts %q", id, was)
	}
	r.messages[id] = append(was, part)
}

func (r *reading) turnStarted(e wire.Event, d *wire.TurnStartedData) {
	if r.met["cause "+d.Cause]++; !slices.Contains(core.TurnCauses, core.TurnCause(d.Cause)) {
		r.bad(e, "there is no cause %q", d.Cause)
	}
	if r.turns++; r.open || e.Turn != r.turns {
		r.bad(e, "turn %d begins as the %d. one; another one is open: %v", e.Turn, r.turns, r.open)
	}
	r.open = true
}

// turnEnded holds the end of a turn against the run, if that is done with it, and against what
// waits.
func (r *reading) turnEnded(e wire.Event, d *wire.TurnEndedData) {
	r.met["turn ended "+strings.TrimSpace(d.Status+" "+d.Reason)]++
	if !r.open {
		r.bad(e, "no turn is open")
	}
	r.open = false
	waits := map[string]string{}
	for id, c := range r.calls {
		if c.run == e.RunID && c.suspension != "" {
			waits[id] = c.suspension
		}
	}
	said := map[string]string{}
	for _, p := range d.Pending {
		said[p.CallID] = p.Suspension.ID
		if was := core.Encode(r.asked[p.Suspension.ID]); string(was) != string(core.Encode(p)) {
			r.bad(e, "%s waits, and began to wait as %s", p.CallID, was)
		}
	}
	if done := d.Status == core.RunDone.String(); !maps.Equal(waits, said) || done != (len(waits) == 0) || done != (d.Output != nil) || done != (d.Reason != "") {
		r.bad(e, "it ended %s, and %v wait", d.Status, waits)
	} else if done {
		r.runEnded(e, d)
	}
}

func (r *reading) runEnded(e wire.Event, d *wire.TurnEndedData) {
	want := wire.TurnEndedData{Status: r.run.Status, Code: r.run.Code, Detail: r.run.Detail, Output: json.RawMessage("null"), Usage: r.run.Usage}
	if r.run.Output != nil {
		want.Output = r.run.Output
	}
	if r.run.Reason != nil {
		want.Reason = *r.run.Reason
	}
	if r.run.ResponseState != nil {
		want.ResponseState = *r.run.ResponseState
	}
	if by := r.run.CancelledBy; by != nil {
		want.By, want.Via = by.By, by.Via
	}
	if failed := r.run.Error; failed != nil {
		want.Code, want.Detail = failed.Code, failed.Detail
	}
	if was, is := core.Encode(d), core.Encode(want); string(was) != string(is) {
		r.bad(e, "the run is %s", is)
	}
}

func (r *reading) stepStarted(e wire.Event, d *wire.StepStartedData) {
	if (d.AskedAt == nil) != (d.LatencyMS == nil) {
		r.bad(e, "when the model was asked and how long it took are known together")
	} else if d.AskedAt != nil && d.AskedAt.Add(time.Duration(*d.LatencyMS)*time.Millisecond).After(e.At.Time) {
		r.bad(e, "the model answered behind the event")
	}
}

func (r *reading) callReady(e wire.Event, d *wire.CallReadyData) {
	if r.calls[d.CallID] != nil {
		r.bad(e, "%s has been asked for before", d.CallID)
	}
	r.calls[d.CallID] = &callRead{run: e.RunID, name: d.ToolName, arguments: d.Arguments, status: "new"}
	r.message(e, d.MessageID, "call "+d.CallID)
}

// moved notes a call's new status.
func (r *reading) moved(e wire.Event, id, status, said string) *callRead {
	c := r.calls[id]
	if c == nil {
		r.bad(e, "nobody asked for %s", id)
		return &callRead{}
	}
	if c.run != e.RunID || status != said || slices.Contains([]string{"succeeded", "failed", "cancelled"}, c.status) {
		r.bad(e, "%s of %s was %s", id, c.run, c.status)
	}
	c.status = status
	return c
}

func (r *reading) callStarted(e wire.Event, d *wire.CallStartedData) {
	c := r.moved(e, d.CallID, "running", d.Status)
	if c.starts++; d.ToolName != c.name {
		r.bad(e, "the call is one of %s", c.name)
	}
	if d.StartedAt != nil && d.StartedAt.After(e.At.Time) {
		r.bad(e, "it started behind the event")
	}
}

func (r *reading) callSuspended(e wire.Event, d *wire.Pending) {
	if d.ToolName == "" && r.calls[d.CallID] == nil {
		r.calls[d.CallID] = &callRead{run: e.RunID, unsolicited: true}
	}
	c := r.moved(e, d.CallID, "suspended", "suspended")
	if _, before := r.asked[d.Suspension.ID]; before || d.ToolName != c.name || d.Tool != c.name || !d.Since.Equal(e.At.Time) {
		r.bad(e, "another call of %q, or a suspension that there was before", c.name)
	}
	asked := d.Asked
	if asked == nil {
		asked = d.Arguments
	}
	if !c.unsolicited && canonical(asked) != canonical(c.arguments) {
		r.bad(e, "the model asked for %s", c.arguments)
	}
	c.suspension, r.asked[d.Suspension.ID] = d.Suspension.ID, *d
}

// decided holds a decision against the question it answers.
func (r *reading) decided(e wire.Event, d *wire.DecisionRecordedData) {
	asked, known := r.asked[d.Suspension]
	c := r.calls[d.CallID]
	if !known || c == nil || asked.CallID != d.CallID {
		r.bad(e, "there was no such question")
		return
	}
	if d.Applied {
		if c.suspension != d.Suspension {
			r.bad(e, "%s waits for %q", d.CallID, c.suspension)
		}
		c.suspension = ""
	}
	about, edited := "", ""
	if d.Applied && !c.unsolicited {
		about = core.Digest([]byte(canonical(asked.Arguments)))
		if d.Arguments != nil {
			edited = core.Digest([]byte(canonical(d.Arguments)))
		}
	}
	if d.ArgumentsDigest != about || d.EditedArgumentsDigest != edited {
		r.bad(e, "it was about the arguments %s: %s, and put %q in their place", asked.Arguments, about, edited)
	}
}

// endings are the events that each outcome may come with.
var endings = map[core.CallOutcome][]core.EventType{
	core.CallOutcomeSucceeded:        {core.EventCallSucceeded},
	core.CallOutcomeToolError:        {core.EventCallFailed},
	core.CallOutcomeUnknownTool:      {core.EventCallFailed},
	core.CallOutcomeNotOffered:       {core.EventCallFailed},
	core.CallOutcomeInvalidArguments: {core.EventCallFailed},
	core.CallOutcomeBudgetExhausted:  {core.EventCallFailed},
	core.CallOutcomeDeniedByRule:     {core.EventCallFailed},
	core.CallOutcomeBlocked:          {core.EventCallFailed},
	core.CallOutcomeSetByRule:        {core.EventCallSucceeded, core.EventCallFailed},
	core.CallOutcomeDeniedByPerson:   {core.EventCallCancelled},
	core.CallOutcomeDeclined:         {core.EventCallCancelled},
	core.CallOutcomeTimedOut:         {core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled},
	core.CallOutcomeAbandoned:        {core.EventCallCancelled},
	core.CallOutcomeOutOfTime:        {core.EventCallFailed},
	core.CallOutcomeLost:             {core.EventCallFailed, core.EventCallCancelled},
	core.CallOutcomeNotFinished:      {core.EventCallFailed},
	core.CallOutcomeRunCancelled:     {core.EventCallCancelled},
	core.CallOutcomeRunEnded:         {core.EventCallCancelled},
}

func (r *reading) callEnded(e wire.Event, d *wire.CallEndedData) {
	r.met["outcome "+d.Outcome]++
	c := r.moved(e, d.CallID, strings.TrimPrefix(e.Type, "call."), d.Status)
	c.suspension = ""
	if !slices.Contains(endings[core.CallOutcome(d.Outcome)], core.EventType(e.Type)) || d.ToolName != c.name {
		r.bad(e, "a call of %q does not end %s as %s", c.name, e.Type, d.Outcome)
	}
	if d.StartedAt != nil && (d.EndedAt.Before(d.StartedAt.Time) || d.Attempts < 1 || c.starts == 0) || d.EndedAt.After(e.At.Time) {
		r.bad(e, "a call that started %d times has other times", c.starts)
	}
	if d.MayHaveRun && e.Type != string(core.EventCallCancelled) {
		r.bad(e, "only a call that was cancelled may have run")
	}
	if word := meaning(core.CallOutcome(d.Outcome)); word.Ran == "no" && (d.StartedAt != nil || d.MayHaveRun) {
		r.bad(e, "of a call that ended %s, no body ran", d.Outcome)
	}
	if c.unsolicited {
		if d.MessageID != "" || d.Result != nil || d.Attempts > 0 {
			r.bad(e, "the run's own wait has no result")
		}
		return
	}
	r.message(e, d.MessageID, "")
	m := r.results[d.CallID]
	shown := wire.CallEndedData{MessageID: m.ID, Outcome: m.Outcome, Result: &m.Text, Value: m.Value, RanWith: m.RanWith, Added: m.Added}
	told := wire.CallEndedData{MessageID: d.MessageID, Outcome: d.Outcome, Result: d.Result, Value: d.Value, RanWith: d.RanWith, Added: d.Added}
	if a, b := core.Encode(told), core.Encode(shown); string(a) != string(b) || m.Error != (e.Type != string(core.EventCallSucceeded)) {
		r.bad(e, "the message of its result is %s", core.Encode(m))
	}
}

func meaning(of core.CallOutcome) core.CallOutcomeWord {
	i := slices.IndexFunc(core.CallOutcomes, func(w core.CallOutcomeWord) bool { return w.Outcome == of })
	return core.CallOutcomes[max(0, i)] // endings has no others
}

// done looks at what is left open at the end of a run.
func (r *reading) done() {
	if r.run.Status != core.RunDone.String() {
		r.wrong("events: %s is %s", r.run.ID, r.run.Status)
		return
	}
	for id, c := range r.calls {
		if c.run == r.run.ID && !slices.Contains([]string{"succeeded", "failed", "cancelled"}, c.status) {
			r.wrong("events: %s is done, and its call %s %s", r.run.ID, id, c.status)
		}
	}
	if r.open || r.turns == 0 || r.last.Type != string(core.EventRunStatus) {
		r.wrong("events: %s is done after %d turns, one is open: %v; its last event is %s", r.run.ID, r.turns, r.open, r.last.Type)
	}
}
