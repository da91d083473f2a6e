package frontend

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// mayStart refuses a caller who is not among the starters of the agent, with [CodeNotAStarter].
func (f *Frontend) mayStart(ctx context.Context, c Caller, def engine.Definition) error {
	if f.starters == nil {
		return nil
	}
	starters, err := try(ctx, f, func() ([]string, error) { return f.starters(ctx, def) })
	if err != nil || len(starters) == 0 || c.listed(starters) {
		return err
	}
	return refuse(CodeNotAStarter, "%s lets only its starters start runs and send messages, and %s is not one of them; "+
		"ask the author to add it to starters", def.Name, c.name())
}

func (c Caller) listed(callers []string) bool {
	return access.Listed(callers, c.By, c.Roles) || slices.ContainsFunc(c.behind(), func(by string) bool { return access.Listed(callers, by, nil) })
}

// behind is the maker of the link that the caller answers by. Lists of callers and separation of duties apply to the caller if they
// apply to the maker.
func (c Caller) behind() []string {
	if c.Link == nil {
		return nil
	}
	return []string{makerOf(*c.Link)}
}

// name is the caller as an error names it.
func (c Caller) name() string {
	if c.By == "" {
		return "a caller without a name"
	}
	return c.By
}

// mayApprove refuses a caller who may not say that a call runs: one who is not among the approvers of the agent, with
// [CodeNotAnApprover], or, where the rule that asks bars who asked for the work, one of those, with [CodeSeparationOfDuties]. Every
// caller who may decide may deny.
func (f *Frontend) mayApprove(ctx context.Context, c Caller, p place, call core.SuspendedCall, d core.Resume) error {
	if d.Action != core.ActionResume || call.Kind != core.KindApproval && call.Kind != core.KindUnknownOutcome {
		return nil
	}
	if len(call.Approvers) > 0 && !c.listed(call.Approvers) {
		return refuse(CodeNotAnApprover, "only the agent's approvers may approve %s, and %s is not one of them; "+
			"ask one of them, or deny the call", call.ToolName, c.name())
	}
	if call.NotBy != core.NotByStarter {
		return nil
	}
	persons := append([]string{c.By}, c.behind()...)
	if slices.Contains(persons, "") {
		return refuse(CodeSeparationOfDuties, "%s must be approved by a caller other than the one who asked for it, and callers without "+
			"a token have no names, nor have the links they make; use a token of another name", call.ToolName)
	}
	askers, err := f.askers(ctx, p)
	if err != nil {
		return err
	}
	if slices.Contains(askers, "") {
		return refuse(CodeSeparationOfDuties, "%s must be approved by a caller other than the one who asked for it, and a caller without a name "+
			"started this run or sent it a message; start another run with a token", call.ToolName)
	}
	for _, by := range persons {
		if slices.Contains(askers, by) {
			return refuse(CodeSeparationOfDuties, "%s must be approved by a caller who did not ask for it; %s started this run or sent it a message; ask another approver, or deny the call",
				call.ToolName, by)
		}
	}
	return nil
}

// askers are all who asked for the work of a run: who started or retried it, who sent it messages, and the same of the runs that it
// is a retry of. The names of callers without one are empty. It reads the journal of the run, so it is for rules that need it.
func (f *Frontend) askers(ctx context.Context, p place) ([]string, error) {
	var askers []string
	add := func(by string) {
		if !slices.Contains(askers, by) {
			askers = append(askers, by)
		}
	}
	for _, s := range p.head.Inbox {
		if p.current && (s.Kind == core.SignalMessage || s.Kind == core.SignalStart) {
			add(s.By)
		}
	}
	for from := p; ; {
		err := f.journal(ctx, from, from.record.Seq0+1, func(s core.Segment) bool {
			for _, e := range s.Events {
				if e.Type == core.EventRunStarted || e.Type == core.EventMessageReceived || e.Type == core.EventMessageQueued {
					add(byOf(e))
				}
			}
			return true
		})
		if err != nil || from.record.RetryOf == "" {
			return askers, err
		}
		if from, err = f.find(ctx, Caller{Tenant: p.head.Tenant}, from.record.RetryOf); err != nil {
			return nil, err
		}
	}
}

func byOf(e core.Event) string {
	var who struct {
		By string `json:"by"`
	}
	_ = json.Unmarshal(e.Data, &who)
	return who.By
}
