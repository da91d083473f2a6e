package planner

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// unfired is the error by which a plan under construction asks for hooks: deciding stops, the
// engine calls the hooks, and deciding starts again with their answer in the view. Because deciding
// is pure, it reaches the same point.
type unfired struct{ core.Firing }

// fire returns the effects of a phase's hooks and folds them in, or returns an error that asks for
// the hooks to be called.
func (d *draft) fire(f core.Firing) (core.Effects, error) {
	i, err := d.answered(f)
	if err != nil || i < 0 {
		return core.Effects{}, err
	}
	return d.v.Fired[i].Effects, d.take(i)
}

// hooked reports whether hooks are called in a phase. After too many crashes none are, because they
// may be the cause.
func (d *draft) hooked(p core.Phase) bool { return d.v.Hooked[p] && d.h.Tries <= d.v.Limits.Claims }

// answered finds the answer to a firing in the view; -1 if no hook wants to be called, an error if
// one has yet to be.
func (d *draft) answered(f core.Firing) (int, error) {
	if !d.hooked(f.Phase) {
		return -1, nil
	}
	if f.Step == 0 {
		f.Step = d.h.Step
	}
	of := f.Digest()
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

// take folds in the effects common to all phases: writes to the state and notes for the journal.
// Answers that no commit has taken stay in the view.
func (d *draft) take(i int) error {
	d.took[i] = true
	done := d.v.Fired[i]
	e := done.Effects
	for _, note := range e.Notes {
		d.event(core.EventHookFailed, map[string]any{"detail": note}, 0)
	}
	// the bodies have run, and after a conflict there is no state to continue from
	if e.Conflict != "" {
		d.event(core.EventHookFailed, map[string]any{"detail": core.Conflict(e.Conflict).Error()}, 0)
		d.over = &core.Reason{Kind: core.Failed, Code: "state_conflict", Detail: core.Conflict(e.Conflict).Error()}
		return nil
	}
	if err := d.checkState(e.State); err != nil {
		d.event(core.EventHookFailed, map[string]any{"detail": done.Phase.String() + ": the hooks' writes were discarded: " + err.Error()}, 0)
		return nil
	}
	d.writeState(e.State)
	return nil
}

// takeFired takes the answers of a phase, of one call if that is named, and returns the last.
func (d *draft) takeFired(p core.Phase, call string) (e core.Effects, err error) {
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
func (d *draft) untaken() (rest []core.Fired) {
	for i, done := range d.v.Fired {
		if !d.took[i] {
			rest = append(rest, done)
		}
	}
	return rest
}

// Join combines the effects of a phase's hooks in their order. The first hook that ends the run,
// refuses or waits counts; a tool is offered only if every hook offers it; and if two hooks wrote
// one exclusive key, all effects are discarded.
func Join(wishes []core.Effects) core.Effects {
	var all core.Effects
	writers := make([][]core.StateOp, len(wishes))
	for i, e := range wishes {
		if err := core.CheckOps(e.State); err != nil {
			e.State, all.Notes = nil, append(all.Notes, err.Error())
		}
		writers[i] = e.State
		all.Context = append(all.Context, e.Context...)
		all.Override = overlay(all.Override, e.Override)
		all.Include = bothInclude(all.Include, e.Include)
		all.Exclude = append(all.Exclude, e.Exclude...)
		all.Drop = append(all.Drop, e.Drop...)
		all.Notes = append(all.Notes, e.Notes...)
		all.Refuse = cmp.Or(all.Refuse, e.Refuse)
		all.Append = joinLines(all.Append, e.Append)
		if all.End == nil {
			all.End = endWish(e.End)
		}
		if all.Wait == nil {
			all.Wait = e.Wait
		}
	}
	ops, err := core.Merge(writers...)
	if torn, ok := errors.AsType[core.Conflict](err); ok {
		return core.Effects{Notes: all.Notes, Conflict: string(torn)}
	}
	all.State = ops
	return all
}

// endWish is a reason that a run can end with; a hook that gives none still asks for the end.
func endWish(r *core.Reason) *core.Reason {
	if r == nil || r.Kind != core.Suspended && r.Kind.String() != "" && int(r.Kind) < len(core.ReasonNames) {
		return r
	}
	return &core.Reason{Kind: core.BehaviorRequested, Code: r.Code, Detail: r.Detail}
}

func overlay(under, over *core.Override) *core.Override {
	if under == nil || over == nil {
		return cmp.Or(over, under)
	}
	return &core.Override{Instructions: cmp.Or(over.Instructions, under.Instructions), Parameters: mergedParameters(under.Parameters, over.Parameters)}
}

func mergedParameters(under, over map[string]any) map[string]any {
	merged := core.CloneMap(under)
	maps.Copy(merged, over)
	return merged
}

// bothInclude returns the tools in both lists. An empty list means all tools, so the result for no
// common tool is a list with an empty name.
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

func (unfired) Error() string { return "core: hooks must be called first" }
