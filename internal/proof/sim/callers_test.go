package sim_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// thread is a conversation and what its callers were told of it.
type thread struct {
	s        *stage
	n        int
	id       string
	runs     []string
	seen     []wire.Pending       // every suspension a caller ever saw
	of       map[string]string    // their runs
	said     map[string]*saidText // texts of inputs and messages
	told     []toldDecision
	cancels  map[string]bool // runs whose cancel was accepted
	unwanted map[string]bool // runs whose cancel was asked for
	sent     []func(context.Context)
	resumed  map[string]string // the id of the last resume of each run
	retried  map[string]string // runs that failed, and those that went on
	batches  [][]wire.Decision // that were accepted
	undoable []undo
	undone   map[string]string // decisions that were withdrawn, with their suspensions
	kept     map[string]string // and those that could not be any more
}

// saidText is a user message: how often it was accepted under one key, which must come to one.
// Without a key it is sent once, and a copy that the network lets land later cannot be told from
// it.
type saidText struct{ accepted, keyless bool }

// toldDecision is a decision whose caller was told that it counts, or which other one does.
type toldDecision struct {
	run, id string // of the decision that was first
	sus     string // if it was named
	answer  string
	who     holds.By
}

func (s *stage) callers(ctx context.Context) {
	for i := range s.plan.threads {
		t := &thread{s: s, n: i, of: map[string]string{}, said: map[string]*saidText{}, cancels: map[string]bool{}, unwanted: map[string]bool{}, retried: map[string]string{}, resumed: map[string]string{}, undone: map[string]string{}, kept: map[string]string{}}
		s.threads = append(s.threads, t)
		s.caller(ctx, "the caller", t.lead)
		for range s.plan.rivals {
			s.caller(ctx, "a rival", t.rival)
			s.caller(ctx, "a meddler", t.meddler)
		}
	}
}

func (s *stage) caller(ctx context.Context, name string, act func(context.Context)) {
	s.first.busy++
	s.w.Go(ctx, name, func(ctx context.Context) {
		defer func() { s.first.busy-- }()
		act(ctx)
	})
}

var errBroken = errors.New("the connection broke")

// once sends one request; a frontend that is lost on the way looks like a broken connection.
func once[T any](ctx context.Context, request func(context.Context) (T, error)) (v T, err error) {
	if survive(func() { v, err = request(ctx) }) {
		return v, errBroken
	}
	return v, err
}

func temporary(err error) bool {
	var e *refusal.Error
	if errors.As(err, &e) {
		return e.Code == refusal.CodeUnavailable || e.Code == refusal.CodeInboxFull
	}
	return errors.Is(err, errBroken) || errors.Is(err, engine.ErrUnavailable)
}

// persist sends a request until it is answered for good, as a careful caller does, or until ctx
// ends: that of a body that cancels its own run ends with the body's time.
func persist[T any](ctx context.Context, s *stage, request func(context.Context) (T, error)) (T, error) {
	for {
		v, err := once(ctx, request)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return v, err
		}
		if !temporary(err) {
			s.known(err)
			return v, err
		}
		_ = s.w.Sleep(ctx, s.w.Upto(time.Second))
	}
}

// known: every other error is a fault of the frontend.
func (s *stage) known(err error) {
	var e *refusal.Error
	if err != nil && !errors.As(err, &e) {
		s.wrong("a caller got %v", err)
	}
}

func code(err error) refusal.Code {
	var e *refusal.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// lead starts the thread, decides what waits, and starts the next runs.
func (t *thread) lead(ctx context.Context) {
	_ = t.s.w.Sleep(ctx, t.s.w.Upto(2*time.Second))
	if !t.begin(ctx) {
		return
	}
	for n := range t.s.plan.runs {
		run := t.runs[len(t.runs)-1]
		t.follow(ctx, run)
		if !t.s.plan.calm && t.pick(2) == 0 {
			t.retry(ctx, run) // which is refused, unless it failed
		}
		if n+1 < t.s.plan.runs {
			t.say(ctx, t.s.person(starter), fmt.Sprintf("lead %d", n), true)
		}
	}
}

func (t *thread) begin(ctx context.Context) bool {
	text := fmt.Sprintf("begin %d", t.n)
	req := wire.StartRequest{Agent: fmt.Sprintf("agent-%d", t.n), Input: core.Encode(text)}
	if own := t.s.seed % 3; own == 0 {
		req.Permissions = core.Encode(map[string][]string{"deny": {toolNames[int(t.s.seed)%len(toolNames)]}})
	}
	start := func(ctx context.Context) (frontend.Started, error) {
		return t.starting(ctx, fmt.Sprintf("start-%d", t.n), req)
	}
	t.said[text] = &saidText{}
	twin := t.s.first != t.s && t.s.first.plan.neighbour.twin
	if t.n%2 == 0 && !twin {
		req.ThreadKey = fmt.Sprintf("chat-%d", t.n)
	}
	begin := func() (frontend.Started, error) { return persist(ctx, t.s, start) }
	if twin {
		begin = func() (frontend.Started, error) { return t.beginTwin(ctx, req) }
	}
	got, err := begin()
	if err != nil {
		t.s.wrong("a start was refused: %v", err)
		return false
	}
	t.said[text].accepted = true
	t.id = got.Run.ThreadID
	t.addRun(got.Run.ID)
	if req.ThreadKey != "" {
		t.sent = append(t.sent, func(ctx context.Context) {
			found, err := once(ctx, func(ctx context.Context) (wire.Thread, error) {
				return t.s.front.ThreadByKey(ctx, t.s.person(starter), req.ThreadKey)
			})
			if err == nil && found.ID != t.id {
				t.s.wrong("TK-1: the key %s names %s and %s", req.ThreadKey, t.id, found.ID)
			}
		})
	}
	if twin {
		return true
	}
	t.sent = append(t.sent, func(ctx context.Context) {
		if again, err := once(ctx, start); err == nil && again.Run.ID != got.Run.ID {
			t.s.wrong("one key started %s and %s", got.Run.ID, again.Run.ID)
		}
	})
	return true
}

func (t *thread) addRun(id string) {
	for _, known := range t.runs {
		if known == id {
			return
		}
	}
	t.runs = append(t.runs, id)
}

// say sends a message under a key of its own.
func (t *thread) say(ctx context.Context, who frontend.Caller, text string, stubborn bool) {
	request := func(ctx context.Context) (frontend.Started, error) {
		q := &question{who: who, text: text, from: t.moment()}
		got, err := t.s.front.Message(context.WithValue(ctx, questionKey{}, q), who, t.id, fmt.Sprintf("key %d of %s", t.n, text),
			wire.MessageRequest{Input: core.Encode(text)})
		t.s.w.Note("says %q: %v", text, err)
		t.s.referee.message(t.id, q, err)
		return got, err
	}
	t.said[text] = &saidText{}
	send := persist[frontend.Started]
	if !stubborn {
		send = func(ctx context.Context, _ *stage, r func(context.Context) (frontend.Started, error)) (frontend.Started, error) {
			return once(ctx, r)
		}
	}
	got, err := send(ctx, t.s, request)
	run := t.heard(who, text, got, err)
	t.sent = append(t.sent, func(ctx context.Context) {
		again, err := once(ctx, request)
		if id := t.heard(who, text, again, err); id != "" && run != "" && id != run {
			t.s.wrong("one key of a message stands for %s and %s", run, id)
		}
	})
}

func (t *thread) heard(who frontend.Caller, text string, got frontend.Started, err error) (run string) {
	if err != nil {
		if !temporary(err) && code(err) != refusal.CodeRunOpen && !t.turnedAway(who, err) {
			t.s.wrong("a message was refused: %v", err)
		}
		return ""
	}
	t.said[text].accepted = true
	t.addRun(got.Run.ID)
	return got.Run.ID
}

// follow decides what the run waits for until it is done, or patience ends.
func (t *thread) follow(ctx context.Context, run string) {
	for n := 0; t.s.plan.calm || n < 60; n++ {
		got, err := t.look(ctx, run)
		if err != nil || got.Status == core.RunDone.String() {
			return
		}
		t.settleTogether(ctx, run, got.Pending)
		for _, p := range got.Pending {
			t.settleOne(ctx, run, p)
		}
		_ = t.s.w.Sleep(ctx, 500*time.Millisecond+t.s.w.Upto(3*time.Second))
	}
}

func (t *thread) look(ctx context.Context, run string) (wire.Run, error) {
	got, err := persist(ctx, t.s, func(ctx context.Context) (wire.Run, error) {
		from := t.moment()
		got, err := t.s.front.Run(ctx, t.s.person(starter), run)
		if err == nil {
			t.s.referee.shown(t.id, from, got)
		}
		return got, err
	})
	if err != nil {
		t.s.wrong("reading %s: %v", run, err)
		return got, err
	}
	for _, p := range got.Pending {
		if _, known := t.of[p.Suspension.ID]; !known {
			t.of[p.Suspension.ID] = run
			t.seen = append(t.seen, p)
		}
	}
	return got, nil
}

// truth is the decision that depends on nothing but the call and how often it was decided.
func (t *thread) truth(run string, p wire.Pending) wire.Decision {
	d := wire.Decision{DecisionID: "lead " + p.Suspension.ID, Target: p.Suspension.ID, Action: "resume"}
	for t.undone[d.DecisionID] != "" {
		d.DecisionID += "'"
	}
	what := hash(string(p.Arguments), p.Tool)
	switch p.Kind {
	case "unknown_outcome":
		if out, ok := t.s.cast.happened[run+"/"+p.CallID]; ok && out.Failed {
			d.Error, d.Action = out.Text, ""
		} else if ok {
			d.Result = core.Encode(out.Text)
		} else if roles[p.Tool].kills {
			d.Action, d.Reason = "cancel", "not once more"
		}
	case "approval":
		if what%4 == 0 {
			d.Action, d.Reason = "cancel", "no"
		} else if p.ResumeMode != "replay_tool_call" {
			d.Result = json.RawMessage(`{"approved":true,"note":"fine"}`)
		}
	case "interrupt":
	default:
		d.Action, d.Result = "resume", t.answer(run, p)
		if what%5 == 0 && p.Tool != "again" {
			d.Result, d.Error, d.Action = nil, "it broke", ""
		} else if what%5 == 1 && t.s.plan.declines {
			d.Result, d.Action, d.Reason = nil, "cancel", "not now"
		}
	}
	return d
}

func (t *thread) answer(run string, p wire.Pending) json.RawMessage {
	if roles[p.Tool].spec.Result != nil {
		return json.RawMessage(`{"approved":true}`)
	}
	if p.Tool != "again" {
		return core.Encode("answer to " + string(p.Arguments))
	}
	for _, old := range t.seen {
		if old.CallID == p.CallID && old.Kind == p.Kind && old.Suspension.ID != p.Suspension.ID && t.of[old.Suspension.ID] == run {
			return json.RawMessage(`"enough"`)
		}
	}
	return json.RawMessage(`"more"`)
}

// settleOne decides truly, on some approvals with other arguments, or for the calls to come as
// well.
func (t *thread) settleOne(ctx context.Context, run string, p wire.Pending) {
	d, what := t.truth(run, p), hash(string(p.Arguments), p.Tool, "how")
	if p.Kind == "approval" && d.Action == "resume" {
		if what%3 == 0 && p.ResumeMode != core.UseDecisionAsToolResult.String() {
			d.Arguments = core.Encode(map[string]json.RawMessage{"edited": p.Arguments})
		}
		// how long a grant holds depends on when the next decision is taken up
		if what%2 == 0 && p.Grantable && !t.s.plan.calm {
			d.Grant = string(core.GrantRun)
		}
	}
	if !t.s.plan.calm {
		t.forestall(ctx, run, p, d)
	}
	if what%5 == 0 {
		d.Shown = p.Fingerprint
	}
	if !t.s.plan.calm {
		t.maybeHold(p, &d)
	}
	t.decideOrDeny(ctx, run, p, d)
	t.agree(ctx, p, run, d)
	if n := len(t.undoable); d.Hold > 0 && n > 0 && t.undoable[n-1].id == d.DecisionID && t.pick(2) == 0 {
		t.someTime(ctx, d.Hold)
		t.takeBack(ctx, t.undoable[n-1])
	}
	// what was granted is not meant for this
	if d.Grant != "" && !t.s.plan.calm && t.pick(3) == 0 {
		t.say(ctx, t.s.person(starter), "and also "+t.s.w.Text(6), false)
	}
}

// forestall lets somebody else, now and then, decide alike before the approver does, also by a
// link: whoever that is may have asked for the work, or be in no list.
func (t *thread) forestall(ctx context.Context, run string, p wire.Pending, d wire.Decision) {
	switch t.pick(16) {
	case 0, 1, 2:
		d.DecisionID = "first " + t.s.w.Text(6)
		t.decide(ctx, t.answerer(p), run, d)
	case 4:
		t.misread(ctx, run, p, d)
	case 5, 6, 7:
		t.misfit(ctx, run, p, d)
	case 3:
		if p.Kind == core.KindApproval.String() {
			t.sendLink(ctx, run, p)
		}
	}
}

// refusedResult is the prefix of the ids of decisions whose results fit no schema.
const refusedResult = "misfit "

// misfit sends a result that the schema of the call refuses. The call keeps waiting, and the
// journal records the refusal.
func (t *thread) misfit(ctx context.Context, run string, p wire.Pending, d wire.Decision) {
	if p.Kind != core.KindClient.String() || roles[p.Tool].spec.Result == nil {
		return
	}
	d.DecisionID, d.Action, d.Error, d.Reason, d.Result = refusedResult+t.s.w.Text(6), "resume", "", "", json.RawMessage(`{"approved":"yes"}`)
	t.s.faults.Counts["misfits"]++
	t.decide(ctx, t.answerer(p), run, d)
}

// mistaken begins the ids of decisions whose senders read another question.
const mistaken = "mistaken "

// misread answers one question with the fingerprint of another, as a page does that was drawn
// before the call was suspended again.
func (t *thread) misread(ctx context.Context, run string, p wire.Pending, d wire.Decision) {
	d.DecisionID, d.Shown = mistaken+t.s.w.Text(6), "v1:"+hex.EncodeToString([]byte(t.s.w.Text(32)))
	for _, old := range t.seen {
		if old.Fingerprint != p.Fingerprint && old.Fingerprint != "" {
			d.Shown = old.Fingerprint
		}
	}
	t.s.faults.Counts["misread"]++
	t.decide(ctx, t.answerer(p), run, d)
}

// decideOrDeny sends the true decision. Where no caller may approve, because one without a name
// asked for the work, it is a no.
func (t *thread) decideOrDeny(ctx context.Context, run string, p wire.Pending, d wire.Decision) {
	if t.decide(ctx, t.decider(p), run, d) == refusal.CodeSeparationOfDuties {
		t.decide(ctx, t.s.person(approver), run, wire.Decision{DecisionID: "no " + d.Target, Target: d.Target, Action: "cancel", Reason: "nobody may approve it"})
	}
}

// decide sends a decision and remembers what it was told. It returns what it was refused with.
func (t *thread) decide(ctx context.Context, who frontend.Caller, run string, d wire.Decision) refusal.Code {
	request := func(ctx context.Context) (wire.DecisionAnswer, error) { return t.ruled(ctx, who, run, d) }
	answer, err := persist(ctx, t.s, request)
	t.learn(who, run, d, answer, err)
	counted := err == nil
	if counted && d.Hold > 0 && answer.AppliesAt != nil {
		t.undoable = append(t.undoable, undo{who, d.Target, d.DecisionID})
	}
	t.sent = append(t.sent, func(ctx context.Context) {
		answer, err := once(ctx, request)
		t.learn(who, run, d, answer, err)
		if code(err) == refusal.CodeSuspensionIDRequired {
			return // it named its call, which has been suspended again since
		}
		if counted && err != nil && !temporary(err) && t.s.referee.thread(t.id).held.gone[[2]string{d.Target, d.DecisionID}] == 0 {
			t.s.wrong("decision %q on %s was accepted, and its repeat got %v", d.DecisionID, d.Target, err)
		}
	})
	return code(err)
}

// ruled sends a decision once, and lets the referee judge the answer.
func (t *thread) ruled(ctx context.Context, who frontend.Caller, run string, d wire.Decision) (answer wire.DecisionAnswer, err error) {
	q := &question{who: who, run: run, decision: d, from: t.moment()}
	if asking := context.WithValue(ctx, questionKey{}, q); who.Link != nil {
		answer, err = t.s.front.DecideByLink(asking, who, wire.Decision{Action: d.Action, Reason: d.Reason})
	} else {
		answer, err = t.s.front.Decide(asking, who, run, d)
	}
	t.s.w.Note("%q decides %s with %q: is told %s", who.By, d.Target, d.DecisionID, toldOf(answer, err))
	t.s.referee.decided(t.id, q, answer, err)
	return answer, err
}

func toldOf(answer wire.DecisionAnswer, err error) string {
	if err != nil {
		return err.Error()
	}
	return answer.Code
}

// moment is the one that a question is asked in.
func (t *thread) moment() int { return t.s.referee.thread(t.id).now() }

func (t *thread) learn(who frontend.Caller, run string, d wire.Decision, answer wire.DecisionAnswer, err error) {
	sus := ""
	if _, ok := core.SuspensionSeq(d.Target); ok {
		sus = d.Target
	}
	var e *refusal.Error
	switch {
	case err == nil:
		t.told = append(t.told, toldDecision{run, answer.DecisionID, sus, answer.Code, holds.Of(who.By, who.Link)})
	case errors.As(err, &e) && e.Code == refusal.CodeAlreadyDecided:
		if e.Winner == nil || e.Winner.DecisionID == "" || e.Same == nil || *e.Same {
			t.s.wrong("already_decided without the winner: %+v", e)
			return
		}
		t.told = append(t.told, toldDecision{run: run, id: e.Winner.DecisionID, sus: sus, answer: "winner"})
	}
}
