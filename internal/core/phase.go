package core

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// Phase is a place in the life of a run where hooks are called. They are called in this order; the middle of it comes
// once for each step, and the three of a call once for each call of the step.
type Phase uint8

const (
	RunStart          Phase = iota // once, before anything else of the run
	StepStart                      // before a step's model call
	BeforeInference                // the last chance to shape the request, or to end without it
	AfterInference                 // the model has answered and nothing is committed yet
	ToolGate                       // may this call run? Pure, and asked again before the body if the state has changed
	BeforeToolExecute              // the body of this call is about to run
	AfterToolExecute               // this call has a result, whether its body ran or not
	StepEnd                        // after the round of the step, also when it has to wait
	RunEnd                         // once, when nothing can keep the run from ending any more
)

var phaseNames = []string{"run_start", "step_start", "before_inference", "after_inference", "tool_gate", "before_tool_execute", "after_tool_execute", "step_end", "run_end"}

// Phases are all phases, in their order.
var Phases = []Phase{RunStart, StepStart, BeforeInference, AfterInference, ToolGate, BeforeToolExecute, AfterToolExecute, StepEnd, RunEnd}

func (p Phase) String() string                { return name(phaseNames, uint8(p)) }
func (p Phase) MarshalText() ([]byte, error)  { return marshalName("phase", phaseNames, uint8(p)) }
func (p *Phase) UnmarshalText(b []byte) error { return unmarshalName("phase", phaseNames, b, p) }

// phaseWords say of each phase when its hooks are called and which of their effects count. docs/phases.md is generated from them.
var phaseWords = map[Phase]struct {
	when    string
	effects []string
}{
	RunStart:          {"once per run, with its input at hand, before the first step; not when a run is gone on with", []string{"state", "end", "wait"}},
	StepStart:         {"before each model call; not when a round is gone on with", []string{"state", "end"}},
	BeforeInference:   {"directly before the model is asked", []string{"state", "context", "override", "include", "exclude", "end"}},
	AfterInference:    {"the model has answered, nothing is committed, and the stop rules have not looked yet", []string{"state", "drop", "end"}},
	ToolGate:          {"for each call whose arguments are valid, again when its turn comes if the state has changed since, and when it comes back with a decision; must be pure", nil},
	BeforeToolExecute: {"for each call whose body is about to run; on replay again, unless what it wanted is already committed", []string{"state", "refuse"}},
	AfterToolExecute:  {"for each call that has an outcome, whether its body ran or not, also when it waits by itself", []string{"state", "append"}},
	StepEnd:           {"after the tool round of a step, also when it has to wait; not again when it is gone on with", []string{"state", "end"}},
	RunEnd:            {"once per run, whatever ends it, when nothing can keep it from ending any more", []string{"state"}},
}

// Firing asks for the hooks of one phase. Only the members of the phase are set.
type Firing struct {
	Phase   Phase
	Step    int
	State   State     // as the hooks of this phase see it: none sees what another of the same phase writes
	Call    *ToolCall // of the three tool phases, with the arguments that run
	Outcome *Outcome  // AfterToolExecute
	Turn    *Turn     // AfterInference
	Reason  *Reason   // RunEnd
	Rev     int64     // StepEnd: of the head; what happened since another commit it has not seen
}

// Effects are what the hooks of one phase want. Which members count depends on the phase.
type Effects struct {
	State []StateOp

	// BeforeInference. Context is shown to the model in this request only; Override and the tool lists live for this step.
	Context  []ContextMessage
	Override *Override
	Include  []string // offer these tools only; empty: all
	Exclude  []string // but not these

	End  *Reason  // StepStart, BeforeInference, AfterInference, StepEnd: end the run
	Drop []string // AfterInference: calls that are taken out of the turn before it is committed

	Refuse string // BeforeToolExecute: why the call fails instead of running

	Append string // AfterToolExecute: text added to the result, for the model to see

	Wait   *SuspendTicket // RunStart: the run waits for an answer before its first step; no tells it to end
	Recall string         // RunStart: what is remembered of earlier runs, for the model

	RecallFailed string // RunStart: why that is not known

	Notes    []string // failures of hooks that do not stop the run, for the journal
	Conflict string   // two hooks wrote one exclusive key; nothing of the phase counts, and the run ends
}

// ContextMessage is text for the model that is no part of the conversation. With a cooldown of n, the same text under the same key
// is left out of the n-1 requests that follow.
type ContextMessage struct {
	Key      string
	Text     string
	Cooldown int
}

// Override changes one request. What is not set stays.
type Override struct {
	Instructions string         // in place of the agent's
	Parameters   map[string]any // for the model's adapter
}

// Fired is a firing's answer, as the view carries it until a commit contains it.
type Fired struct {
	Phase Phase
	Call  string // of the tool phases
	Of    string // what exactly it answers
	Effects
}

// Answer is the effects of f's hooks as the view carries them.
func (f Firing) Answer(e Effects) Fired {
	fired := Fired{Phase: f.Phase, Of: f.digest(), Effects: e}
	if f.Call != nil {
		fired.Call = f.Call.ID
	}
	return fired
}

// digest tells apart two firings of one phase between two commits: the outcome that was seen may not be the one that stands, if
// a signal comes in between.
func (f Firing) digest() string {
	of := map[string]any{"step": f.Step, "rev": f.Rev, "call": f.Call, "reason": f.Reason}
	if out := f.Outcome; out != nil {
		of["outcome"] = []any{out.Text, out.Failed, out.Ticket != nil}
	}
	return Digest(Encode(of))[:16]
}

// unfired is how a plan in the making asks for hooks: deciding stops, the hooks are called, and deciding begins again with
// their answer in the view, where this time it finds it. Deciding being pure, it comes to the same place.
type unfired struct{ Firing }

func (unfired) Error() string { return "core: hooks must be called first" }

// fire returns what the hooks of a phase want and folds it in, or says, as an error, that they have to be called.
func (d *draft) fire(f Firing) (Effects, error) {
	i, err := d.answered(f)
	if err != nil || i < 0 {
		return Effects{}, err
	}
	return d.v.Fired[i].Effects, d.take(i)
}

// hooked says whether hooks are called in a phase. When the process was lost again and again they may be why, and none is.
func (d *draft) hooked(p Phase) bool { return d.v.Hooked[p] && d.h.Tries <= d.v.Limits.Claims }

// answered finds the answer to a firing in the view; -1 if no hook wants to be called, an error if one has yet to be.
func (d *draft) answered(f Firing) (int, error) {
	if !d.hooked(f.Phase) {
		return -1, nil
	}
	if f.Step == 0 {
		f.Step = d.h.Step
	}
	of := f.digest()
	for i, done := range d.v.Fired {
		if done.Phase == f.Phase && done.Of == of {
			return i, nil
		}
	}
	if f.State.Run == nil {
		f.State = d.state
	}
	f.State = f.State.Clone()
	return -1, unfired{f}
}

// take folds in what every phase may want: writes to the state, and notes for the journal. What is not taken by a commit is still in
// the view after it.
func (d *draft) take(i int) error {
	d.took[i] = true
	done := d.v.Fired[i]
	e := done.Effects
	for _, note := range e.Notes {
		d.event(EventHookFailed, map[string]any{"detail": note}, 0)
	}
	if e.Conflict != "" { // what bodies did stands, and nobody goes on from a state that nobody knows
		d.event(EventHookFailed, map[string]any{"detail": conflict(e.Conflict).Error()}, 0)
		d.over = &Reason{Kind: Failed, Code: "state_conflict", Detail: conflict(e.Conflict).Error()}
		return nil
	}
	if err := d.checkState(e.State); err != nil {
		d.event(EventHookFailed, map[string]any{"detail": done.Phase.String() + ": nothing was kept of what hooks wrote: " + err.Error()}, 0)
		return nil
	}
	d.writeState(e.State)
	return nil
}

// takeFired takes the answers of a phase, of one call if that is named, and returns the last.
func (d *draft) takeFired(p Phase, call string) (e Effects, err error) {
	for i, done := range d.v.Fired {
		if done.Phase == p && (call == "" || done.Call == call) {
			if e = done.Effects; !d.took[i] {
				err = errors.Join(err, d.take(i))
			}
		}
	}
	return e, err
}

// untaken are the answers that no commit contains yet.
func (d *draft) untaken() (rest []Fired) {
	for i, done := range d.v.Fired {
		if !d.took[i] {
			rest = append(rest, done)
		}
	}
	return rest
}

// conflict is two writes of one exclusive key that nobody put into an order.
type conflict string

func (c conflict) Error() string { return "conflict: " + string(c) }

// Join makes one wish of what the hooks of a phase want, in their order. The first that ends the run, refuses or waits counts; what is
// offered is what every hook offers; and if two wrote one exclusive key, nothing of it counts.
func Join(wishes []Effects) Effects {
	var all Effects
	writers := make([][]StateOp, len(wishes))
	for i, e := range wishes {
		if err := checkOps(e.State); err != nil {
			e.State, all.Notes = nil, append(all.Notes, err.Error())
		}
		writers[i] = e.State
		all.Context = append(all.Context, e.Context...)
		all.Override = overlay(all.Override, e.Override)
		all.Include = bothInclude(all.Include, e.Include)
		all.Exclude = append(all.Exclude, e.Exclude...)
		all.Drop = append(all.Drop, e.Drop...)
		all.Notes = append(all.Notes, e.Notes...)
		all.Refuse = orElse(all.Refuse, e.Refuse)
		all.Append = joinLines(all.Append, e.Append)
		if all.End == nil {
			all.End = endWish(e.End)
		}
		if all.Wait == nil {
			all.Wait = e.Wait
		}
	}
	ops, err := Merge(writers...)
	if torn, ok := errors.AsType[conflict](err); ok {
		return Effects{Notes: all.Notes, Conflict: string(torn)}
	}
	all.State = ops
	return all
}

// endWish is a reason that a run can end with; a hook that gives none still asks for the end.
func endWish(r *Reason) *Reason {
	if r == nil || r.Kind != Suspended && r.Kind.String() != "" && int(r.Kind) < len(reasonNames) {
		return r
	}
	return &Reason{Kind: BehaviorRequested, Code: r.Code, Detail: r.Detail}
}

func overlay(under, over *Override) *Override {
	if under == nil || over == nil {
		return cmp.Or(over, under)
	}
	return &Override{Instructions: orElse(over.Instructions, under.Instructions), Parameters: mergedParameters(under.Parameters, over.Parameters)}
}

func mergedParameters(under, over map[string]any) map[string]any {
	merged := cloneMap(under)
	maps.Copy(merged, over)
	return merged
}

// bothInclude is what two lists of tools have in common; an empty list is all tools, so nothing in common is a list of no tool.
func bothInclude(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	common := slices.DeleteFunc(slices.Clone(a), func(tool string) bool { return !slices.Contains(b, tool) })
	if len(common) == 0 {
		return []string{""}
	}
	return common
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
