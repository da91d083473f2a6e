package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// elsewhere is an agent elsewhere. It works on at most one task, and answers from a list.
type elsewhere struct {
	answers []peer.Report // to sends and looks, in turn; the last one again and again
	down    bool          // it answers nothing
	lose    int           // so many tasks arrive without an answer
	stuck   int           // so many stops are not confirmed
	asked   []string
	tasks   []string // the keys of the tasks that arrived
	stopped bool
	seen    []engine.PeerRequest
	during  func()
}

var errDown = errors.New("nothing listens there")

func (e *elsewhere) next(what string, req engine.PeerRequest) (peer.Report, error) {
	e.asked, e.seen = append(e.asked, what), append(e.seen, req)
	if e.during != nil {
		e.during()
	}
	if e.down {
		return peer.Report{}, errDown
	}
	r := e.answers[0]
	if len(e.answers) > 1 {
		e.answers = e.answers[1:]
	}
	return r, nil
}

func (e *elsewhere) Send(_ context.Context, req engine.PeerRequest) (peer.Report, error) {
	if !e.down && !slices.Contains(e.tasks, req.Key) {
		if req.Again && req.Once {
			e.asked = append(e.asked, "search")
			return peer.Report{State: peer.Unclear, Detail: "it knows no such task"}, nil
		}
		e.tasks = append(e.tasks, req.Key)
	}
	if e.lose > 0 && !e.down {
		e.lose--
		e.asked = append(e.asked, "lost")
		return peer.Report{}, errDown
	}
	return e.next("send", req)
}

func (e *elsewhere) Look(_ context.Context, req engine.PeerRequest) (peer.Report, error) {
	return e.next("look", req)
}

func (e *elsewhere) Stop(_ context.Context, req engine.PeerRequest) error {
	e.asked, e.seen = append(e.asked, "stop"), append(e.seen, req)
	if e.stuck != 0 {
		e.stuck--
		return errDown
	}
	e.stopped = true
	return nil
}

var (
	task    = peer.Task{ID: "task-1", Context: "ctx-1", Endpoint: "https://agents.example.com/rpc"}
	working = peer.Report{State: peer.Working, Task: task}
	found   = peer.Report{State: peer.Done, Task: task, Text: "Found."}
)

// callElsewhere is an agent that calls the agent elsewhere and then says what it got.
func callElsewhere() map[string]grown {
	return map[string]grown{"root": {turns: []core.Turn{{Calls: []core.ToolCall{{ID: "c1", Name: "elsewhere", Arguments: []byte(`{"q":"x"}`)}}}, {Text: "Done."}}}}
}

func newOutpost(t *testing.T, p *elsewhere) *forest {
	f := newForest(t, callElsewhere())
	f.peer = p
	f.start("root")
	return f
}

// events are the events of a type in a thread's journal, with their data.
func (f *forest) events(thread string, of core.EventType) (data []string) {
	f.t.Helper()
	segments, err := f.db.Segments(f.t.Context(), "t", thread, 1, f.head(thread).Seq)
	f.must(err)
	for _, s := range segments {
		for _, e := range s.Events {
			if e.Type == of {
				data = append(data, string(e.Data))
			}
		}
	}
	return data
}

func TestAnAgentElsewhereWorksWhileNothingWaits(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working, working, found}}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	if h := f.head(trunk); h.Status != core.RunWaiting {
		t.Fatalf("the parent is %s", h.Status)
	}
	if h := f.head(child); h.Status != core.RunRunning || h.Lease != 0 || h.NotBefore == 0 || h.Agent != "root" {
		t.Fatalf("the child is %s, lease %d, next look %d", h.Status, h.Lease, h.NotBefore)
	}
	for range 3 {
		f.later(time.Minute)
	}
	f.want(child, core.NaturalEnd)
	f.want(trunk, core.NaturalEnd)
	if m := f.result(trunk, "c1"); m.Text() != "Found." || m.Error {
		t.Errorf("the call's result: %+v", m)
	}
	if want := []string{"send", "look", "look"}; !slices.Equal(p.asked, want) {
		t.Errorf("asked %v, want %v", p.asked, want)
	}
	if p.seen[0].Input != `{"q":"x"}` || p.seen[0].Again || p.seen[1].Task != task {
		t.Errorf("requests: %+v", p.seen)
	}
	if got := f.events(child, core.EventRemoteStarted); len(got) != 1 {
		t.Errorf("remote.started: %v", got)
	}
	if got := f.events(child, core.EventRemoteEnded); len(got) != 1 || got[0] != `{"task_id":"task-1","outcome":"succeeded"}` {
		t.Errorf("remote.ended: %v", got)
	}
}

// A look that brings nothing new writes the head and nothing else.
func TestLooksAreNotJournaled(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working}}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	before := f.head(child).Seq
	for range 9 {
		f.later(6 * time.Minute)
	}
	if h := f.head(child); h.Seq != before || h.Peer.Looks < 9 || f.head(trunk).Tries != 0 {
		t.Errorf("segment %d, then %d, after %d looks", before, h.Seq, h.Peer.Looks)
	}
}

// A result that is JSON is a value in the parent, and the output of the child.
func TestTheResultOfAnAgentElsewhereMayBeAValue(t *testing.T) {
	said := found
	said.Text, said.Value = `{"stars":4}`, []byte(`{"stars":4}`)
	f := newOutpost(t, &elsewhere{answers: []peer.Report{said}})
	f.work()
	if m := f.result(trunk, "c1"); string(m.ResultValue()) != `{"stars":4}` {
		t.Errorf("the call's result: %+v", m)
	}
	child := core.ChildThread("t", trunk, f.sus(trunk, "c1"))
	h := f.want(child, core.NaturalEnd)
	segments, err := f.db.Segments(t.Context(), "t", child, h.Round, h.Round)
	f.must(err)
	if len(segments) != 1 || len(segments[0].Messages) != 1 || segments[0].Messages[0].Role != core.RoleAssistant {
		t.Errorf("the round of the child is %+v", segments)
	}
}

func TestAnAgentElsewhereFails(t *testing.T) {
	for _, tt := range []struct {
		said peer.Report
		code string
		stop bool
	}{
		{peer.Report{State: peer.Failed, Task: task, Code: peer.CodeFailed, Detail: "no luck"}, peer.CodeFailed, false},
		{peer.Report{State: peer.Failed, Code: peer.CodeRefused, Detail: "-32602"}, peer.CodeRefused, false},
		{peer.Report{State: peer.Failed, Code: peer.CodeNotFound}, peer.CodeNotFound, false},
		{peer.Report{State: peer.Failed, Task: task, Code: peer.CodeAsks, Open: true}, peer.CodeAsks, true},
		{peer.Report{State: peer.Unclear}, peer.CodeUnclear, true},
	} {
		p := &elsewhere{answers: []peer.Report{tt.said}}
		f := newOutpost(t, p)
		f.work()
		f.later(time.Minute)
		if m := f.result(trunk, "c1"); m.Outcome != core.CallOutcomeChildFailed || !m.Error {
			t.Errorf("%s: the result is %+v", tt.code, m)
		}
		child := core.ChildThread("t", trunk, f.sus(trunk, "c1"))
		if h := f.want(child, core.Failed); h.End.Code != tt.code {
			t.Errorf("ended with %+v, want %s", h.End, tt.code)
		}
		if p.stopped != tt.stop {
			t.Errorf("%s: stopped %v", tt.code, p.stopped)
		}
		f.want(trunk, core.NaturalEnd)
	}
}

// sus is the suspension that a call had.
func (f *forest) sus(thread, call string) string {
	f.t.Helper()
	segments, err := f.db.Segments(f.t.Context(), "t", thread, 1, f.head(thread).Seq)
	f.must(err)
	for _, s := range segments {
		for _, e := range s.Events {
			if c, ok := core.SuspendedIn(e); ok && c.CallID == call {
				return c.Suspension.ID
			}
		}
	}
	f.t.Fatalf("call %s was never suspended", call)
	return ""
}

// HK8: what no one waits for is stopped, however long that takes; the parent doesn't wait for it.
func TestAStopThatIsNotConfirmedIsADebt(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working}, stuck: 12}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	f.must(f.cancel(trunk))
	f.work()
	f.want(trunk, core.Cancelled)
	if h := f.head(child); h.End == nil || h.Status == core.RunDone || h.Peer.Stops != 1 {
		t.Fatalf("the child: %s, %+v", h.Status, h.Peer)
	}
	tries := len(p.asked)
	f.later(time.Second / 2)
	if len(p.asked) != tries {
		t.Error("the stop is tried again at once")
	}
	for range 14 {
		f.later(16 * time.Minute)
	}
	f.want(child, core.Cancelled)
	if got := f.events(child, core.EventRemoteEnded); !p.stopped || len(got) != 1 || got[0] != `{"task_id":"task-1","outcome":"stopped","attempts":12}` {
		t.Errorf("stopped %v, %v", p.stopped, got)
	}
}

func TestAStopThatIsNeverConfirmedIsGivenUp(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working}, stuck: -1}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	f.must(f.cancel(trunk))
	began := f.clock.Now()
	for range 2 * peer.MostStops {
		f.later(8 * time.Minute)
	}
	f.want(child, core.Cancelled)
	want := fmt.Sprintf(`{"task_id":"task-1","outcome":%q,"attempts":%d}`, events.RemoteUnconfirmed, peer.MostStops)
	if got := f.events(child, core.EventRemoteEnded); len(got) != 1 || got[0] != want {
		t.Errorf("%v after %s", got, f.clock.Now().Sub(began))
	}
}

// HK6: the cause is the silence, and the parent learns it before its own deadline.
func TestAnAgentElsewhereThatIsSilentUntilTheDeadlineIsUnreachable(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working}}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	p.down, p.stuck = true, -1
	until := f.head(child).Peer.Until
	for f.clock.Now().UnixMilli() < until-60_000 {
		f.later(time.Minute)
	}
	if h := f.head(child); h.End != nil {
		t.Fatalf("given up early: %+v", h.End)
	}
	for range 12 {
		f.later(5 * time.Second)
	}
	if m := f.result(trunk, "c1"); m.Outcome != core.CallOutcomeChildFailed {
		t.Errorf("the call's outcome is %s: %s", m.Outcome, m.Text())
	}
	if h := f.head(child); h.End == nil || h.End.Code != peer.CodeUnreachable {
		t.Errorf("the child ended with %+v", h.End)
	}
	f.want(trunk, core.NaturalEnd)
}

// An agent that works too long is no silent one: its call times out like any other.
func TestAnAgentElsewhereThatIsSlowTimesOut(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working}}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	for range 14 {
		f.later(5 * time.Minute)
	}
	if m := f.result(trunk, "c1"); m.Outcome != core.CallOutcomeTimedOut {
		t.Errorf("the call's outcome is %s", m.Outcome)
	}
	f.want(child, core.Cancelled)
	if !p.stopped {
		t.Error("it was not stopped")
	}
}

// HF9: a task whose acknowledgement was lost is searched for and sent once.
func TestATaskWhoseAnswerIsLostIsSentOnce(t *testing.T) {
	for _, once := range []bool{false, true} {
		p := &elsewhere{answers: []peer.Report{working, found}, lose: 1}
		f := newForest(t, callElsewhere())
		f.peer = p
		if once {
			root := f.agents["root"]
			// what a person approved runs at most once
			root.asks = []string{"elsewhere"}
			f.agents["root"] = root
		}
		f.start("root")
		f.work()
		if once {
			f.must(f.decide(trunk, "c1", core.ActionResume))
			f.work()
		}
		child := f.child(trunk, "c1")
		if h := f.head(child); h.Peer.Sent == 0 || h.Peer.Once != once || h.Peer.ID != "" || h.Peer.Silent == 0 {
			t.Fatalf("%+v", h.Peer)
		}
		for range 3 {
			f.later(time.Minute)
		}
		f.want(child, core.NaturalEnd)
		if len(p.tasks) != 1 || !p.seen[0].Again {
			t.Errorf("tasks %v, requests %+v", p.tasks, p.seen)
		}
	}
}

// A worker that is lost between the intent and the answer leaves the task to the next one.
func TestTheOwnerIsLostWhileItSendsTheTask(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working, found}}
	f := newOutpost(t, p)
	lost := true
	p.during = func() {
		if lost {
			lost = false
			panic(errRestive)
		}
	}
	f.work()
	for range 6 {
		f.later(time.Minute)
	}
	child := core.ChildThread("t", trunk, f.sus(trunk, "c1"))
	f.want(child, core.NaturalEnd)
	if len(p.tasks) != 1 {
		t.Errorf("tasks %v", p.tasks)
	}
}

// HB21: nothing in the child waits for a decision, so one that comes is refused.
func TestADecisionOnAnAgentElsewhereChangesNothing(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working, found}}
	f := newOutpost(t, p)
	f.work()
	child := f.head(f.child(trunk, "c1"))
	_, err := f.db.Signal(t.Context(), engine.SignalRequest{Tenant: "t", Thread: child.Thread, Run: child.Run, InboxKey: "sus_x", Call: "c1", Suspension: "sus_x",
		Signal: core.Signal{Kind: core.SignalDecision, Call: "c1", ID: "d-1", Value: core.Encode(core.Resume{DecisionID: "d-1", Action: core.ActionResume}), At: 1}})
	if !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a decision on the child: %v", err)
	}
	f.later(time.Minute)
	f.want(trunk, core.NaturalEnd)
}

// News make the next look happen now, and nothing else of them counts.
func TestNewsMakeTheNextLookHappenNow(t *testing.T) {
	pushing := working
	pushing.Task.Pushes = true
	p := &elsewhere{answers: []peer.Report{pushing, pushing, found}}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	for len(p.asked) < 3 {
		before := len(p.asked)
		f.later(600 * time.Millisecond << (before - 1))
		f.must(f.send(child, core.KeyNews, core.Signal{Kind: core.SignalNews, Value: []byte(`{"status":"completed"}`)}))
		f.work()
		if len(p.asked) != before+1 {
			t.Fatalf("asked %v", p.asked)
		}
	}
	f.want(trunk, core.NaturalEnd)
}

// An agent that says all the time that there is news, also while it is asked, is asked every 5 s.
func TestAnAgentThatAlwaysHasNewsIsNotAskedAllTheTime(t *testing.T) {
	pushing := working
	pushing.Task.Pushes = true
	p := &elsewhere{answers: []peer.Report{pushing}}
	f := newOutpost(t, p)
	f.work()
	child := f.child(trunk, "c1")
	news := func() { _ = f.send(child, core.KeyNews, core.Signal{Kind: core.SignalNews}) }
	p.during = news
	for range 60 * 5 {
		f.later(time.Second)
		news()
		f.work()
	}
	if n := len(p.asked); n < 45 || n > 75 {
		t.Errorf("asked %d times in 5 minutes", n)
	}
}

// A pause of the parent pauses the looks, not the agent elsewhere.
func TestAPausedRunDoesNotLook(t *testing.T) {
	p := &elsewhere{answers: []peer.Report{working, found}}
	f := newOutpost(t, p)
	f.work()
	f.must(f.send(trunk, core.KeyPause, core.Signal{Kind: core.SignalPause, ID: "int_1", By: "anna", Via: "api"}))
	f.work()
	child := f.child(trunk, "c1")
	if h := f.head(child); h.Status != core.RunWaiting || h.Interrupt() == "" {
		t.Fatalf("the child is %s", h.Status)
	}
	f.later(time.Hour / 2)
	if len(p.asked) != 1 {
		t.Errorf("asked %v", p.asked)
	}
	h := f.head(trunk)
	for id, c := range h.Calls {
		if c.Kind == core.KindInterrupt {
			f.must(f.decide(trunk, id, core.ActionResume))
		}
	}
	f.work()
	f.want(trunk, core.NaturalEnd)
	f.want(child, core.NaturalEnd)
}
