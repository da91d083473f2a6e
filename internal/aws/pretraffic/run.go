package pretraffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// discardTime leaves enough of the time that is reserved for the report.
const discardTime = 3 * time.Second

// mostSteps is above what the script needs, also if a policy makes the run ask more.
const mostSteps = 8

var caller = frontend.Caller{Tenant: tenant, By: "codedeploy", Via: "deploy"}

// once lets the version carry one run to its end. What the run has stored is deleted, whatever
// came of it.
func (h *Hook) once(ctx context.Context) error {
	if err := h.o.Store.PutDefinition(ctx, definition); err != nil {
		return fmt.Errorf("%w: %w", errUndecided, err)
	}
	started, err := h.front.Start(ctx, caller, "", wire.StartRequest{Agent: scripted.Name, Input: core.Encode("test")})
	if err != nil {
		return fmt.Errorf("%w: starting a run: %w", errUndecided, err)
	}
	run := started.Run
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
		defer cancel()
		if err := h.o.Discard(within, run.ThreadID); err != nil {
			h.o.Logger.Warn("what a test has stored could not be deleted; no caller sees it", "thread", run.ThreadID, "error", err)
		}
	}()
	ends, alone, head := []core.ReasonKind{core.NaturalEnd}, true, core.Head{}
	for range mostSteps {
		head, err = h.step(ctx, run, head.Epoch, alone)
		switch {
		case err != nil:
			return err
		case head.Status == core.RunDone && head.End != nil && slices.Contains(ends, head.End.Kind):
			return nil
		case head.Status == core.RunDone:
			return fmt.Errorf("the run ended otherwise than it should: %+v", head.End)
		}
		if head.Status == core.RunWaiting {
			err = h.answer(ctx, head)
		} else { // it goes on by a wake-up, which the old version may get
			alone, err = false, errNotAnswered
		}
		if errors.Is(err, errNotAnswered) {
			ends = append(ends, core.Cancelled)
			_, err = h.front.Cancel(ctx, caller, run.ID)
		}
		if err != nil {
			return fmt.Errorf("%w: answering the run: %w", errUndecided, err)
		}
	}
	if err = fmt.Errorf("the run has not ended after %d steps", mostSteps); !alone {
		err = fmt.Errorf("%w: %w", errUndecided, err)
	}
	return err
}

// step lets the version perform one step, and returns the run as it is then. Alone, no other
// version may have claimed the run since the epoch, and none may claim it now.
func (h *Hook) step(ctx context.Context, run wire.Run, epoch int64, alone bool) (core.Head, error) {
	before, err := h.load(ctx, run)
	if err == nil && alone && before.Epoch != epoch {
		err = errShared
	}
	if err != nil {
		return before, err
	}
	event := core.Encode(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "pretraffic", Body: string(core.Encode(engine.Wakeup{Tenant: tenant, Thread: run.ThreadID})),
		EventSource: "aws:sqs", Attributes: map[string]string{"ApproximateReceiveCount": "1"}}}})
	answer, failed, err := h.o.Step.Invoke(ctx, event)
	if err != nil {
		return before, fmt.Errorf("%w: invoking it: %w", errUndecided, err)
	}
	if failed {
		return before, fmt.Errorf("the version failed: %s", clipped(answer))
	}
	var said events.SQSEventResponse
	if err := json.Unmarshal(answer, &said); err != nil {
		return before, fmt.Errorf("the version answered %s, which is no answer to messages", clipped(answer))
	}
	after, err := h.load(ctx, run)
	switch {
	case err != nil:
		return after, err
	case alone && len(said.BatchItemFailures) == 0 && (after.Epoch != before.Epoch+1 || after.Lease != 0):
		return after, errShared
	case len(said.BatchItemFailures) > 0:
		return after, errors.New("the version could not perform a step; its log says why")
	}
	return after, nil
}

var errShared = fmt.Errorf("%w: another version took part in its run", errUndecided)

func (h *Hook) load(ctx context.Context, run wire.Run) (core.Head, error) {
	head, err := h.o.Store.Load(ctx, tenant, run.ThreadID)
	if err != nil {
		return head, fmt.Errorf("%w: reading the run: %w", errUndecided, err)
	}
	return head, nil
}

// errNotAnswered means that the hook may not answer.
var errNotAnswered = errors.New("others are to answer the run")

// answer answers what the run waits for. A policy may make it ask what the script doesn't, and of
// people that the hook isn't.
func (h *Hook) answer(ctx context.Context, head core.Head) error {
	for _, call := range head.Calls {
		if call.Status != core.CallSuspended {
			continue
		}
		d := wire.Decision{Target: call.Sus, Result: core.Encode("confirmed")}
		if call.Kind == core.KindApproval {
			d = wire.Decision{Target: call.Sus, Action: "resume"}
		}
		_, err := h.front.Decide(ctx, caller, head.Run, d)
		switch {
		case err == nil:
		case errors.As(err, new(*refusal.Error)) && !errors.Is(err, engine.ErrUnavailable):
			return errNotAnswered
		default:
			return err
		}
	}
	return nil
}

// mostShown is how much of an answer the log gets.
const mostShown = 1000

func clipped(answer []byte) []byte { return answer[:min(len(answer), mostShown)] }
