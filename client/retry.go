package client

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// The pause before a retry doubles from firstPause to lastPause.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// longestWait is the longest Retry-After that the client waits for. The caller gets a refusal that
// asks for more.
const longestWait = 2 * time.Minute

// permanent is an error that another attempt would not change.
type permanent struct{ error }

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

// pause is how long to wait after failed attempts: at least as long as the server asks for, and
// otherwise a random part of a doubling bound, so that clients don't return all at once.
func (c *Client) pause(failed int, err error) time.Duration {
	most := min(firstPause<<min(failed, 16), lastPause)
	pause := most/2 + c.upTo(most/2)
	if refused, ok := errors.AsType[*Error](err); ok && refused.RetryAfter > 0 {
		return refused.RetryAfter + c.upTo(most/2)
	}
	return pause
}

// upTo is a random duration below d; d itself if there is no randomness.
func (c *Client) upTo(d time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(c.random, b[:]); err != nil || d <= 0 {
		return d
	}
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(d))
}
