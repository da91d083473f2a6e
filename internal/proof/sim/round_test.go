package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// The round: how many calls one turn asks for, how many of them wait, and how many callers decide
// at once.
const (
	roundCalls   = 20
	roundWaiting = 7
	roundCallers = 4
)

// round is one turn with many parallel calls, of which some wait in all three resume modes.
type round struct {
	t      *testing.T
	w      *sim.World
	faults *sim.Faults
	db     *sqlite.DB
	front  *query.Reader
	bell   *bell
	thread string

	// of the calls that wait, by the number in their arguments
	modes    map[string]core.ResumeMode
	happened map[string]core.Outcome // by call id: what its body came to
	ran      map[string]int
	// the decisions that were told that they are first, by call id
	winners map[string]wire.Decision
	asked   int
	early   string // what a model saw too early, if it did
}

func TestARoundOfManyCallsIsDecidedInAnyOrder(t *testing.T) {
	template := emptyStore(t)
	for seed := range uint64(24) {
		rate := []float64{0, 0.03, 0.1}[seed%3]
		t.Run(fmt.Sprintf("seed %d, faults %v", seed, rate), func(t *testing.T) {
			r := playRound(t, template, seed, rate)
			if !t.Failed() {
				r.check()
			}
		})
	}
}

func playRound(t *testing.T, template []byte, seed uint64, rate float64) *round {
	path := filepath.Join(t.TempDir(), "round.db")
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	w := sim.NewWorld(seed)
	r := &round{t: t, w: w, faults: sim.NewFaults(w, rate), modes: map[string]core.ResumeMode{}, happened: map[string]core.Outcome{},
		ran: map[string]int{}, winners: map[string]wire.Decision{}}
	var err error
	if r.db, err = sqlite.Open(t.Context(), path, sqlite.Options{Clock: w, Random: w, Sync: dbfile.SyncOff, Visibility: visibility, MaxAttempts: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	rng := rand.New(rand.NewPCG(seed, 7))
	for i, n := range rng.Perm(roundCalls)[:roundWaiting] {
		r.modes[fmt.Sprint(n)] = core.ResumeMode(i % 3)
	}
	r.build(t.Context())
	if err := w.Run(200_000); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *round) build(ctx context.Context) {
	r.bell = &bell{FullQueue: r.db, w: r.w, rung: make(chan struct{})}
	store, queue := sim.Store{Inner: r.db, Faults: r.faults}, sim.Queue{Inner: r.bell, Faults: r.faults}
	r.front = query.New(frontend.New(frontend.Options{Store: store, Catalog: r, Waker: queue, Clock: r.w, Random: r.w}))
	for i := range 3 {
		clock := &skewed{World: r.w}
		w := &worker{s: &stage{w: r.w, faults: r.faults, bell: r.bell}, clock: clock, store: store, queue: queue}
		w.engine = engine.New(engine.Options{Store: store, Waker: queue, Agents: r, Clock: clock, Random: r.w, Lease: lease, Margin: margin,
			Grain: sweepPeriod, Limits: unlimited, Scheduler: r.w})
		r.w.Daemon(ctx, fmt.Sprintf("worker %d", i), w.work)
	}
	r.w.Daemon(ctx, "sweep", func(ctx context.Context) { (&stage{w: r.w}).sweep(ctx, store, queue, sweepPeriod) })
	r.w.Go(ctx, "starter", r.start)
	for i := range roundCallers {
		r.w.Go(ctx, fmt.Sprintf("caller %d", i), func(ctx context.Context) { r.caller(ctx, i) })
	}
}

// Load implements [engine.Agents].
func (r *round) Load(context.Context, engine.Pin) (engine.Agent, error) {
	return engine.Agent{Rules: r, Model: roundModel{r}, Tools: map[string]engine.Tool{"plain": r, "gated": r}}, nil
}

// Newest implements [engine.Agents].
func (r *round) Newest(context.Context, string, string) (string, error) { return "v1", nil }

func (r *round) Current(_ context.Context, tenant, name string) (engine.Definition, error) {
	return engine.Definition{Tenant: tenant, Name: name, Digest: "v1", Body: json.RawMessage(`{}`)}, nil
}

func (r *round) Deployed(context.Context, string) ([]engine.Definition, error) { return nil, nil }

// Tool implements [core.Rules].
func (r *round) Tool(name string) (core.ToolSpec, bool) { return core.ToolSpec{Name: name}, true }

// Check implements [core.Rules].
func (r *round) Check(core.ToolCall) error { return nil }

// Gate implements [core.Rules].
func (r *round) Gate(call core.ToolCall, _ core.State) core.Verdict {
	if mode, waits := r.modes[string(call.Arguments)]; waits {
		return core.Verdict{Effect: core.Ask, Mode: mode}
	}
	return core.Verdict{Effect: core.Allow}
}

// Deadline implements [core.Rules].
func (r *round) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }

// Times implements [core.Rules].
func (*round) Times(*vote.Policy, int, int64) core.Times { return core.Times{} }

// Terms implements [core.Rules].
func (r *round) Terms() core.Terms { return core.Terms{Parallel: true} }

func (r *round) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

type roundModel struct{ r *round }

func (m roundModel) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	r := m.r
	r.asked++
	r.w.Yield(ctx)
	if why := sim.Malformed(p.Messages, false); why != "" {
		r.early = why
	}
	if len(p.Messages) > 1 {
		if len(p.Messages) != roundCalls+2 {
			r.early = fmt.Sprintf("%d messages", len(p.Messages))
		}
		return core.Turn{Text: "all done"}, nil
	}
	turn := core.Turn{}
	for i := range roundCalls {
		turn.Calls = append(turn.Calls, core.ToolCall{ID: fmt.Sprintf("c%d", i%6), Name: "plain", Arguments: json.RawMessage(fmt.Sprint(i))})
	}
	return turn, nil
}

// Run is every call's body.
func (r *round) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	r.ran[req.Call.ID]++
	text := "did " + string(req.Call.Arguments)
	if req.Resume != nil {
		text += " with " + string(req.Resume.Result)
	}
	out := core.Outcome{Text: text}
	r.happened[req.Call.ID] = out
	_ = r.w.Sleep(ctx, r.w.Upto(2*time.Second))
	return out, nil
}

func (r *round) start(ctx context.Context) {
	got, err := persist(ctx, &stage{w: r.w}, func(ctx context.Context) (frontend.Started, error) {
		return r.front.Start(ctx, anna, "start", wire.StartRequest{Agent: "a", Input: json.RawMessage(`"go"`)})
	})
	if err != nil {
		r.t.Errorf("the start was refused: %v", err)
	}
	r.thread = got.Run.ThreadID
}

// caller decides whatever waits, in an order of its own, until the run is done. Its decisions
// differ from those of the others.
func (r *round) caller(ctx context.Context, n int) {
	for range 2000 {
		_ = r.w.Sleep(ctx, r.w.Upto(3*time.Second))
		if r.thread == "" {
			continue
		}
		run := core.RunID(r.thread, 0)
		got, err := persist(ctx, &stage{w: r.w}, func(ctx context.Context) (wire.Run, error) { return r.front.Run(ctx, anna, run) })
		if err != nil || got.Status == core.RunDone.String() {
			return
		}
		if len(got.Pending) > 0 {
			r.decide(ctx, n, run, got.Pending[int(r.w.Upto(time.Duration(len(got.Pending)-1)))])
		}
	}
	r.t.Error("the run does not end")
}

func (r *round) decide(ctx context.Context, n int, run string, p wire.Pending) {
	d := wire.Decision{DecisionID: fmt.Sprintf("%d on %s", n, p.Suspension.ID), Target: p.Suspension.ID, Action: "resume"}
	out, happened := r.happened[p.CallID]
	switch {
	case p.Kind == "unknown_outcome" && happened:
		d.Result = core.Encode(out.Text)
	case p.Kind == "unknown_outcome":
	case hash(p.CallID, fmt.Sprint(n))%4 == 0:
		d.Action, d.Reason = "cancel", fmt.Sprintf("caller %d says no", n)
	// it takes no result
	case p.Kind == "approval" && p.ResumeMode == core.ReplayToolCall.String():
		d.Reason = fmt.Sprintf("caller %d says so", n)
	default:
		d.Result = core.Encode(fmt.Sprintf("caller %d says so", n))
	}
	answer, err := persist(ctx, &stage{w: r.w}, func(ctx context.Context) (wire.DecisionAnswer, error) { return r.front.Decide(ctx, anna, run, d) })
	var e *refusal.Error
	switch {
	case err == nil && p.Kind != "unknown_outcome":
		r.winners[answer.CallID] = d
	case err == nil:
	case !errors.As(err, &e) || e.Code != refusal.CodeAlreadyDecided && e.Code != refusal.CodeNotSuspended && e.Code != refusal.CodeStaleSuspension && e.Code != refusal.CodeRunDone:
		r.t.Errorf("a decision got %v", err)
	}
}

// check: each result is what its mode and its decision say, in call order, and the model was asked
// once more, with all of them.
func (r *round) check() {
	ctx := r.t.Context()
	h, err := r.db.Load(ctx, anna.Tenant, r.thread)
	if err != nil {
		r.t.Fatal(err)
	}
	segments, err := r.db.Segments(ctx, anna.Tenant, r.thread, 1, h.Seq)
	if err != nil {
		r.t.Fatal(err)
	}
	transcript := core.TranscriptOf(core.Messages(segments))
	if len(transcript) != roundCalls+3 || r.early != "" || h.End == nil || h.End.Kind != core.NaturalEnd {
		r.t.Fatalf("%d messages, the model saw %q, the run ended %+v", len(transcript), r.early, h.End)
	}
	if r.faults.Rate == 0 && r.asked != 2 {
		r.t.Errorf("the model was asked %d times", r.asked)
	}
	ids := map[string]bool{}
	for i, call := range transcript[1].Calls {
		ids[call.ID] = true
		result := transcript[2+i]
		if why := r.deviates(call, result); result.CallID != call.ID || why != "" {
			r.t.Errorf("call %d, %s, has the result %q of %s: %s", i, call.ID, result.Text(), result.CallID, why)
		}
	}
	if len(ids) != roundCalls || len(r.winners) != roundWaiting {
		r.t.Errorf("%d ids, %d decisions: %v", len(ids), len(r.winners), slices.Sorted(mapKeys(r.winners)))
	}
}

func (r *round) deviates(call core.ToolCall, result core.Message) string {
	did := "did " + string(call.Arguments)
	mode, waits := r.modes[string(call.Arguments)]
	won := r.winners[call.ID]
	var said string
	_ = json.Unmarshal(won.Result, &said)
	never := waits && (won.Action == "cancel" || mode == core.UseDecisionAsToolResult)
	switch n := r.ran[call.ID]; {
	case never != (n == 0), waits && n > 1, r.faults.Rate == 0 && n > 1:
		return fmt.Sprintf("its body ran %d times", n)
	case won.Action == "cancel" && (!result.Error || !strings.Contains(result.Text(), won.Reason)):
		return "it was refused: " + won.Reason
	case won.Action == "cancel":
		return ""
	case result.Error:
		return "it failed"
	case waits && mode == core.UseDecisionAsToolResult && result.Text() != said:
		return "the decision is its result: " + said
	case waits && mode == core.PassDecisionToTool && result.Text() != did+" with "+string(won.Result):
		return "the decision was for its body: " + said
	case (!waits || mode == core.ReplayToolCall) && result.Text() != did:
		return "it was only let through"
	}
	return ""
}
