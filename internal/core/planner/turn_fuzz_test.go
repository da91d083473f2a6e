package planner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Whatever a model asks for and tools answer, the run comes to an end, its transcript is well
// formed, every call has an id of its own, and the head stays small.
//
// turn is the text of the model's turn and, on a line each, its calls: id|name|arguments. It is
// given a few times, then the model has nothing more to say. choices decide what tools and people
// do, crash is the plan after which the process is lost.
func FuzzTurn(f *testing.F) {
	f.Add("Looking it up.\nc1|lookup|{\"order\":\"A-17\"}", "shipped", int64(12), uint64(0), uint8(0), uint8(0))
	f.Add("\nx|ask_refund|{}\nx|lookup|{}\n|lookup|oops\nx_2|client_locate|[1]", "", int64(-5), uint64(0x3a5), uint8(1), uint8(7))
	f.Add("\na|once_pay|{}\nb|wait_a|{}\nc|finish|{\"output\":1}", "\xff\x00<b>", int64(1<<62), uint64(0xffff_ffff), uint8(2), uint8(5))
	f.Add("stop\na|deny_it|null\nb|block_it|{}\nc|gone|{}", `{"approved":false}`, int64(0), uint64(1), uint8(3), uint8(0))
	f.Add("\na|set_it|{\"a\":1,\"a\":2}\nb|wait_b|1e999\nc|ask_c|\"\\ud800\"\n\u0000|\u2028|{}", "r", int64(7), uint64(0x5555_5555_5555), uint8(1), uint8(9))
	f.Add("\n"+strings.Repeat("x", 1500)+"|lookup|{}\n\xff|lookup|{\"\xff\":1}\n\xfe|ask_\xff|{}", "it stopped", int64(-1<<63), uint64(1), uint8(1), uint8(0))
	f.Add("\n"+strings.Repeat("same|ask_all|{}\n", 70), "r", int64(7), uint64(0xaaaa_aaaa), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, turn, result string, tokens int64, choices uint64, terms, crash uint8) {
		if len(turn)+len(result) > mostText {
			return // it says no more, and takes long
		}
		s := &stage{t: t, turn: readTurn(turn, tokens), result: result, choices: choices, crash: int(crash),
			now: 1_000_000, rules: oddRules{core.Terms{Parallel: terms&1 != 0, Continue: terms&2 != 0, StepCalls: int(terms>>2) & 7}}}
		s.play()
	})
}

func readTurn(text string, tokens int64) core.Turn {
	said, calls, _ := strings.Cut(text, "\n")
	turn := core.Turn{Text: said, InputTokens: tokens, OutputTokens: tokens / 2}
	for line := range strings.Lines(calls) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 3)
		part = append(part, "", "")
		turn.Calls = append(turn.Calls, core.ToolCall{ID: part[0], Name: part[1], Arguments: json.RawMessage(part[2])})
	}
	return turn
}

// oddRules treat a tool as its name begins; any name but one that is gone is a tool.
type oddRules struct{ terms core.Terms }

func (oddRules) Tool(name string) (core.ToolSpec, bool) {
	spec := core.ToolSpec{Name: name, Finish: name == core.FinishTool, Client: strings.HasPrefix(name, "client")}
	if strings.HasPrefix(name, "once") {
		spec.Delivery = core.AtMostOnce
	}
	return spec, !strings.HasPrefix(name, "gone")
}

func (oddRules) Check(call core.ToolCall) error {
	var members map[string]json.RawMessage
	return json.Unmarshal(call.Arguments, &members)
}

func (oddRules) Gate(call core.ToolCall, state core.State) core.Verdict {
	kind, _, _ := strings.Cut(call.Name, "_")
	switch kind {
	case "ask":
		return core.Verdict{Effect: core.Ask, Mode: core.ResumeMode(len(call.Name) % 3), Grant: call.Name}
	case "deny":
		return core.Verdict{Effect: core.Deny}
	case "block":
		return core.Verdict{Effect: core.Block}
	case "set":
		return core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "set"}}
	case "once":
		if state.Get(core.RunScope, "asked") != nil {
			return core.Verdict{Effect: core.Ask, Reason: "the state says so"}
		}
	}
	return core.Verdict{Effect: core.Allow}
}

func (oddRules) Deadline(call core.ToolCall, kind core.Kind) core.Deadline {
	n := len(call.Name)
	return core.Deadline{Within: int64(n%2) * 1000, Outcome: core.DeadlineOutcome(n % 3), Result: json.RawMessage(`"late"`)}
}

func (oddRules) Times(*vote.Policy, int, int64) core.Times { return core.Times{} }

func (r oddRules) Terms() core.Terms { return r.terms }

func (oddRules) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

// stage plays everybody but the planner: a store that keeps JSON, the model, the tools, and people
// who answer.
type stage struct {
	t       *testing.T
	rules   core.Rules
	turn    core.Turn
	result  string
	choices uint64
	chosen  uint
	crash   int // the plan after which the process is lost; 0: never
	plans   int
	bodies  int
	fresh   int
	sent    int // signals that nobody asked for
	now     int64
	flight  flightStage
	head    core.Head
	journal []core.Segment
}

// choose takes the next of the choices, out of n; they come round.
func (s *stage) choose(n uint64) uint64 {
	s.chosen++
	return s.choices >> (s.chosen * 3 % 62) % n
}

const (
	mostActivations = 400
	mostPlans       = 4000
	mostHead        = 60 << 10
	mostText        = 1600
	longestID       = 64 // with its suffix
)

func (s *stage) play() {
	s.head = core.Head{Identity: core.Identity{Tenant: "t", Thread: "thr_a", Run: "run_a_0", Agent: "a", Version: "v", Schema: core.SchemaVersion},
		Origin: core.Origin{Born: s.now, At: s.now}}
	s.signal(core.KeyStart, core.Signal{Kind: core.SignalStart, Value: core.Encode(core.TextParts("go")), At: s.now})
	for range mostActivations {
		if s.head.Status == core.RunDone {
			s.ended()
			return
		}
		s.answer()
		s.interfere()
		// whatever was waited for, and every deadline unless it was answered, is over
		s.now += 100_000
		s.head.Epoch++
		s.head.Rev++
		s.head.Tries++
		s.head.Lease = s.now + 10_000
		s.head.Status = core.RunRunning
		s.activation()
	}
	s.t.Fatalf("not done after %d activations: %s", mostActivations, core.Encode(s.head))
}

// answer puts a decision into the inbox for the calls that wait, but for some whose deadline
// passes.
func (s *stage) answer() {
	for id, c := range s.head.Calls {
		if c.Status != core.CallSuspended || c.Deadline != 0 && s.choose(2) == 0 {
			continue
		}
		d := core.Resume{DecisionID: "d", Action: core.ActionResume, UpdatedAt: s.now}
		switch s.choose(4) {
		case 0:
			d.Action, d.Reason = core.ActionCancel, s.result
		case 1:
			d.Error = s.result
		case 2:
			d.Result = core.Encode(s.result)
		default:
			d.Arguments, d.Grant = json.RawMessage(`{"edited":true}`), core.GrantRun
		}
		switch c.Kind {
		case core.KindClient, core.KindInput:
			d.Arguments, d.Grant = nil, ""
		case core.KindInterrupt:
			d = core.Resume{DecisionID: "d", Action: core.ActionResume, UpdatedAt: s.now}
		}
		s.signal(c.Sus, core.Signal{Kind: core.SignalDecision, Call: id, ID: "d", Digest: "dig", Value: core.Encode(d), At: s.now})
	}
}

// interfere sends a few signals that nobody asked for, as far as a store would take them.
func (s *stage) interfere() {
	text := core.Encode(core.TextParts(s.result))
	switch key := core.MessageKey(fmt.Sprint(s.fresh)); s.choose(16) {
	case 1:
		s.uncalled(key, core.Signal{Kind: core.SignalMessage, Value: text, At: s.now, On: core.PendingAbandon})
	case 2:
		s.uncalled(key, core.Signal{Kind: core.SignalMessage, Value: text, At: s.now, On: core.PendingQueue})
	case 3:
		if s.head.Pending == 0 {
			s.uncalled(key, core.Signal{Kind: core.SignalMessage, Value: text, At: s.now})
		}
	case 4:
		s.uncalled(core.KeyPause, core.Signal{Kind: core.SignalPause, ID: key, At: s.now})
	case 5:
		s.uncalled(core.KeyCancel, core.Signal{Kind: core.SignalCancel, At: s.now})
	}
}

// uncalled keeps signals few, or the run would never end.
func (s *stage) uncalled(key string, signal core.Signal) {
	if s.sent++; s.sent <= 6 && s.head.End == nil {
		s.signal(key, signal)
	}
}

func (s *stage) signal(key string, signal core.Signal) {
	if s.head.Inbox == nil {
		s.head.Inbox = map[string]core.Signal{}
	}
	s.head.Inbox[key] = signal
	s.head.Sigs++
}

// activation does what is planned until a commit gives the claim up, or the process is lost.
func (s *stage) activation() {
	v := plans.View{Head: s.head.Clone(), Round: core.ReadRound(s.head, s.journal), State: core.ReadState(s.head, s.journal), Rules: s.rules,
		Limits: plans.DefaultLimits, Fresh: func() string { s.fresh++; return fmt.Sprint("f", s.fresh) }}
	s.flight = flightStage{begun: map[string]bool{}, up: map[string]plans.BodyRun{}}
	for {
		v.Now = s.now
		v.Put++
		plan, err := planner.Decide(v)
		if err != nil {
			s.t.Fatalf("no plan: %v\nhead %s", err, core.Encode(v.Head))
		}
		if s.plans++; s.plans > mostPlans {
			s.t.Fatalf("more than %d plans: %s", mostPlans, core.Encode(v.Head))
		}
		if s.plans == s.crash {
			return
		}
		switch plan := plan.(type) {
		case *plans.Commit:
			if v = s.commit(v, plan); plan.Over {
				return
			}
		case plans.AskModel:
			log := s.log()
			v.ModelAsked, v.UsedCallID = true, usedIn(log)
			if v.Turn = s.ask(log); v.Turn == nil {
				long := strings.Repeat(s.result+" ", 100_000/(len(s.result)+1))
				v.Failure = &plans.ModelFailure{Reason: core.Reason{Kind: core.Stopped, Code: long, Detail: long}}
			}
		case plans.RunBodies:
			s.begin(&v, plan)
			s.land(&v)
		case plans.AwaitBodies:
			s.land(&v)
		case plans.StopBodies:
			v.Ending = &plan.Reason
			s.stop(&v)
		case plans.StartHeld:
			s.follow(v.Head, plan.Held)
			return
		default:
			s.t.Fatalf("a plan that nothing here asks for: %+v", plan)
		}
	}
}

// follow puts the run that a held message begins into the head.
func (s *stage) follow(h core.Head, held core.Held) {
	s.t.Helper()
	input, ok := core.FindHeld(s.journal[held.Seq-1], held.Key)
	if !ok {
		s.t.Fatalf("the message %s is not in segment %d", held.Key, held.Seq)
	}
	s.head = h.Succeed("v", input, s.now)
	s.head.Held = h.Held[1:]
}

// commit keeps the write as a store does, and goes on from what it holds then.
func (s *stage) commit(v plans.View, c *plans.Commit) plans.View {
	s.t.Helper()
	if c.Segment != nil {
		s.journal = append(s.journal, kept(s.t, *c.Segment))
	}
	before := s.head
	s.head = kept(s.t, c.Head)
	if s.head.Run == before.Run && s.head.InputTokens < before.InputTokens {
		s.t.Fatalf("%d tokens became %d", before.InputTokens, s.head.InputTokens)
	}
	if raw := core.Encode(s.head); len(raw) > mostHead {
		s.t.Fatalf("a head of %d bytes: %.2000s", len(raw), raw)
	}
	if err := core.CheckChain(s.head, 1, s.journal); err != nil {
		s.t.Fatal(err)
	}
	return v.After(s.head.Clone(), c)
}

// kept is v as a store gives it back; it must be written in the same way again. That nothing is
// lost on the way is [FuzzStoredSegments]'s.
func kept[T any](t *testing.T, v T) (back T) {
	t.Helper()
	raw := core.Encode(v)
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, raw)
	}
	if again := core.Encode(back); !bytes.Equal(again, raw) && !sameJSON(raw, again) {
		t.Fatalf("written %s\nread as %s", raw, again)
	}
	return back
}

// sameJSON says whether two texts are one JSON value, however they are written; none is null.
func sameJSON(a, b json.RawMessage) bool {
	one, err1 := core.Canonical(a)
	two, err2 := core.Canonical(b)
	return bytes.Equal(one, two) && (err1 == nil) == (err2 == nil) || core.IsNull(a) && core.IsNull(b)
}

func (s *stage) log() []core.Message { return core.Messages(s.journal) }

// ask gives the turn a few times, then an empty one, or none at all.
func (s *stage) ask(log []core.Message) *core.Turn {
	checkTranscript(s.t, core.TranscriptOf(log), s.rules.Terms().Continue)
	turns := 0
	for _, m := range log {
		if m.Role == core.RoleAssistant {
			turns++
		}
	}
	most := 3
	if len(s.turn.Calls) > 16 {
		most = 1 // one such round is long enough
	}
	switch {
	case turns >= most && s.choices&1 != 0:
		return nil
	case turns >= most:
		return &core.Turn{}
	}
	turn := s.turn
	return &turn
}

// body is what a tool comes to. After a while each one simply succeeds, or a tool that always asks
// would keep the run for ever.
func (s *stage) body(run plans.BodyRun) plans.BodyOutcome {
	s.bodies++
	out := plans.BodyOutcome{CallID: run.Call.ID, Outcome: core.Outcome{Text: s.result}}
	if s.bodies > 20 {
		return out
	}
	switch s.choose(8) {
	case 3:
		out.State = []core.StateOp{{Key: s.result, Op: core.StateInsert, Value: core.Encode(s.result)}}
	case 4:
		out.Failed = true
	case 5, 6:
		out.Ticket = &core.SuspendTicket{ResumeMode: core.ResumeMode(s.choose(3)), Suspension: core.Suspension{Action: s.result, Message: s.result,
			ResponseSchema: json.RawMessage(s.result)}}
	case 7:
		return plans.BodyOutcome{CallID: run.Call.ID, Interrupted: true}
	}
	return out
}

// ended checks what is left of a run that is done.
func (s *stage) ended() {
	if s.head.End == nil {
		s.t.Fatalf("done without a reason: %s", core.Encode(s.head))
	}
	log := s.log()
	checkTranscript(s.t, core.TranscriptOf(log), false)
	asked, results, placeholders := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range log {
		for _, c := range m.Calls {
			asked[c.ID]++
			if !utf8.Valid(c.Arguments) || !utf8.ValidString(c.Name) {
				s.t.Fatalf("call %+v is kept in what is no UTF-8", c)
			}
		}
		switch {
		case m.Role == core.RoleTool && m.Pending:
			placeholders[m.CallID]++
		case m.Role == core.RoleTool:
			results[m.CallID]++
		}
	}
	for id, n := range asked {
		if len(id) > longestID || !utf8.ValidString(id) {
			s.t.Fatalf("the call id %q", id)
		}
		if id == "" || n != 1 || results[id] != 1 || placeholders[id] > 1 {
			s.t.Fatalf("call %q was asked for %d times, and has %d results and %d placeholders", id, n, results[id], placeholders[id])
		}
	}
	number := int64(0)
	for _, segment := range s.journal {
		for _, e := range segment.Expand() {
			if number++; e.Seq != number || len(e.Data) > 0 && !json.Valid(e.Data) {
				s.t.Fatalf("event %d is %+v", number, e)
			}
		}
	}
}
