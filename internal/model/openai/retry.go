package openai

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// What is waited out within one Ask. More than that is the run's to wait for, which costs nothing
// while it does.
const (
	mostTries    = 3
	firstPause   = 500 * time.Millisecond
	longestPause = 2 * time.Second
	quickWithin  = 10 * time.Second // of the beginning; what fails later failed slowly
)

// run sends until there is a turn, or nothing more to do now.
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
		c.log("the endpoint is asked again", "after", pause, "why", t.later.Detail)
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

// pause is how long to wait before the next try: what the endpoint asked for, and no less than half
// a second, doubled each time, of which a part is left to chance.
func (c *call) pause(try int, t *trouble) time.Duration {
	pause := engine.Backoff(c.o.Random, firstPause, longestPause, try-1)
	if t.later != nil {
		pause = max(pause, t.later.After)
	}
	return pause
}

// checked holds an answer against the output's schema, where it is one: it calls nothing and was
// not cut off.
func (c *call) checked(t core.Turn) (core.Turn, error) {
	if c.output == nil || len(t.Calls) > 0 || t.End != nil {
		return t, nil
	}
	var value any
	if decode([]byte(t.Text), &value) && c.output.Validate(value) == nil {
		return t, nil
	}
	return core.Turn{}, &engine.TryLater{Answered: true, Detail: "the model's answer does not fit the schema of output; if that goes on, check that the model can follow one"}
}

func decode(raw []byte, to any) bool { return json.Unmarshal(raw, to) == nil }
