package openai

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Limits of the retries within one Ask. Longer waits belong to the run, which waits at no cost.
const (
	mostTries    = 3
	firstPause   = 500 * time.Millisecond
	longestPause = 2 * time.Second
	quickWithin  = 10 * time.Second // from the beginning; a later failure was slow
)

// run sends requests until there is a turn or an immediate retry makes no sense.
func (c *call) run(ctx context.Context) (core.Turn, error) {
	began := c.o.Clock.Now()
	for try := 1; ; {
		turn, err := c.ask(ctx)
		var t *trouble
		switch {
		case err == nil:
			return c.checked(turn)
		case ctx.Err() != nil || !errors.As(err, &t):
			return core.Turn{}, err
		case t.learn != "" && c.remember(t.learn):
			continue
		}
		pause := c.pause(try, t)
		if try++; !t.quick || try > mostTries || pause > longestPause || c.o.Clock.Now().Add(pause).Sub(began) > quickWithin {
			return core.Turn{}, t.shown()
		}
		c.log("retrying the request to the endpoint", "after", pause, "why", t.later.Detail)
		if err := engine.Sleep(ctx, c.o.Clock, pause); err != nil {
			return core.Turn{}, err
		}
		c.say.restart()
	}
}

func (t *trouble) shown() error {
	if t.final != nil {
		return t.final
	}
	return t.later
}

// pause returns the delay before the next attempt: what the endpoint asked for, but at least half a
// second, doubled each time, with jitter.
func (c *call) pause(try int, t *trouble) time.Duration {
	pause := engine.Backoff(c.o.Random, firstPause, longestPause, try-1)
	if t.later != nil {
		pause = max(pause, t.later.After)
	}
	return pause
}

// checked validates an answer against the schema of the output, unless it calls tools or was cut
// off.
func (c *call) checked(t core.Turn) (core.Turn, error) {
	if c.output == nil || len(t.Calls) > 0 || t.End != nil {
		return t, nil
	}
	var value any
	if decode([]byte(t.Text), &value) && c.output.Validate(value) == nil {
		return t, nil
	}
	return core.Turn{}, &engine.TryLater{Answered: true, Detail: "the model's answer does not match the schema of output; if this persists, check that the model supports structured output"}
}

func decode(raw []byte, to any) bool { return json.Unmarshal(raw, to) == nil }
