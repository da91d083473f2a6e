package stackdoctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Queues reads how full queues are.
type Queues interface {
	// Messages counts those in a queue, roughly, including those that are being processed.
	Messages(ctx context.Context, url string) (int, error)
}

// Ages reads how old messages are.
type Ages interface {
	// Oldest is the age of a queue's oldest message in the last minutes; false if CloudWatch
	// has no data.
	Oldest(ctx context.Context, queue string) (time.Duration, bool, error)
}

// deadLetterAdvice is what to do with the messages of each dead-letter queue.
var deadLetterAdvice = map[string]string{
	"WakeDeadQueue":   "read the log of StepFunction, correct the cause and purge the queue; the sweep sends new wake-ups",
	"NotifyDeadQueue": "read the log of NotifyFunction, correct the cause and purge the queue; the sweep sends new wake-ups",
	"IntakeDeadQueue": "correct the cause, which the attributes code and detail name, and send the requests again with the same idempotency keys",
	"SweepDeadQueue":  "read the log of SweepFunction, correct the cause and purge the queue",
}

func checkDeadLetters(ctx context.Context, from Queues, ages Ages, s Stack) []Finding {
	r := results{check: "dead letters"}
	var empty []string
	for _, q := range s.all(typeQueue) {
		do, is := deadLetterAdvice[q.ID]
		if !is {
			continue
		}
		n, err := from.Messages(ctx, q.Name)
		switch {
		case errors.Is(err, ErrMissing):
			r.fail("deploy again", "%s was deleted", q.ID)
		case err != nil:
			r.unread("dead-letter queues", err)
		case n == 0:
			empty = append(empty, q.ID)
		default:
			r.fail(do, "%s has %s%s", q.ID, counted(n, "message"), age(ctx, ages, q.Name))
		}
	}
	if len(empty) > 0 {
		r.ok("empty: %s", strings.Join(empty, ", "))
	}
	return r.found
}

// age says how old the oldest message of a queue is, or why that is not known.
func age(ctx context.Context, from Ages, url string) string {
	oldest, known, err := from.Oldest(ctx, url[strings.LastIndex(url, "/")+1:])
	denied, forbidden := errors.AsType[*Denied](err)
	switch {
	case forbidden:
		return "; the age of the oldest was not checked: needs " + denied.Action
	case err != nil || !known:
		return "; the age of the oldest is not known yet"
	case oldest >= 48*time.Hour:
		return fmt.Sprintf(", the oldest for %d days", int(oldest/(24*time.Hour)))
	}
	return ", the oldest for " + oldest.Round(time.Second).String()
}

func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
