package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/events"
)

// startRun calls the hooks of a run's start, once.
func (d *draft) startRun() error {
	if d.h.StartHooksDone {
		return nil
	}
	if d.h.Step == 0 && d.h.Activations == 0 {
		effects, err := d.fire(core.Firing{Phase: core.RunStart})
		if err != nil {
			return err
		}
		if effects.RecallFailed != "" {
			d.event(core.EventMemoryFailed, map[string]any{"detail": effects.RecallFailed}, 0)
		}
		if effects.Recall != "" {
			d.message(core.Message{Role: core.RoleSystem, Parts: core.TextParts(effects.Recall)})
		}
		if effects.End != nil {
			d.over = effects.End
		}
		if t := effects.Wait; t != nil {
			if err := d.suspendRun(kindOf(t.ResumeMode), *t); err != nil {
				return err
			}
		}
	}
	d.h.StartHooksDone = true
	return nil
}

// recordStart journals who started the run. It reports whether nothing else is to be added: a retry
// has no input and goes on from the journal as it is.
func (d *draft) recordStart(s delivery, parts []core.Part) (retry bool) {
	if s.Kind != core.SignalStart {
		return false
	}
	d.event(core.EventRunStarted, events.RunStarted{By: s.By, Via: s.Via, RetryOf: d.h.RetryOf, Tools: d.v.Supplied.Tools, Context: d.v.Supplied.Context}, 0)
	d.writeState(d.v.Supplied.Writes())
	if len(parts) > 0 {
		return false
	}
	d.h.ModelSawAll = false
	return true
}
