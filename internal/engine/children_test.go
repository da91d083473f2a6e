package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/sqlitetest"
)

// forest is several agents that call each other, on a real store and queue. A tool is an agent if
// one has its name, and a body otherwise.
type forest struct {
	t      *testing.T
	clock  *enginetest.Clock
	db     *sqlite.DB
	store  *restive
	eng    *engine.Engine
	agents map[string]grown
	ran    []string   // "run: tool" of every body
	peer   *elsewhere // the agent that the tool elsewhere calls; nil: there is none
	seen   []engine.Prompt
	loads  func(agent string) error // nil: every agent can be loaded
	asked  func(engine.Prompt)      // before a model answers; nil for nothing
}

// grown is an agent of a forest: what it answers by its place in the conversation.
type grown struct {
	turns   []core.Turn
	version string
	asks    []string // tools that need an approval
	terms   core.Terms
}

// restive is a store that fails when it is asked to.
type restive struct {
	*sqlite.DB
	fail  func(what, thread string) bool
	after func(what, thread string)
}

var errRestive = fmt.Errorf("%w: on request", engine.ErrDenied)

func (s *restive) Start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	if s.fail != nil && s.fail("start", req.Head.Thread) {
		return engine.Written{}, errRestive
	}
	w, err := s.DB.Start(ctx, req)
	if s.after != nil {
		s.after("start", req.Head.Thread)
	}
	return w, err
}

func (s *restive) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	if s.fail != nil && s.fail("signal "+req.InboxKey, req.Thread) {
		return engine.Written{}, errRestive
	}
	return s.DB.Signal(ctx, req)
}

func (s *restive) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	if s.fail != nil && s.fail("load", thread) {
		return core.Head{}, errRestive
	}
	return s.DB.Load(ctx, tenant, thread)
}

const trunk = "thr_root"

func newForest(t *testing.T, agents map[string]grown) *forest {
	t.Helper()
	f := &forest{t: t, clock: enginetest.NewClock(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)), agents: agents}
	random := enginetest.NewRandom(t, 7)
	f.db, _ = sqlitetest.Open(t, f.clock, random)
	f.store = &restive{DB: f.db}
	f.eng = engine.New(engine.Options{Store: f.store, Waker: f.db, Agents: f, Clock: restless{f.clock}, Random: random})
	return f
}

func (f *forest) Load(_ context.Context, pin engine.Pin) (engine.Agent, error) {
	a := f.agents[pin.Name]
	if f.loads != nil {
		if err := f.loads(pin.Name); err != nil {
			return engine.Agent{}, err
		}
	}
	agent := engine.Agent{Rules: leaves{f, a}, Model: voice{f, a}, Tools: map[string]engine.Tool{"pay": paid{f}, "look": paid{f}}}
	if f.peer != nil {
		agent.Peers = map[string]engine.Peer{"elsewhere": f.peer}
	}
	return agent, nil
}

func (f *forest) Newest(_ context.Context, _, name string) (string, error) {
	if _, ok := f.agents[name]; !ok {
		return "", engine.ErrNotFound
	}
	return "v1" + f.agents[name].version, nil
}

type voice struct {
	f *forest
	a grown
}

func (v voice) Ask(_ context.Context, p engine.Prompt) (core.Turn, error) {
	wellFormed(v.f.t, p.Messages)
	v.f.seen = append(v.f.seen, p)
	if v.f.asked != nil {
		v.f.asked(p)
	}
	n := 0
	for _, m := range p.Messages {
		if m.Role == core.RoleAssistant {
			n++
		}
	}
	if n >= len(v.a.turns) {
		return core.Turn{}, &engine.StopError{Code: "recording_ended"}
	}
	return v.a.turns[n], nil
}

type paid struct{ f *forest }

func (p paid) Run(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
	p.f.ran = append(p.f.ran, req.Run+": "+req.Call.Name)
	return core.Outcome{Text: "done"}, nil
}

type leaves struct {
	f *forest
	a grown
}

func (l leaves) Tool(name string) (core.ToolSpec, bool) {
	spec := core.ToolSpec{Name: name}
	_, spec.Agent = l.f.agents[name]
	spec.Agent = spec.Agent || name == "gone" || name == "elsewhere"
	return spec, true
}
func (leaves) Check(core.ToolCall) error { return nil }
func (l leaves) Gate(call core.ToolCall, _ core.State) core.Verdict {
	if slices.Contains(l.a.asks, call.Name) {
		return core.Verdict{Effect: core.Ask}
	}
	return core.Verdict{Effect: core.Allow}
}
func (leaves) Deadline(_ core.ToolCall, kind core.Kind) (limit core.Deadline) {
	if kind == core.KindChild {
		limit.Within = time.Hour.Milliseconds()
	}
	return limit
}
func (leaves) Times(*vote.Policy, int, int64) (none core.Times) { return none }
func (l leaves) Terms() core.Terms                              { return l.a.terms }
func (l leaves) Child(call core.ToolCall) (core.ChildSpec, bool) {
	spec, _ := l.Tool(call.Name)
	if call.Name == "elsewhere" {
		return core.ChildSpec{Remote: call.Name, Input: string(call.Arguments)}, true
	}
	return core.ChildSpec{Agent: call.Name, Input: string(call.Arguments)}, spec.Agent
}

func (f *forest) start(agent string) {
	f.t.Helper()
	now := f.clock.Now().UnixMilli()
	h := core.Head{Identity: core.Identity{Tenant: "t", Thread: trunk, Run: core.RunID(trunk, 0), Agent: agent, Version: "v1", Schema: core.SchemaAlone},
		Position: core.Position{Sigs: 1}, Origin: core.Origin{Born: now, At: now},
		Permissions: core.Permissions{Narrow: json.RawMessage(`{"deny":["rm"]}`), NoMemory: true},
		Inbox:       map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, Value: core.Encode(core.TextParts("go")), At: now}}}
	_, err := f.db.Start(f.t.Context(), engine.StartRequest{Head: h, Due: now + 5000, Wake: &engine.Delay{}})
	f.must(err)
}

func (f *forest) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// work does a step for each message that is visible, until there is none. Steps may fail.
func (f *forest) work() {
	f.t.Helper()
	for range 500 {
		got, err := f.db.Receive(f.t.Context(), 1)
		f.must(err)
		if len(got) == 0 {
			return
		}
		if _, err := f.eng.Step(f.t.Context(), got[0].Wakeup); err != nil && !errors.Is(err, errRestive) {
			f.t.Fatal(err)
		}
		f.must(f.db.Ack(f.t.Context(), got[0]))
	}
	f.t.Fatal("there is always another message")
}

// later lets time pass, for the sweep to find what is due.
func (f *forest) later(d time.Duration) {
	f.clock.Advance(d)
	f.must(sweeper.Sweep(f.t.Context(), f.db, f.db, f.clock, 5*time.Second))
	f.work()
}

func (f *forest) head(thread string) core.Head {
	f.t.Helper()
	h, err := f.db.Load(f.t.Context(), "t", thread)
	f.must(err)
	return h
}

// child is the thread of the child that works for a call of a thread's run.
func (f *forest) child(thread, call string) string {
	return core.ChildThread("t", thread, f.head(thread).Calls[call].Sus)
}

func (f *forest) send(thread, key string, s core.Signal) error {
	h := f.head(thread)
	s.At = f.clock.Now().UnixMilli()
	_, err := f.db.Signal(f.t.Context(), engine.SignalRequest{Tenant: "t", Thread: thread, Run: h.Run, InboxKey: key, Signal: s,
		Due: s.At + 5000, Wake: &engine.Delay{}})
	return err
}

func (f *forest) cancel(thread string) error {
	return f.send(thread, core.KeyCancel, core.Signal{Kind: core.SignalCancel, By: "anna", Via: "api"})
}

func (f *forest) decide(thread, call string, action core.ResumeAction) error {
	h := f.head(thread)
	sus, now := h.Calls[call].Sus, f.clock.Now().UnixMilli()
	r := core.Resume{DecisionID: "d-" + call, Action: action, UpdatedAt: now}
	_, err := f.db.Signal(f.t.Context(), engine.SignalRequest{Tenant: "t", Thread: thread, Run: h.Run, InboxKey: sus, Call: call, Suspension: sus,
		Signal: core.Signal{Kind: core.SignalDecision, Call: call, ID: r.DecisionID, Value: core.Encode(r), At: now}, Due: now + 5000, Wake: &engine.Delay{}})
	return err
}

func (f *forest) want(thread string, reason core.ReasonKind) core.Head {
	f.t.Helper()
	h := f.head(thread)
	if h.Status != core.RunDone || h.End == nil || h.End.Kind != reason {
		f.t.Fatalf("%s is %s, %+v; calls %s, outbox %v", thread, h.Status, h.End, core.Encode(h.Calls), h.Out)
	}
	return h
}

// result is the result of a call in a thread's journal.
func (f *forest) result(thread, call string) core.Message {
	f.t.Helper()
	h := f.head(thread)
	segments, err := f.db.Segments(f.t.Context(), "t", thread, 1, h.Seq)
	f.must(err)
	for _, m := range slices.Backward(core.Messages(segments)) {
		if m.CallID == call && m.Role == core.RoleTool && !m.Pending {
			return m
		}
	}
	f.t.Fatalf("call %s has no result", call)
	return core.Message{}
}

// HA9, HK10: what the run waits for is its children, and the end of one leaves it waiting.
func TestAnAgentCallsTwoOthersAndWaitsForBoth(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "a", `{"n":1}`), call("c2", "b", `{"n":2}`)), says("both")}},
		"a":    {turns: []core.Turn{says("from a")}},
		"b":    {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("from b")}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	root := f.head(trunk)
	if root.Status != core.RunWaiting || root.Lease != 0 || len(root.Out) != 0 || root.Due == 0 || root.Oldest != "" {
		t.Fatalf("the parent waits as %+v", root)
	}
	b := f.child(trunk, "c2")
	if h := f.head(b); h.Status != core.RunWaiting || !strings.Contains(string(h.Narrow), "rm") || !h.NoMemory || h.Parent.Depth != 1 {
		t.Fatalf("the child waits as %+v", h)
	}
	f.must(f.decide(b, "x", core.ActionResume))
	f.work()
	f.want(b, core.NaturalEnd)
	f.want(trunk, core.NaturalEnd)
	if got := f.result(trunk, "c1").Text() + ", " + f.result(trunk, "c2").Text(); got != "from a, from b" {
		t.Errorf("results %q", got)
	}
	if len(f.ran) != 1 {
		t.Errorf("ran %v", f.ran)
	}
}

// A result that does not fit the head is put beside it.
func TestALongResultComesBackWhole(t *testing.T) {
	long := strings.Repeat("long ", 1000)
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "a", `{"q":"`+long+`"}`)), says("ok")}},
		"a":    {turns: []core.Turn{says(long)}},
	})
	f.start("root")
	f.work()
	f.want(trunk, core.NaturalEnd)
	if f.result(trunk, "c1").Text() != long {
		t.Error("the result was cut")
	}
	asked := f.seen[1].Messages[0].Text()
	if !strings.Contains(asked, long) {
		t.Errorf("the child was asked %.40q", asked)
	}
}

// Cancelling the root cancels what is below it, level by level, and each child tells its parent.
func TestACancelGoesDownTheTree(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "mid", `{}`))}},
		"mid":  {turns: []core.Turn{calls(call("m1", "leaf", `{}`))}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`))}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	mid := f.child(trunk, "c1")
	leaf := f.child(mid, "m1")
	f.must(f.cancel(trunk))
	f.work()
	for _, thread := range []string{trunk, mid, leaf} {
		if h := f.want(thread, core.Cancelled); h.End.By != "anna" || len(h.Out) != 0 {
			t.Errorf("%s was cancelled by %+v, and owes %v", thread, h.End, h.Out)
		}
	}
	if len(f.ran) > 0 {
		t.Errorf("ran %v", f.ran)
	}
}

// H40, CH-2: an approval that is given after the root's cancel was accepted runs nothing, although
// the cancel has not come down yet.
func TestNoBodyRunsOnAnApprovalAfterACancelAbove(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "mid", `{}`))}},
		"mid":  {turns: []core.Turn{calls(call("m1", "leaf", `{}`))}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("paid")}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	leaf := f.child(f.child(trunk, "c1"), "m1")
	f.must(f.cancel(trunk))
	f.must(f.decide(leaf, "x", core.ActionResume))
	_, err := f.eng.Step(t.Context(), engine.Wakeup{Tenant: "t", Thread: leaf})
	f.must(err)
	f.want(leaf, core.Cancelled)
	f.work()
	f.want(trunk, core.Cancelled)
	if len(f.ran) > 0 {
		t.Errorf("ran %v", f.ran)
	}
}

// HK3: a store that does not answer when the runs above are looked at makes the child try again. It
// is neither cancelled nor does it go on.
func TestAStoreErrorWhileLookingIsNoAnswer(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("ok")}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("paid")}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	leaf := f.child(trunk, "c1")
	f.must(f.decide(leaf, "x", core.ActionResume))
	failing := true
	f.store.fail = func(what, thread string) bool { return failing && what == "load" && thread == trunk }
	f.work()
	if h := f.head(leaf); h.End != nil || len(f.ran) > 0 || len(h.Inbox) != 1 {
		t.Fatalf("the child is %+v, ran %v", h, f.ran)
	}
	failing = false
	f.later(5 * time.Minute)
	f.want(trunk, core.NaturalEnd)
	if len(f.ran) != 1 {
		t.Errorf("ran %v", f.ran)
	}
}

// What could not be sent stays owed: a launch, a result and a cancel.
func TestWhatIsOwedToOtherRunsIsSentLater(t *testing.T) {
	for _, fails := range []string{"start", "signal sus", "signal cancel"} {
		t.Run(fails, func(t *testing.T) {
			f := newForest(t, map[string]grown{
				"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("ok")}},
				"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("paid")}, asks: []string{"pay"}},
			})
			left := 3
			f.store.fail = func(what, _ string) bool {
				if left > 0 && strings.HasPrefix(what, fails) {
					left--
					return true
				}
				return false
			}
			f.start("root")
			f.work()
			f.later(time.Minute)
			f.later(time.Minute)
			f.later(time.Minute)
			leaf := f.child(trunk, "c1")
			want := core.NaturalEnd
			if fails == "signal cancel" {
				want = core.Cancelled
				f.must(f.cancel(trunk))
			} else {
				f.must(f.decide(leaf, "x", core.ActionResume))
			}
			f.work()
			for range 5 {
				f.later(5 * time.Minute)
			}
			f.want(leaf, want)
			f.want(trunk, want)
			if left != 0 {
				t.Errorf("%d failures were not met", left)
			}
		})
	}
}

// H44: a child that was cancelled by hand tells its parent, which goes on.
func TestAChildCancelledByHandTellsItsParent(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("without it")}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`))}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	f.must(f.cancel(f.child(trunk, "c1")))
	f.work()
	f.want(trunk, core.NaturalEnd)
	if r := f.result(trunk, "c1"); r.CallOutcome() != core.CallOutcomeChildCancelled {
		t.Errorf("the result is %+v", r)
	}
}

// H56: a launch that is repeated after a deployment starts the version that the suspension pinned.
func TestALaunchAfterADeploymentStartsWhatWasPinned(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("ok")}},
		"leaf": {turns: []core.Turn{says("hi")}},
	})
	fail := true
	f.store.fail = func(what, _ string) bool { return fail && what == "start" }
	f.start("root")
	f.work()
	leaf := f.child(trunk, "c1")
	g := f.agents["leaf"]
	g.version = "-new"
	f.agents["leaf"] = g
	fail = false
	f.later(time.Minute)
	f.later(time.Minute)
	if h := f.want(leaf, core.NaturalEnd); h.Version != "v1" {
		t.Errorf("started %s", h.Version)
	}
	f.want(trunk, core.NaturalEnd)
}

// HK9: an interrupt pauses the whole tree, and its end lets all of it go on. A child that is paused
// has not ended.
func TestAnInterruptGoesDownTheTreeAndEndsThere(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "mid", `{}`)), says("ok")}},
		"mid":  {turns: []core.Turn{calls(call("m1", "leaf", `{}`)), says("mid")}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`)), says("leaf")}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	mid := f.child(trunk, "c1")
	leaf := f.child(mid, "m1")
	f.must(f.send(trunk, core.KeyPause, core.Signal{Kind: core.SignalPause, ID: "stop", By: "anna"}))
	f.work()
	for _, thread := range []string{trunk, mid, leaf} {
		if f.head(thread).Interrupt() == "" {
			t.Fatalf("%s is not paused", thread)
		}
		// a child takes no messages
		said := strings.Join(f.events(thread, core.EventCallSuspended), "\n")
		if offered := strings.Contains(said, "a message resumes it"); offered != (thread == trunk) {
			t.Errorf("%s offers to resume by message: %v", thread, offered)
		}
	}
	f.must(f.decide(leaf, "x", core.ActionResume)) // it is kept until the tree goes on
	f.work()
	if len(f.ran) > 0 {
		t.Fatalf("ran %v while paused", f.ran)
	}
	for id, c := range f.head(trunk).Calls {
		if c.Kind == core.KindInterrupt {
			f.must(f.decide(trunk, id, core.ActionResume))
		}
	}
	f.work()
	f.want(leaf, core.NaturalEnd)
	f.want(trunk, core.NaturalEnd)
	if len(f.ran) != 1 {
		t.Errorf("ran %v", f.ran)
	}
}

// A child may find its start and the interrupt from above together, and must not work.
func TestAChildThatIsLaunchedBelowAPauseIsPaused(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("ok")}},
		"leaf": {turns: []core.Turn{says("hi")}},
	})
	fail := true
	f.store.fail = func(what, _ string) bool { return fail && what == "start" }
	f.start("root")
	f.work()
	f.must(f.send(trunk, core.KeyPause, core.Signal{Kind: core.SignalPause, ID: "stop", By: "anna"}))
	f.work()
	fail = false
	f.later(time.Minute)
	if h := f.head(f.child(trunk, "c1")); h.Interrupt() == "" {
		t.Errorf("the child is %s, %+v", h.Status, h.End)
	}
}

// A run that no longer waits for a child, because that took too long, cancels it.
func TestAChildThatTakesTooLongIsCancelled(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("too slow")}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`))}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	leaf := f.child(trunk, "c1")
	f.later(time.Hour + time.Second)
	f.want(trunk, core.NaturalEnd)
	f.want(leaf, core.Cancelled)
	if r := f.result(trunk, "c1"); r.CallOutcome() != core.CallOutcomeTimedOut {
		t.Errorf("the result is %+v", r)
	}
}

// What the tree has used adds up at the root.
func TestUsageAddsUpAtTheRoot(t *testing.T) {
	used := func(turn core.Turn, n int64) core.Turn {
		turn.InputTokens, turn.OutputTokens = n, n
		return turn
	}
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{used(calls(call("c1", "mid", `{}`)), 1), used(says("ok"), 2)}},
		"mid":  {turns: []core.Turn{used(calls(call("m1", "leaf", `{}`), call("m2", "leaf", `{}`)), 10), used(says("mid"), 20)}},
		"leaf": {turns: []core.Turn{used(says("leaf"), 100)}},
	})
	f.start("root")
	f.work()
	if got := f.want(trunk, core.NaturalEnd).Record().Tree(); got.Runs != 4 || got.InputTokens != 233 || got.OutputTokens != 233 {
		t.Errorf("the tree has used %+v", got)
	}
}

// H43: a child may end before the worker that launched it has noted that in the parent's head. Its
// result is bound to the suspension alone, and the parent takes it all the same.
func TestAChildMayEndBeforeItsLauncherKnowsThatItBegan(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`)), says("ok")}},
		"leaf": {turns: []core.Turn{says("hi")}},
	})
	early := 0
	f.store.after = func(what, thread string) {
		if what != "start" {
			return
		}
		// the launcher is still in its step: the child runs to its end meanwhile
		for range 3 {
			if _, err := f.eng.Step(t.Context(), engine.Wakeup{Tenant: "t", Thread: thread}); err != nil {
				t.Error(err)
			}
		}
		if root := f.head(trunk); root.Out[core.LaunchKey(root.Calls["c1"].Sus)].Kind == core.OutLaunch && len(root.Inbox) == 1 {
			early++
		}
	}
	f.start("root")
	f.work()
	f.want(trunk, core.NaturalEnd)
	if early != 1 || f.result(trunk, "c1").Text() != "hi" {
		t.Errorf("%d results came early", early)
	}
}

// HK1, H54: the ids of a child follow from a suspension that cannot be guessed, and from nothing
// that another tenant or thread shares.
func TestTheIdOfAChildIsBoundToItsSuspension(t *testing.T) {
	f := newForest(t, map[string]grown{
		"root": {turns: []core.Turn{calls(call("c1", "leaf", `{}`), call("c2", "leaf", `{}`))}},
		"leaf": {turns: []core.Turn{calls(call("x", "pay", `{}`))}, asks: []string{"pay"}},
	})
	f.start("root")
	f.work()
	one, two := f.head(trunk).Calls["c1"].Sus, f.head(trunk).Calls["c2"].Sus
	for _, sus := range []string{one, two} {
		random := strings.Split(sus, "_")[2]
		if len(random) < 26 || core.ChildThread("t", trunk, sus) != f.head(core.ChildThread("t", trunk, sus)).Thread {
			t.Errorf("%s has %d random letters", sus, len(random))
		}
	}
	all := map[string]bool{core.ChildRun("t", trunk, one): true, core.ChildRun("t", trunk, two): true, core.ChildRun("u", trunk, one): true, core.ChildRun("t", "thr_other", one): true}
	if len(all) != 4 {
		t.Errorf("children share ids: %v", all)
	}
}
