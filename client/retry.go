package client

import (
	"context"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/client/internal/backoff"
)

// longestWait is the longest Retry-After that the client waits for. The caller gets a refusal that
// asks for more.
const longestWait = 2 * time.Minute

// permanent is an error that another attempt would not change.
type permanent struct{ error }

func final(err error) error { return permanent{err} }

// retry calls send until it is answered, at most c.retries times more. Errors after which another
// attempt is useless or unsafe end it at once.
func (c *Client) retry(ctx context.Context, once bool, send func() ([]byte, error)) ([]byte, error) {
	for attempt := 0; ; attempt++ {
		answer, err := send()
		final, isFinal := errors.AsType[permanent](err)
		switch {
		case isFinal:
			return nil, final.error
		case err == nil || ctx.Err() != nil || attempt == c.retries || !again(err, once):
			return answer, err
		}
		if slept := c.sleep(ctx, c.pause(attempt, err)); slept != nil {
			return nil, err
		}
	}
}

// again reports whether the request may be sent again after err. One that would have two effects is
// repeated only after a 429, which stores nothing.
func again(err error, once bool) bool {
	refused, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return !once
	case refused.RetryAfter > longestWait:
		return false
	case once:
		return refused.Status == 429 && refused.Retryable()
	}
	return refused.Retryable() || refused.Code == "" && refused.Unanswered()
}

// pause is how long to wait after failed attempts, the last of which ended with err.
func (c *Client) pause(failed int, err error) time.Duration {
	asked := time.Duration(0)
	if refused, ok := errors.AsType[*Error](err); ok {
		asked = refused.RetryAfter
	}
	return backoff.Pause(c.random, failed, asked)
}
