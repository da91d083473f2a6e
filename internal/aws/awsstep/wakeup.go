package awsstep

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

// step performs one step of the run that a wake-up names. It returns nil if the wake-up is done,
// which includes stale ones. A message that is not ours fails each time, until the queue moves it
// to the dead letters.
func (i *invocation) step(ctx context.Context, m events.SQSMessage) error {
	w, err := sqsqueue.ReadWakeup(m.Body)
	if err != nil {
		i.Counts.Add(emf.Unreadable, 1)
		return err
	}
	i.lag(m)
	inTime, cancel := stack.InTime(ctx)
	defer cancel()
	report, err := i.engine(i.Log).Step(inTime, w)
	i.account(report, err)
	return err
}

// lag measures how long a wake-up waited in its queue after it was due. One that comes again has
// waited for its own step.
func (i *invocation) lag(m events.SQSMessage) {
	sent, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
	if err != nil || i.now == nil || stack.Receives(m) > 1 {
		return
	}
	due := time.UnixMilli(sent)
	if delay := m.MessageAttributes[sqsqueue.AttributeDelay].StringValue; delay != nil {
		seconds, _ := strconv.Atoi(*delay)
		due = due.Add(time.Duration(seconds) * time.Second)
	}
	i.Counts.Add(emf.WakeLagSeconds, max(0, i.now().Sub(due)).Seconds())
}

// account counts and logs the result of a step.
func (i *invocation) account(r engine.Report, err error) {
	switch {
	case errors.Is(err, engine.ErrNoTime):
		return
	case err != nil:
		i.Counts.Add(emf.StepErrors, 1)
	case r.Outcome == engine.Dropped:
		i.Counts.Add(emf.ClaimsLost, 1)
		i.Log.Info("a wake-up found nothing to do", "thread", r.Thread)
		return
	default:
		i.Counts.Add(emf.Steps, 1)
	}
	if r.Run == "" {
		return
	}
	if err == nil && empty(r) {
		i.Counts.Add(emf.EmptySteps, 1)
	}
	i.work(r)
	i.Log.Info("step", "run", r.Run, "thread", r.Thread, "step", r.Step, "epoch", r.Epoch, "attempt", r.Attempt, "outcome", r.Outcome,
		"status", r.Status.String(), "commits", r.Commits, "asked", r.Asked, "bodies", r.Bodies,
		"input_tokens", r.InputTokens, "output_tokens", r.OutputTokens)
}

// empty says that a step did nothing but claim its run and release it. One now and then is usual:
// the wake-up of a signal that another step took. Many are a circle.
func empty(r engine.Report) bool {
	return r.Outcome == engine.Released && r.Commits <= 1 && !r.Asked && r.Bodies == 0 && r.End == nil && r.Waited == 0 && r.Decided == 0
}

// work counts the work on a run that was claimed.
func (i *invocation) work(r engine.Report) {
	add := i.Counts.Add
	add(emf.Commits, float64(r.Commits))
	add(emf.ToolCalls, float64(r.Bodies))
	add(emf.InputTokens, float64(r.InputTokens))
	add(emf.OutputTokens, float64(r.OutputTokens))
	if r.Asked {
		add(emf.ModelCalls, 1)
	}
	if r.TookOver {
		add(emf.Takeovers, 1)
	}
	if r.Waited > 0 {
		add(emf.Waits, 1)
		add(emf.WaitSeconds, r.Waited.Seconds())
	}
	if r.Decided > 0 {
		add(emf.DecisionToStepSeconds, r.Decided.Seconds())
	}
	if r.End != nil {
		add(emf.RunsDone, 1)
		if r.End.Kind == core.Failed {
			add(emf.RunsFailed, 1)
		}
	}
}
