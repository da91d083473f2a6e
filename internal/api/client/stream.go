package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A stream that breaks is opened again after a pause that doubles up to reopenLast, at most
// reopenTries times without progress.
const (
	reopenTries = 8
	reopenFirst = 100 * time.Millisecond
	reopenLast  = 5 * time.Second
)

// silence is how long a stream may send nothing. The server sends a comment at least every 15
// seconds.
const silence = 45 * time.Second

// finalError is an error that another try would not change, such as one of the function that takes
// the events.
type finalError struct{ error }

// reopen calls round, which reads one stream to its end and notes in after how far it came, again
// and again. It ends with ctx, a finalError, a refusal that is not [Error.Temporary], or a server
// that does not answer: at the first try, or reopenTries times in a row. It waits at least as long
// as the server asks for.
func reopen(ctx context.Context, after *string, round func(context.Context) error) error {
	for failed := 0; ; {
		before := *after
		err := round(ctx)
		if final, ok := errors.AsType[finalError](err); ok {
			return final.error
		}
		var wait time.Duration
		refused, isRefused := errors.AsType[*Error](err)
		if isRefused {
			wait = refused.RetryAfter
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isRefused && !refused.Temporary():
			return err
		case err == nil || *after != before:
			failed = 0
		case failed == 0 && before == "", failed == reopenTries:
			return err
		default:
			failed++
		}
		if err := machine.Sleep(ctx, max(reopenFirst, min(reopenFirst<<failed, reopenLast), wait)); err != nil {
			return err
		}
	}
}

// messages opens a stream and gives each of its messages to each, until the stream ends, breaks or
// is silent for too long.
func (c *Client) messages(ctx context.Context, path string, q url.Values, each func(message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.openStream(ctx, path, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	return readStream(resp.Body, func() { quiet.Reset(silence) }, each)
}

// openStream asks for a stream. A refusal is an [*Error].
func (c *Client) openStream(ctx context.Context, path string, q url.Values) (*http.Response, error) {
	req, err := c.request(ctx, request{method: http.MethodGet, path: path, query: q, header: map[string]string{"Accept": "text/event-stream"}})
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", withoutTicket(err, req))
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return nil, fmt.Errorf("client: reading the answer: %w", err)
		}
		return nil, refusal(resp, body)
	}
	return resp, nil
}

// withoutTicket hides the address that the request was redirected to: anyone who has it may read
// the stream.
func withoutTicket(err error, first *http.Request) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok || failed.URL == first.URL.String() {
		return err
	}
	where := "the address of the stream"
	if u, unread := url.Parse(failed.URL); unread == nil {
		where = u.Scheme + "://" + u.Host
	}
	return &url.Error{Op: failed.Op, URL: where, Err: failed.Err}
}

// message is one server-sent event of a stream.
type message struct {
	id, event string
	data      []byte
}

// readStream gives each complete message with data to each, and drops one that is cut off. It calls
// alive at each line.
func readStream(body io.Reader, alive func(), each func(message) error) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var m message
	var data []string
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("client: the stream broke: %w", err)
		}
		alive()
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			data = append(data, value)
		}
		if line != "" {
			continue
		}
		if m.data = []byte(strings.Join(data, "\n")); len(data) > 0 {
			if err := each(m); err != nil {
				return err
			}
		}
		m, data = message{}, nil
	}
}
