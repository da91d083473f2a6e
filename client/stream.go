package client

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/dormouse-dev/dormouse/client/internal/backoff"
	"github.com/dormouse-dev/dormouse/client/internal/redirects"
	"github.com/dormouse-dev/dormouse/internal/text/sse"
)

// reopenTries is how often in a row a stream is opened without progress.
const reopenTries = 8

// silence is how long a stream may send nothing. The server sends a comment at least every 15
// seconds.
const silence = 45 * time.Second

// reopen calls round, which reads one stream to its end and notes in after how far it came, again
// and again. It ends with ctx, a [permanent] error, a refusal that is not [Error.Retryable], or a
// server that doesn't answer: reopenTries times in a row, or at the first attempt if the client
// sends requests once.
//
// Streams that end early without an event are opened again after growing pauses.
func (c *Client) reopen(ctx context.Context, after *string, round func(context.Context) error) error {
	for failed, idle := 0, 0; ; {
		before, began := *after, time.Now()
		err := round(ctx)
		if idle++; *after != before || time.Since(began) > backoff.Last {
			idle = 0
		}
		final, isFinal := errors.AsType[permanent](err)
		refused, isRefused := errors.AsType[*Error](err)
		switch {
		case isFinal:
			return final.error
		case ctx.Err() != nil:
			return ctx.Err()
		case isRefused && (!refused.Retryable() || refused.RetryAfter > longestWait):
			return err
		case err == nil || *after != before:
			failed = 0
		case failed == 0 && before == "" && c.retries == 0, failed == reopenTries:
			return err
		default:
			failed++
		}
		if err := c.sleep(ctx, max(backoff.First, c.pause(max(failed, idle), err))); err != nil {
			return err
		}
	}
}

// read opens a stream and passes each of its messages to each, until the stream ends, breaks or is
// silent for too long.
func (c *Client) read(ctx context.Context, path string, q url.Values, each func(sse.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	resp, err := c.openStream(ctx, path, q)
	if err == nil {
		defer resp.Body.Close()
		err = streamError(sse.Read(resp.Body, maxAnswer, func() { quiet.Reset(silence) }, each))
	}
	if _, final := errors.AsType[permanent](err); !quiet.Stop() && err != nil && !final {
		return fmt.Errorf("client: the stream was silent for %v", silence)
	}
	return err
}

// streamError is why a stream ended early.
func streamError(err error) error {
	if broken, is := errors.AsType[*sse.ReadError](err); is {
		return fmt.Errorf("client: the stream broke: %w", broken.Err)
	}
	if errors.Is(err, sse.ErrTooLong) {
		return permanent{fmt.Errorf("client: a message of the stream is longer than %d MiB", maxAnswer>>20)}
	}
	return err
}

// openStream opens a stream. A refusal is an [*Error].
func (c *Client) openStream(ctx context.Context, path string, q url.Values) (*http.Response, error) {
	req, err := c.request(ctx, request{method: http.MethodGet, path: path, query: q, header: map[string]string{"Accept": mediaStream}}, nil)
	if err != nil {
		return nil, permanent{err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", redirects.WithoutTicket(err, req))
	}
	if !success(resp) {
		defer resp.Body.Close()
		body, err := readAnswer(resp)
		if err != nil {
			return nil, err
		}
		return nil, refusal(resp, body)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != mediaStream && resp.StatusCode != http.StatusNoContent {
		resp.Body.Close()
		return nil, fmt.Errorf("client: the server answered with %q, not with a stream; check the base URL, and proxies on the way", media)
	}
	return resp, nil
}

const mediaStream = "text/event-stream"
