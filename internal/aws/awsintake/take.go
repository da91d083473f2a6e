package awsintake

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/queue/intake"
	"github.com/dormouse-dev/dormouse/internal/queue/sqsqueue"
)

// take starts the runs that a message of the intake queue requests. Each part of an event has its
// own result, see [intake.Whole].
func (i *invocation) take(ctx context.Context, m events.SQSMessage) (gone bool, err error) {
	requests := intake.Requests([]byte(m.Body), i.settings.Agent)
	if len(requests) == 0 {
		i.Log.Info("a message of the intake queue is empty and is dropped", "message", m.MessageId)
	}
	results := make([]intake.Result, len(requests))
	inTime, cancel := stack.InTime(ctx)
	defer cancel()
	for n, o := range requests {
		results[n] = i.result(inTime, m, o)
	}
	if whole, stays := intake.Whole(results); stays {
		whole.After = max(whole.After, stack.Backoff(m, i.Chance()))
		return i.queue.Move(ctx, delivery(m, i.settings.Tenant, []byte(m.Body)), whole)
	}
	if len(requests) == 1 && results[0].Outcome == intake.Busy {
		return i.busy(ctx, m, requests[0], results[0])
	}
	for n, o := range requests {
		if _, moveErr := i.queue.Move(ctx, delivery(m, i.settings.Tenant, o.Origin), results[n]); moveErr != nil {
			// the other parts move all the same: the message may end as a dead letter
			err = errors.Join(err, moveErr)
			continue
		}
		i.settled(m, results[n])
	}
	return err == nil, err
}

// busy returns a message to the queue with growing delays, as often as the queue allows before it
// would become a dead letter, and then sends it again as a new message. SQS may duplicate a
// message, and a duplicate is duplicated again with each new message, so there should be few of
// those.
func (i *invocation) busy(ctx context.Context, m events.SQSMessage, o intake.Request, f intake.Result) (gone bool, err error) {
	n := stack.Receives(m)
	f.After = min(intake.Longer(f.After, min(n, maxFailures)), sqsqueue.MaxDelay)
	if n < maxFailures {
		err = i.Return(ctx, m, f.After)
	} else {
		gone, err = i.queue.Move(ctx, delivery(m, i.settings.Tenant, o.Origin), f)
	}
	if err == nil {
		i.settled(m, f)
	}
	return gone, err
}

func (i *invocation) result(ctx context.Context, m events.SQSMessage, o intake.Request) intake.Result {
	if o.Refused != nil {
		return *o.Refused
	}
	handler := intake.Handler{Starter: i.starter, Log: i.Log, MaxFailures: maxFailures}
	decided := handler.Decide(ctx, delivery(m, i.settings.Tenant, o.Message))
	if decided.Outcome == intake.Failed && decided.Code == intake.CodeInternal {
		i.Counts.Add(emf.IntakeErrors, 1)
	}
	return decided
}

// delivery converts a message for package intake. The tenant is that of the queue.
func delivery(m events.SQSMessage, tenant string, body []byte) intake.Delivery {
	d := intake.Delivery{ID: m.MessageId, Receipt: m.ReceiptHandle, Tenant: tenant, Body: body, Attempts: stack.Receives(m)}
	if returned := m.MessageAttributes[sqsqueue.AttributeReturned].StringValue; returned != nil {
		d.Returned = sqsqueue.ReadReturned(*returned)
	}
	return d
}

// settled counts and logs a result that was applied.
func (i *invocation) settled(m events.SQSMessage, f intake.Result) {
	switch f.Outcome {
	case intake.Started:
		i.Counts.Add(emf.RunsStarted, 1)
		i.Log.Info("a message of the intake queue started a run", "message", m.MessageId, "run", f.Run)
	case intake.Busy:
		i.Counts.Add(emf.IntakeBusy, 1)
		i.Log.Info("a message of the intake queue comes again", "message", m.MessageId, "code", f.Code, "in", f.After.String())
	case intake.Dead:
		i.Counts.Add(emf.IntakeDead, 1)
		i.Log.Warn("a message of the intake queue was moved to the dead letters", "message", m.MessageId, "code", f.Code, "reason", f.Detail)
	}
}
