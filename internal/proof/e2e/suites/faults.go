package suites

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/faultproxy"
)

// FaultsSuite is the name of the suite that makes calls to DynamoDB and SQS fail. It runs only if
// it is asked for, because of its proxies.
const FaultsSuite = "faults"

// Faults are how often something goes wrong, as shares from 0 to below 1.
type Faults struct {
	Throttle float64 // of the functions' calls to DynamoDB and SQS
	Lose     float64 // of these calls, which are carried out and not answered
	Double   float64 // of messages, which a function gets twice at once
}

// Faulted is what went wrong on purpose.
type Faulted struct {
	faultproxy.Counts
	Doubled int64 `json:"doubled"` // messages
}

// faults: the load of the torture, while calls to DynamoDB and SQS are throttled, answers get lost
// and messages come twice. Afterwards the queues are empty, those for dead letters included.
func faults(ctx context.Context, t *Target, b *book) {
	if t.Proxies == nil {
		b.say("not run: the stack runs elsewhere, and nothing can be put between it and its services")
		return
	}
	set := func(r faultproxy.Rates) {
		for _, p := range t.Proxies {
			p.Set(r)
		}
	}
	before := t.faultedSoFar()
	set(faultproxy.Rates{Throttle: t.Faults.Throttle, Lose: t.Faults.Lose})
	defer set(faultproxy.Rates{})
	b.say("%.3g of calls are throttled, %.3g of answers lost, %.3g of messages doubled", t.Faults.Throttle, t.Faults.Lose, t.Faults.Double)
	t.torture(ctx, b, FaultsSuite, func() { set(faultproxy.Rates{}) })
	set(faultproxy.Rates{})
	now := t.faultedSoFar()
	b.report.Faults = Faulted{now.Counts.Minus(before.Counts), now.Doubled - before.Doubled}
	b.check("calls were throttled, answers lost and messages doubled", t.Faults.met(b.report.Faults))
	b.check("the queues are empty, and so are those for dead letters", until(ctx, drainLimit, func() error { return t.drained(ctx) }))
}

// met says which fault was asked for and did not happen: nothing was shown about it.
func (f Faults) met(n Faulted) error {
	var err error
	for _, one := range []struct {
		what  string
		share float64
		n     int64
	}{{"throttled a call", f.Throttle, n.Throttled}, {"lost an answer", f.Lose, n.Lost}, {"doubled a message", f.Double, n.Doubled}} {
		if one.share > 0 && one.n == 0 {
			err = errors.Join(err, fmt.Errorf("nothing has %s in %d calls; use a longer --for", one.what, n.Calls))
		}
	}
	return err
}

func (t *Target) faultedSoFar() (n Faulted) {
	for _, p := range t.Proxies {
		n.Counts = n.Counts.Plus(p.Counts())
	}
	n.Doubled = t.Doubled()
	return n
}

// faulted is a part of a line of progress.
func (t *Target) faulted() string {
	if t.Proxies == nil {
		return ""
	}
	n := t.faultedSoFar()
	return fmt.Sprintf("; %d calls, %d throttled, %d answers lost, %d messages doubled", n.Calls, n.Throttled+n.Partial, n.Lost, n.Doubled)
}

// drainLimit is above the visibility of messages whose function was killed.
const drainLimit = 3 * time.Minute

// drained says which queues still hold messages.
func (t *Target) drained(ctx context.Context) error {
	var left []string
	for _, id := range slices.Sorted(maps.Keys(t.Queues)) {
		url := t.Queues[id]
		out, err := t.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
			types.QueueAttributeNameApproximateNumberOfMessagesDelayed}})
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(out.Attributes)) {
			if n, err := strconv.Atoi(out.Attributes[name]); err != nil || n > 0 {
				left = append(left, fmt.Sprintf("%s has %s = %s", id, name, out.Attributes[name]))
			}
		}
	}
	if len(left) > 0 {
		return errors.New(strings.Join(left, ", "))
	}
	return nil
}
