package core

// startRun calls the hooks of a run's start, once.
func (d *draft) startRun() error {
	if d.h.StartHooksDone {
		return nil
	}
	if d.h.Step == 0 && d.h.Activations == 0 {
		effects, err := d.fire(Firing{Phase: RunStart})
		if err != nil {
			return err
		}
		if effects.RecallFailed != "" {
			d.event(EventMemoryFailed, map[string]any{"detail": effects.RecallFailed}, 0)
		}
		if effects.Recall != "" {
			d.message(Message{Role: RoleSystem, Parts: TextParts(effects.Recall)})
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

// runStarted is the data of a run.started event.
type runStarted struct {
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	RetryOf string `json:"retry_of,omitempty"`
}
