package planner_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// scriptPlayer is the thread of a script, its store and its workers, in memory. It carries out what
// is planned and writes it down.
type scriptPlayer struct {
	t       *testing.T
	rules   *scriptRules
	head    core.Head
	journal []core.Segment
	now     int64
	fresh   int
	turns   []func(*plans.View)       // what the model answers, in order
	bodies  map[string][]core.Outcome // what bodies come to, by call; "ok" if nothing is said
	// calls whose bodies run until something else has happened
	slow      map[string]bool
	during    []string                    // acts for while bodies run
	speak     []string                    // acts for while the model speaks
	before    []string                    // acts just before the next closing commit
	hooks     map[core.Phase]core.Effects // what hooks want, each time
	ancestors plans.Conditions            // what is known of the runs above
	out       strings.Builder
}

func newScriptPlayer(t *testing.T) *scriptPlayer {
	p := &scriptPlayer{t: t, rules: &scriptRules{tools: map[string]*scriptTool{}}, now: 1_000_000, bodies: map[string][]core.Outcome{}, slow: map[string]bool{},
		hooks: map[core.Phase]core.Effects{}}
	p.head = core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Run: "run_a_0", Agent: "desk", Version: "v1", Schema: core.SchemaVersion},
		Calls: map[string]core.Call{}, Waits: core.Waits{TimedOut: map[string]int{}}, Out: map[string]core.Out{}, Inbox: map[string]core.Signal{},
		Origin: core.Origin{Born: p.now, At: p.now}, Votes: map[string]vote.Tally{}}
	return p
}

func (p *scriptPlayer) say(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// limits of one activation: the plan after which, or in which, its process crashes, or its time is
// up.
type scriptLimit struct {
	what  string // crash-after, crash-in, time-up-after
	plan  string // commit, body, model, hooks, send
	count int
}

// hit counts a plan, and says whether it is the one.
func (l *scriptLimit) hit(what, plan string) bool {
	if l.what != what || l.plan != plan {
		return false
	}
	l.count--
	return l.count == 0
}

func readScriptLimit(line string) *scriptLimit {
	words := append(strings.Fields(line), "", "", "")
	n, err := strconv.Atoi(words[2])
	if err != nil {
		n = 1
	}
	return &scriptLimit{words[0], words[1], n}
}

const mostScriptPlans = 100

// activation claims the run and does what is planned until the claim is given up.
func (p *scriptPlayer) activation(line string) {
	limit := readScriptLimit(line)
	if !p.head.Claimable(p.now, "another") {
		p.say("nothing to claim")
		return
	}
	p.head.Epoch, p.head.Rev, p.head.Tries, p.head.Claim, p.head.Lease = p.head.Epoch+1, p.head.Rev+1, p.head.Tries+1, "worker", p.now+60_000
	p.head.Status = core.RunRunning
	v := plans.View{Head: p.head.Clone(), Round: core.ReadRound(p.head, p.journal), State: core.ReadState(p.head, p.journal), Rules: p.rules,
		Limits: plans.DefaultLimits, Notices: p.rules.notices(), Hooked: map[core.Phase]bool{}, Gates: plans.NewGateMemo(),
		Conditions: plans.Conditions{Orphaned: p.head.Orphaned(), Disowned: p.ancestors.Disowned, AncestorGone: p.ancestors.AncestorGone, ParentPaused: p.ancestors.ParentPaused},
		Fresh:      func() string { p.fresh++; return "f" + strconv.Itoa(p.fresh) }}
	for phase := range p.hooks {
		v.Hooked[phase] = true
	}
	for range mostScriptPlans {
		v.Now, v.Put = p.now, v.Put+1
		plan, err := planner.Decide(v)
		if err != nil {
			p.say("error: %v", err)
			return
		}
		kind, over := p.carryOut(&v, plan, limit)
		switch {
		case limit.hit("crash-after", kind):
			p.say("the process crashes")
			p.crash()
			return
		case over:
			return
		case limit.hit("time-up-after", kind):
			v.TimeUp = true
		}
	}
	p.t.Fatal("no end of plans")
}

// crash leaves the lease to end by itself. Nothing that was not committed counts.
func (p *scriptPlayer) crash() { p.now = p.head.Lease + 1 }

// carryOut does what is planned, and says in a word what that was.
func (p *scriptPlayer) carryOut(v *plans.View, plan plans.Plan, limit *scriptLimit) (kind string, over bool) {
	switch plan := plan.(type) {
	case *plans.Commit:
		return "commit", p.commit(v, plan)
	case plans.AskModel:
		p.say("ask the model: step %d", plan.Step)
		if limit.hit("crash-in", "model") {
			return p.lost("model")
		}
		v.ModelAsked, v.UsedCallID = true, usedIn(core.Messages(p.journal))
		p.acts(&p.speak)
		p.answer(v)
		return "model", false
	case plans.RunBodies:
		for i, run := range plan {
			p.say("%s", sayBody(run, i > 0))
			v.InFlight = append(v.InFlight, plans.InFlight{CallID: run.Call.ID, Saw: 0})
		}
		if limit.hit("crash-in", "body") {
			return p.lost("body")
		}
		p.land(v)
		return "body", false
	case plans.AwaitBodies:
		p.say("await bodies")
		p.land(v)
		return "await", false
	case plans.StopBodies:
		p.say("stop bodies: %s", plan.Reason.Kind)
		v.Ending = &plan.Reason
		p.stop(v)
		return "stop", false
	}
	return p.carryOutRest(v, plan)
}

func (p *scriptPlayer) carryOutRest(v *plans.View, plan plans.Plan) (kind string, over bool) {
	switch plan := plan.(type) {
	case plans.FireHooks:
		p.say("fire hooks: %s%s", plan.Phase, sayCall(plan.Call))
		v.Fired = append(v.Fired, plan.Answer(p.hooks[plan.Phase]))
		return "hooks", false
	case plans.ReadPreview:
		p.say("read a preview: %s", plan.Call.Name)
		v.Previews = append(v.Previews, plans.Previewed{Call: plan.Call.ID, Text: "what is there now"})
		return "preview", false
	case plans.FindAgent:
		p.say("find the agent: %s", plan.Name)
		v.Agents = core.CloneMap(v.Agents)
		v.Agents[plan.Name] = plans.FoundAgent{Version: "v7", Missing: plan.Name == "gone"}
		return "find", false
	case plans.SendOutbox:
		kinds := []string{}
		for _, key := range plan.Keys {
			kinds = append(kinds, strings.TrimSpace(string(v.Head.Out[key].Kind)+" "+p.callOf(key)))
			v.Sent = append(v.Sent, plans.Sent{Key: key})
		}
		p.say("send: %s", strings.Join(kinds, ", "))
		return "send", false
	case plans.StartHeld:
		p.say("start the next run with the held message")
		input, _ := core.FindHeld(p.journal[plan.Held.Seq-1], plan.Held.Key)
		p.head = v.Head.Succeed("v1", input, p.now)
		p.head.Held = v.Head.Held[1:]
		return "follow", true
	}
	p.t.Fatalf("a plan that no script knows: %#v", plan)
	return "", true
}

func (p *scriptPlayer) lost(kind string) (string, bool) {
	p.say("the process crashes")
	p.crash()
	return kind, true
}

// commit writes as a store does: on condition of the signals if that is demanded.
func (p *scriptPlayer) commit(v *plans.View, c *plans.Commit) (over bool) {
	if c.AllSeen && len(p.before) > 0 {
		p.acts(&p.before)
	}
	if c.AllSeen && p.head.Sigs != v.Head.Sigs {
		p.say("refused: unread signals")
		v.Head = p.head.Clone()
		return false
	}
	for _, line := range sayCommit(c, v.Head, p.now) {
		p.say("%s", line)
	}
	if err := invariant.CheckWritten(c.Head); err != nil {
		p.t.Errorf("the commit breaks an invariant: %v", err)
	}
	if c.Segment != nil {
		p.journal = append(p.journal, *c.Segment)
	}
	inbox, sigs, votes := p.head.Inbox, p.head.Sigs, p.head.Votes
	for _, key := range c.Drained {
		delete(inbox, key)
	}
	p.head = c.Head.Clone()
	p.head.Inbox, p.head.Sigs = inbox, sigs
	p.countVotes(votes, c)
	*v = v.After(p.head.Clone(), c)
	return c.Over
}

// answer is the model's next one. One that has nothing left to say ends its turn.
func (p *scriptPlayer) answer(v *plans.View) {
	if len(p.turns) == 0 {
		v.Turn = &core.Turn{}
		return
	}
	p.turns[0](v)
	p.turns = p.turns[1:]
}

// land lets what was to happen meanwhile happen, and every body end that is not slow. If nothing of
// that is left, the slow ones end.
func (p *scriptPlayer) land(v *plans.View) {
	quick := slices.ContainsFunc(v.InFlight, func(f plans.InFlight) bool { return !p.slow[f.CallID] })
	if len(p.during) > 0 {
		p.acts(&p.during)
		v.Head = p.head.Clone()
		if !quick {
			return
		}
	}
	for _, f := range slices.Clone(v.InFlight) {
		if quick && p.slow[f.CallID] {
			continue
		}
		v.Outcomes = append(v.Outcomes, plans.BodyOutcome{CallID: f.CallID, Nth: len(v.Outcomes) + 1, Saw: f.Saw, Outcome: p.outcome(f.CallID), Began: p.now, Ended: p.now})
		v.InFlight = slices.DeleteFunc(v.InFlight, func(other plans.InFlight) bool { return other.CallID == f.CallID })
	}
}

func (p *scriptPlayer) stop(v *plans.View) {
	for _, f := range v.InFlight {
		v.Outcomes = append(v.Outcomes, plans.BodyOutcome{CallID: f.CallID, Nth: len(v.Outcomes) + 1, Saw: f.Saw, Interrupted: true, Stopping: true, Began: p.now})
	}
	v.InFlight = nil
}

func (p *scriptPlayer) outcome(call string) core.Outcome {
	if left := p.bodies[call]; len(left) > 0 {
		p.bodies[call] = left[1:]
		return left[0]
	}
	return core.Outcome{Text: "ok"}
}

// signal puts one into the inbox, as the frontend does.
func (p *scriptPlayer) signal(key string, s core.Signal) {
	if _, there := p.head.Inbox[key]; there || p.head.End != nil {
		p.say("%s: refused", key)
		return
	}
	s.At = p.now
	p.head.Inbox[key] = s
	p.head.Sigs++
}

// suspended is the suspension that a call waits on.
func (p *scriptPlayer) suspended(call string) string {
	c, ok := p.head.Calls[call]
	if !ok || c.Status != core.CallSuspended {
		p.t.Fatalf("call %s does not wait: %s", call, core.Encode(p.head.Calls))
	}
	return c.Sus
}
