package engine

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// askModel calls the model with the whole conversation, as the hooks have shaped the request.
func (a *activation) askModel(ctx context.Context, r plans.Request) error {
	said, err := a.transcript(ctx)
	if err != nil {
		return err
	}
	prompt := a.prompt(said.Messages(), r)
	a.speaker = a.speak(r.Step)
	heard := &heard{clock: a.e.o.Clock, next: a.speaker.take}
	prompt.Say = heard.take
	a.view.ModelAsked, a.report.Asked = true, true

	asked := a.now()
	turn, err := traced(ctx, a.e, "model", func(ctx context.Context) (core.Turn, error) {
		return watched(ctx, a, func(ctx context.Context) (core.Turn, error) { return a.agent.Model.Ask(ctx, prompt) })
	})
	a.speaker.rest(err == nil)
	// the watch has left the cancel in the view, and the run ends
	if errors.Is(err, errCancelled) && ctx.Err() == nil {
		text := heard.text()
		if text == "" {
			return nil
		}
		turn, err = core.Turn{Text: text, Cut: true, NoUsage: true, End: &core.Reason{Kind: core.Cancelled}}, nil
	}
	turn.AskedAt, turn.FirstAt, turn.EndedAt = asked, heard.firstAt(), a.now()
	if err == nil {
		a.view.Turn, a.view.UsedCallID = &turn, said.Used
		a.view.Yielded = a.yields(ctx)
		return nil
	}
	return a.noTurn(ctx, err)
}

func (a *activation) prompt(said []core.Message, r plans.Request) Prompt {
	h := a.view.Head
	p := Prompt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Step: r.Step, Instructions: a.agent.Instructions, Messages: a.view.Supplied.Show(said, h.Run, h.Born)}
	for _, text := range r.Context {
		p.Messages = append(p.Messages, core.Message{Role: core.RoleSystem, Parts: core.TextParts(text), RunID: h.Run, At: a.view.Now})
	}
	for _, tool := range a.agent.Offered {
		if r.Offers(tool.Name) {
			p.Tools = append(p.Tools, tool)
		}
	}
	p.Patient = a.patient(p.Tools)
	if o := r.Override; o != nil {
		p.Parameters = o.Parameters
		if o.Instructions != "" {
			p.Instructions = o.Instructions
		}
	}
	return p
}

// noTurn says in the view why the model returned no turn; an error gives the activation up.
func (a *activation) noTurn(ctx context.Context, err error) error {
	h := a.view.Head
	var stop *StopError
	switch {
	case errors.Is(err, ErrFenced) || ctx.Err() != nil:
		return err
	case errors.As(err, &stop):
		a.view.Failure = &plans.ModelFailure{Reason: core.Reason{Kind: core.Stopped, Code: stop.Code, Detail: stop.Detail}}
	case errors.Is(err, errDeadline), errors.Is(err, ErrTryAgain):
		a.view.Failure = a.passing(err)
	default:
		a.e.o.Logger.Error("the model failed", "run", h.Run, "error", err)
		a.view.Failure = &plans.ModelFailure{Reason: core.Reason{Kind: core.Failed, Code: "model_error", Detail: publicDetail(err)}}
	}
	return nil
}

// passing is a failure after which the model is asked again. A model that was still answering when
// the time of the activation was over does not count as an outage.
func (a *activation) passing(err error) *plans.ModelFailure {
	_, cut := errors.AsType[*CutShort](err)
	f := &plans.ModelFailure{Retryable: true, Answered: cut, Reason: core.Reason{Kind: core.Failed, Code: "model_unavailable", Detail: publicDetail(err)}}
	later, ok := errors.AsType[*TryLater](err)
	if ok {
		f.Answered, f.After = later.Answered, later.After.Milliseconds()
	}
	if f.Answered {
		f.Reason.Code = "model_error"
	}
	a.e.o.Logger.Warn("the model returned no turn", "run", a.view.Head.Run, "answered", f.Answered, "busy", ok && later.Busy,
		"failures", a.view.Head.ModelTries+1, "error", err)
	return f
}

// publicDetail is what callers may be shown of a model's failure.
func publicDetail(err error) string {
	var public *ModelError
	var later *TryLater
	var cut *CutShort
	switch {
	case errors.As(err, &public):
		return public.Detail
	case errors.As(err, &later):
		return later.Detail
	case errors.As(err, &cut):
		return "the model's answer took longer than one activation allows"
	case errors.Is(err, errDeadline):
		return "the model did not answer within one activation"
	}
	return "the model could not answer; the log of the worker has the cause"
}
