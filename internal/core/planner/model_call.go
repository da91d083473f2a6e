package planner

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// ask calls the hooks before a model call, then asks for it. What they want becomes durable with
// the turn: after a crash in between they are called again.
func (d *draft) ask() (plans.Plan, error) {
	step := d.h.Step + 1
	var e core.Effects
	for _, phase := range []core.Phase{core.StepStart, core.BeforeInference} {
		var err error
		if e, err = d.fire(core.Firing{Phase: phase, Step: step}); err != nil {
			return nil, err
		}
		if d.over == nil {
			d.over = e.End
		}
		if d.over != nil {
			return d.end(*d.over)
		}
	}
	request, _ := d.request(e, step)
	return plans.AskModel{Request: request}, nil
}

// request is what the hooks' wishes come to, and the writes that remember which context was shown.
func (d *draft) request(e core.Effects, step int) (plans.Request, []core.StateOp) {
	r := plans.Request{Step: step, Override: e.Override, Include: e.Include, Exclude: e.Exclude}
	var shown []core.StateOp
	for _, m := range e.Context {
		mark, due := d.contextDue(m, step)
		if !due {
			continue
		}
		r.Context = append(r.Context, m.Text)
		if m.Cooldown > 1 {
			shown = append(shown, mark)
		}
	}
	return r, shown
}

// lastShown is the state's memory of a context message.
type lastShown struct {
	Digest string `json:"digest"`
	Step   int    `json:"step"`
}

func (d *draft) contextDue(m core.ContextMessage, step int) (mark core.StateOp, due bool) {
	now := lastShown{Digest: core.Digest([]byte(m.Text))[:12], Step: step}
	mark = core.StateOp{Key: "dormouse.context/" + m.Key, Op: core.StateSet, Value: core.Encode(now)}
	var last lastShown
	if raw := d.state.Get(core.RunScope, mark.Key); raw == nil || json.Unmarshal(raw, &last) != nil {
		return mark, true
	}
	return mark, last.Digest != now.Digest || step-last.Step >= m.Cooldown
}
