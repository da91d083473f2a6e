package planner

import (
	"errors"

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

func (unfired) Error() string { return "core: hooks must be called first" }
