package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

// rig is one agent on a real store and queue, with a clock that is moved by hand.
type rig struct {
	t     testing.TB
	ctx   context.Context
	clock *enginetest.Clock
	db    *sqlite.DB
	store engine.Store // what the engine sees of db
	eng   *engine.Engine

	random engine.Random
	turns  []core.Turn // the model's answers, by their place in the conversation
	asked  int
	onAsk  func(context.Context, engine.Prompt) error
	prompt engine.Prompt // the last one

	tools  map[string]toolRule
	mu     sync.Mutex // of what bodies that run side by side write
	ran    []string   // "tool(arguments)" of every body, in order
	keys   []string   // and their idempotency keys
	again  int        // how many of them were told that they may have begun before
	thread string

	terms     core.Terms
	deadlines map[core.Kind]core.Deadline
	hooks     []engine.Hook
	memory    engine.Memory
	onLoad    func(engine.Pin)
}

type toolRule struct {
	effect   core.Effect
	reason   string
	spec     core.ToolSpec
	mode     core.ResumeMode
	invalid  string // what Check says
	bodiless bool   // the agent has the tool, and the program does not
	grant    string // what an approval may grant
	gate     func(core.ToolCall, core.State) core.Verdict
	check    func(core.ToolCall) error
	preview  func(core.ToolCall) *plans.PreviewSource
	body     func(context.Context, engine.ToolRequest) (core.Outcome, error)
}

func newRig(t testing.TB, turns ...core.Turn) *rig {
	t.Helper()
	r := &rig{t: t, ctx: t.Context(), clock: enginetest.NewClock(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)), turns: turns, thread: "thr_t", random: enginetest.NewRandom(t, 7),
		tools: map[string]toolRule{}}
	db, _ := sqlitetest.Open(t, r.clock, r.random)
	r.db, r.store = db, db
	for _, name := range []string{"echo", "calc", "other"} {
		r.allow(name)
	}
	r.build(engine.Options{})
	return r
}

// build makes the engine anew, as a new process would.
func (r *rig) build(o engine.Options) {
	o.Store, o.Waker, o.Agents, o.Clock, o.Random = r.store, r.db, r, restless{r.clock}, r.random
	r.eng = engine.New(o)
}

// restless is a clock on which pauses pass at once.
type restless struct{ *enginetest.Clock }

func (c restless) Sleep(ctx context.Context, d time.Duration) error {
	c.Advance(d)
	return ctx.Err()
}

// ahead is a clock that is wrong.
type ahead struct {
	*enginetest.Clock
	by time.Duration
}

func (c ahead) Now() time.Time { return c.Clock.Now().Add(c.by) }

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) allow(name string) { r.tool(name, toolRule{effect: core.Allow}) }
func (r *rig) ask(name string)   { r.tool(name, toolRule{effect: core.Ask}) }

func (r *rig) tool(name string, rule toolRule) {
	rule.spec.Name = name
	if rule.body == nil {
		rule.body = func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Text: name + " did " + string(req.Call.Arguments)}, nil
		}
	}
	r.tools[name] = rule
}

// suspending is a tool that waits by itself until it was decided on times times, in the mode that
// passes decisions on.
func (r *rig) suspending(name string, mode core.ResumeMode, times int) {
	attempts := 0
	r.tool(name, toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		attempts++
		if attempts <= times {
			return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: mode, Suspension: core.Suspension{Action: "confirm", Message: "sure?"}}}, nil
		}
		result := map[string]any{"attempts": attempts}
		if req.Resume != nil {
			result["decision"] = req.Resume.Result
		}
		return core.Outcome{Text: string(core.Encode(result))}, nil
	}})
}

// Load implements engine.Agents.
func (r *rig) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	if r.onLoad != nil {
		r.onLoad(pin)
	}
	tools := map[string]engine.Tool{}
	for name, rule := range r.tools {
		if !rule.spec.Client && !rule.bodiless {
			tools[name] = rigTool{r, rule}
		}
	}
	var offered []core.ToolSpec
	for _, name := range slices.Sorted(maps.Keys(r.tools)) {
		offered = append(offered, r.tools[name].spec)
	}
	return engine.Agent{Instructions: "be helpful", Rules: r, Offered: offered, Model: rigModel{r}, Tools: tools, Hooks: r.hooks, Memory: r.memory, Supplied: pin.Supplied}, nil
}

func (r *rig) Tool(name string) (core.ToolSpec, bool) {
	rule, ok := r.tools[name]
	return rule.spec, ok
}

func (r *rig) Check(call core.ToolCall) error {
	if why := r.tools[call.Name].invalid; why != "" {
		return errors.New(why)
	}
	if check := r.tools[call.Name].check; check != nil {
		return check(call)
	}
	return nil
}

func (r *rig) Gate(call core.ToolCall, state core.State) core.Verdict {
	rule := r.tools[call.Name]
	if rule.gate != nil {
		return rule.gate(call, state)
	}
	return core.Verdict{Effect: rule.effect, Reason: rule.reason, Mode: rule.mode, Grant: rule.grant}
}

// Preview implements [plans.Previewer].
func (r *rig) Preview(call core.ToolCall) *plans.PreviewSource {
	if preview := r.tools[call.Name].preview; preview != nil {
		return preview(call)
	}
	return nil
}

// Deadline implements [core.Rules].
func (r *rig) Deadline(_ core.ToolCall, kind core.Kind) core.Deadline { return r.deadlines[kind] }

// Times implements [core.Rules].
func (*rig) Times(p *vote.Policy, stage int, now int64) core.Times {
	return core.TimesOf(p, stage, core.AllHours(now))
}

// Terms implements [core.Rules].
func (r *rig) Terms() core.Terms { return r.terms }

// Child calls the agent "helper", or "gone" if that is the name of the tool.
func (r *rig) Child(call core.ToolCall) (core.ChildSpec, bool) {
	spec := core.ChildSpec{Agent: "helper", Input: string(call.Arguments)}
	if call.Name == "gone" {
		spec.Agent = call.Name
	}
	return spec, r.tools[call.Name].spec.Agent
}

type rigModel struct{ r *rig }

func (m rigModel) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	r := m.r
	r.asked++
	r.prompt = p
	wellFormed(r.t, p.Messages)
	if r.onAsk != nil {
		if err := r.onAsk(ctx, p); err != nil {
			return core.Turn{}, err
		}
	}
	n := 0
	for _, msg := range p.Messages {
		if msg.Role == core.RoleAssistant {
			n++
		}
	}
	if n >= len(r.turns) {
		return core.Turn{}, &engine.StopError{Code: "recording_ended"}
	}
	return r.turns[n], nil
}

type rigTool struct {
	r    *rig
	rule toolRule
}

func (t rigTool) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	t.r.mu.Lock()
	t.r.ran = append(t.r.ran, req.Call.Name+string(req.Call.Arguments))
	if slices.Contains(t.r.keys, req.Key) && !req.Again {
		t.r.t.Errorf("a body runs again under %s, and is not told so", req.Key)
	}
	if req.Again {
		t.r.again++
	}
	t.r.keys = append(t.r.keys, req.Key)
	t.r.mu.Unlock()
	return t.rule.body(ctx, req)
}

// wellFormed is invariant I-7: one result for each call, none without.
func wellFormed(t testing.TB, messages []core.Message) {
	t.Helper()
	open := []string{}
	for _, m := range messages {
		if m.Role == core.RoleTool {
			if len(open) == 0 || open[0] != m.CallID {
				t.Errorf("a result for %q where %v are open", m.CallID, open)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls %v have no result before the next message", open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no result", open)
	}
}

func call(id, tool, args string) core.ToolCall {
	return core.ToolCall{ID: id, Name: tool, Arguments: json.RawMessage(args)}
}

func calls(cs ...core.ToolCall) core.Turn { return core.Turn{Calls: cs} }
func says(text string) core.Turn          { return core.Turn{Text: text} }

func (r *rig) now() int64 { return r.clock.Now().UnixMilli() }

// start creates the run of a new thread.
func (r *rig) start(input string) {
	r.t.Helper()
	h := core.Head{Identity: core.Identity{Tenant: "t", Thread: r.thread, Run: core.RunID(r.thread, 0), Agent: "a", Version: "v1", Schema: core.SchemaVersion},
		Position: core.Position{Sigs: 1},
		Origin:   core.Origin{Born: r.now(), At: r.now()},
		Inbox:    map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, Value: core.Encode(core.TextParts(input)), At: r.now()}}}
	_, err := r.db.Start(r.ctx, engine.StartRequest{Head: h, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
}

func (r *rig) head() core.Head {
	r.t.Helper()
	h, err := r.db.Load(r.ctx, "t", r.thread)
	r.must(err)
	return h
}

// step does one step now, whether a message is there or not.
func (r *rig) step() engine.Report {
	r.t.Helper()
	report, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
	r.must(err)
	return report
}

// work does a step for each message that is visible, until there is none.
func (r *rig) work() {
	r.t.Helper()
	for range 200 {
		got, err := r.db.Receive(r.ctx, 1)
		r.must(err)
		if len(got) == 0 {
			return
		}
		r.step()
		r.must(r.db.Ack(r.ctx, got[0]))
	}
	r.t.Fatal("there is always another message")
}

// signal stores a decision on a call as the callers' side would.
func (r *rig) decide(callID string, d core.Resume) error {
	h := r.head()
	return r.decideOn(callID, h.Calls[callID].Sus, d)
}

func (r *rig) decideOn(callID, sus string, d core.Resume) error {
	h := r.head()
	d.UpdatedAt = r.now()
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: h.Run, InboxKey: sus, Call: callID, Suspension: sus,
		Signal: core.Signal{Kind: core.SignalDecision, Call: callID, ID: d.DecisionID, Digest: "dig", Value: core.Encode(d), At: r.now()},
		Due:    r.now() + 5000, Wake: &engine.Delay{}})
	return err
}

func resume(id, result string) core.Resume {
	return core.Resume{DecisionID: id, Action: core.ActionResume, Result: json.RawMessage(result)}
}

// forTurn is a decision that also grants the like calls of the turn.
func forTurn(d core.Resume) core.Resume {
	d.Grant = core.GrantRun
	return d
}

func cancelled(id, reason string) core.Resume {
	return core.Resume{DecisionID: id, Action: core.ActionCancel, Reason: reason}
}

func (r *rig) signal(key string, s core.Signal) error {
	s.At = r.now()
	if s.Kind == core.SignalMessage && s.On == core.PendingRefuse {
		s.Sus = r.question()
	}
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: r.head().Run, InboxKey: key, Signal: s,
		Due: r.now() + 5000, Wake: &engine.Delay{}})
	return err
}

// question is what a message answers, as the frontend finds it; "" if no call waits for input.
func (r *rig) question() string {
	for _, c := range r.head().Calls {
		if c.Status == core.CallSuspended && c.Kind == core.KindInput {
			return c.Sus
		}
	}
	return ""
}

func (r *rig) cancel() error { return r.signal(core.KeyCancel, core.Signal{Kind: core.SignalCancel}) }

func (r *rig) say(key, text string) error {
	return r.signal(core.MessageKey(key), core.Signal{Kind: core.SignalMessage, Value: core.Encode(core.TextParts(text))})
}

func (r *rig) journal() []core.Segment {
	r.t.Helper()
	h := r.head()
	segments, err := r.db.Segments(r.ctx, "t", r.thread, 1, h.Seq)
	r.must(err)
	r.must(core.CheckChain(h, 1, segments))
	return segments
}

func (r *rig) log() []core.Message { return core.Messages(r.journal()) }

func (r *rig) events() (events []core.Event) {
	for _, s := range r.journal() {
		events = append(events, s.Expand()...)
	}
	return events
}

// count says how many events of a type there are.
func (r *rig) count(t core.EventType) (n int) {
	for _, e := range r.events() {
		if e.Type == t {
			n++
		}
	}
	return n
}

// conversation is the model's view in one line a message.
func (r *rig) conversation() (lines []string) {
	for _, m := range core.TranscriptOf(r.log()) {
		lines = append(lines, line(m))
	}
	return lines
}

func line(m core.Message) string {
	text := string(m.Role)
	if m.CallID != "" {
		text += "(" + m.CallID + ")"
	}
	for _, c := range m.Calls {
		text += "[" + c.ID + "]"
	}
	if m.Pending {
		return text + " pending"
	}
	if m.Text() != "" {
		text += ": " + m.Text()
	}
	return text
}

func (r *rig) wantConversation(want ...string) {
	r.t.Helper()
	if got := r.conversation(); !slices.Equal(got, want) {
		r.t.Errorf("conversation is\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (r *rig) wantRun(status core.RunStatus, reason core.ReasonKind) {
	r.t.Helper()
	h := r.head()
	var got core.ReasonKind
	if h.End != nil {
		got = h.End.Kind
	}
	if h.Status != status || got != reason {
		r.t.Errorf("run is %s (%+v), want %s %s", h.Status, h.End, status, reason)
	}
	r.invariants()
}

func (r *rig) wantCalls(want map[string]core.CallStatus) {
	r.t.Helper()
	h := r.head()
	for id, s := range want {
		if got := h.Calls[id].Status; got != s {
			r.t.Errorf("call %s is %s, want %s", id, got, s)
		}
	}
}

func (r *rig) wantRan(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.ran, want) {
		r.t.Errorf("bodies ran: %v, want %v", r.ran, want)
	}
}

func (r *rig) wantAsked(want int) {
	r.t.Helper()
	if r.asked != want {
		r.t.Errorf("the model was asked %d times, want %d", r.asked, want)
	}
}

// invariants are I-5 and I-6, that events are numbered without gaps, and that steps are paired and
// never nested.
func (r *rig) invariants() {
	r.t.Helper()
	h := r.head()
	suspended := 0
	for id, c := range h.Calls {
		if c.Status == core.CallSuspended {
			suspended++
		}
		if h.Status == core.RunDone && !c.Status.Terminal() {
			r.t.Errorf("the run is done and call %s is %s", id, c.Status)
		}
	}
	switch {
	case h.Status == core.RunDone:
		if len(h.Inbox) > 0 || len(h.Out) > 0 || h.Due != 0 {
			r.t.Errorf("a done run has inbox %v, out %v, due %d", h.Inbox, h.Out, h.Due)
		}
	case h.Lease == 0 && h.Due == 0:
		if h.Status != core.RunWaiting || len(h.Inbox) > 0 || len(h.Out) > 0 || suspended == 0 {
			r.t.Errorf("nothing will ever wake this run: %+v", h)
		}
	}
	open := 0
	for i, e := range r.events() {
		if e.Seq != int64(i+1) {
			r.t.Errorf("event %d has number %d", i+1, e.Seq)
		}
		switch e.Type {
		case core.EventStepStarted:
			open++
		case core.EventStepEnded:
			open--
		}
		if open < 0 || open > 1 {
			r.t.Errorf("at event %d, %s, %d steps are open", e.Seq, e.Type, open)
		}
	}
	if open > 0 && h.Status != core.RunRunning {
		r.t.Errorf("the run is %s and a step is open", h.Status)
	}
}

// Newest implements [engine.Agents].
func (r *rig) Newest(_ context.Context, _, name string) (string, error) {
	if name == "gone" {
		return "", engine.ErrNotFound
	}
	return "v1", nil
}
