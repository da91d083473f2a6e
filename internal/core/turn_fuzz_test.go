package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Whatever a model asks for and tools answer, the run comes to an end, its transcript is well formed, every call has an id of its own, and the
// head stays small.
//
// turn is the text of the model's turn and, on a line each, its calls: id|name|arguments. It is given a few times, then the model has nothing
// more to say. choices decide what tools and people do, crash is the plan after which the process is lost.
func FuzzTurn(f *testing.F) {
	f.Add("Looking it up.\nc1|lookup|{\"order\":\"A-17\"}", "shipped", int64(12), uint64(0), uint8(0), uint8(0))
	f.Add("\nx|ask_refund|{}\nx|lookup|{}\n|lookup|oops\nx_2|client_locate|[1]", "", int64(-5), uint64(0x3a5), uint8(1), uint8(7))
	f.Add("\na|once_pay|{}\nb|wait_a|{}\nc|finish|{\"output\":1}", "\xff\x00<b>", int64(1<<62), uint64(0xffff_ffff), uint8(2), uint8(5))
	f.Add("stop\na|deny_it|null\nb|block_it|{}\nc|gone|{}", `{"approved":false}`, int64(0), uint64(1), uint8(3), uint8(0))
	f.Add("\na|set_it|{\"a\":1,\"a\":2}\nb|wait_b|1e999\nc|ask_c|\"\\ud800\"\n\u0000|\u2028|{}", "r", int64(7), uint64(0x5555_5555_5555), uint8(1), uint8(9))
	f.Add("\n"+strings.Repeat("same|ask_all|{}\n", 70), "r", int64(7), uint64(0xaaaa_aaaa), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, turn, result string, tokens int64, choices uint64, terms, crash uint8) {
		s := &stage{t: t, turn: readTurn(turn, tokens), result: result, choices: choices, crash: int(crash), now: 1_000_000,
			rules: oddRules{core.Terms{Parallel: terms&1 != 0, Continue: terms&2 != 0, StepCalls: int(terms>>2) & 7}}}
		s.play()
	})
}

// longestID bounds the ids of calls as a model's adapter hands them on: the head holds each of them.
const longestID = 64

func readTurn(text string, tokens int64) core.Turn {
	said, calls, _ := strings.Cut(text, "\n")
	turn := core.Turn{Text: said, InputTokens: tokens, OutputTokens: tokens / 2}
	for line := range strings.Lines(calls) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 3)
		part = append(part, "", "")
		id := strings.ToValidUTF8(part[0], "?") // adapters read JSON, whose texts are UTF-8
		turn.Calls = append(turn.Calls, core.ToolCall{ID: id[:min(len(id), longestID)], Name: strings.ToValidUTF8(part[1], "?"), Arguments: json.RawMessage(part[2])})
	}
	for i, c := range turn.Calls {
		turn.Calls[i].ID = strings.ToValidUTF8(c.ID, "")
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
	return core.Deadline{Within: int64(len(call.Name)%2) * 1000, Outcome: core.DeadlineOutcome(len(call.Name) % 3), Result: json.RawMessage(`"late"`)}
}

func (r oddRules) Terms() core.Terms { return r.terms }

// stage plays everybody but the planner: a store that keeps JSON, the model, the tools, and people who answer.
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
	now     int64
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
)

func (s *stage) play() {
	s.head = core.Head{Tenant: "t", Thread: "thr_a", Run: "run_a_0", Agent: "a", Version: "v", Schema: core.SchemaVersion, Born: s.now, At: s.now, Sigs: 1,
		Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, Value: core.Encode(core.TextParts("go")), At: s.now}}}
	for range mostActivations {
		if s.head.Status == core.RunDone {
			s.ended()
			return
		}
		s.answer()
		s.now += 100_000 // whatever was waited for, and every deadline unless it was answered, is over
		s.head.Epoch++
		s.head.Rev++
		s.head.Tries++
		s.head.Lease = s.now + 10_000
		s.head.Status = core.RunRunning
		s.activation()
	}
	s.t.Fatalf("not done after %d activations: %s", mostActivations, core.Encode(s.head))
}

// answer puts a decision into the inbox for the calls that wait, but for some whose deadline passes.
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
		if c.Kind == core.KindClient || c.Kind == core.KindInput {
			d.Arguments, d.Grant = nil, ""
		}
		s.signal(c.Sus, core.Signal{Kind: core.SignalDecision, Call: id, ID: "d", Digest: "dig", Value: core.Encode(d), At: s.now})
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
	v := core.View{Head: s.head.Clone(), Round: core.ReadRound(s.head, s.journal), State: core.ReadState(s.head, s.journal), Rules: s.rules,
		Limits: core.DefaultLimits, Fresh: func() string { s.fresh++; return fmt.Sprint("f", s.fresh) }}
	for batch := 1; ; batch++ {
		v.Now = s.now
		v.Put++
		plan, err := core.Decide(v)
		if err != nil {
			s.t.Fatalf("no plan: %v\nhead %s", err, core.Encode(v.Head))
		}
		if s.plans++; s.plans > mostPlans {
			s.t.Fatalf("more than %d plans: %s", mostPlans, core.Encode(v.Head))
		}
		if s.plans == s.crash {
			return
		}
		switch {
		case plan.Commit != nil:
			if v = s.commit(v, plan.Commit); plan.Commit.Over {
				return
			}
		case plan.Ask != nil:
			log := s.log()
			v.Asked, v.Used = true, core.UsedCallIDs(log)
			v.Turn = s.ask(log)
		case plan.Run != nil:
			for _, run := range plan.Run {
				v.Outcomes = append(v.Outcomes, s.body(run, batch))
			}
		default:
			s.t.Fatalf("a plan that nothing here asks for: %+v", plan)
		}
	}
}

// commit keeps the write as a store does, and goes on from what it holds then.
func (s *stage) commit(v core.View, c *core.Commit) core.View {
	s.t.Helper()
	if c.Segment != nil {
		s.journal = append(s.journal, decoded[core.Segment](s.t, stable[core.Segment](s.t, core.Encode(c.Segment))))
	}
	raw := stable[core.Head](s.t, core.Encode(c.Head))
	if len(raw) > mostHead {
		s.t.Fatalf("a head of %d bytes: %.2000s", len(raw), raw)
	}
	s.head = decoded[core.Head](s.t, raw)
	if err := core.CheckChain(s.head, 1, s.journal); err != nil {
		s.t.Fatal(err)
	}
	return v.After(s.head.Clone(), c)
}

func decoded[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("what was encoded cannot be read: %v\n%s", err, raw)
	}
	return v
}

// stable is raw, once it is sure that what is read from it is written in the same way again.
func stable[T any](t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	if again := core.Encode(decoded[T](t, raw)); canonical(t, again) != canonical(t, raw) {
		t.Fatalf("stored  %s\nread as %s", raw, again)
	}
	return raw
}

func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	c, err := core.Canonical(raw)
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return string(c)
}

func (s *stage) log() []core.Message { return core.Messages(s.journal) }

// ask gives the turn a few times, then an empty one.
func (s *stage) ask(log []core.Message) *core.Turn {
	checkTranscript(s.t, core.Transcript(log), s.rules.Terms().Continue)
	turns := 0
	for _, m := range log {
		if m.Role == core.RoleAssistant {
			turns++
		}
	}
	if turns > 2 {
		return &core.Turn{}
	}
	turn := s.turn
	return &turn
}

// body is what a tool comes to. After a while each one simply succeeds, or a tool that always asks would keep the run for ever.
func (s *stage) body(run core.BodyRun, batch int) core.BodyOutcome {
	s.bodies++
	out := core.BodyOutcome{CallID: run.Call.ID, Batch: batch, Outcome: core.Outcome{Text: s.result}}
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
		out.Interrupted = true
	}
	return out
}

// ended checks what is left of a run that is done.
func (s *stage) ended() {
	if s.head.End == nil {
		s.t.Fatalf("done without a reason: %s", core.Encode(s.head))
	}
	log := s.log()
	checkTranscript(s.t, core.Transcript(log), false)
	seen := map[string]bool{}
	for _, m := range log {
		for _, c := range m.Calls {
			if seen[c.ID] || c.ID == "" {
				s.t.Fatalf("the call id %q is there twice, or empty", c.ID)
			}
			seen[c.ID] = true
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
