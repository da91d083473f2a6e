package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
	"github.com/dormouse-dev/dormouse/internal/text/retryafter"
)

// Limits of an endpoint's silence. The first word may wait until a model is loaded and a long
// prompt is read; a complete answer arrives only when all of it exists.
const (
	untilFirst = 5 * time.Minute
	untilWhole = 15 * time.Minute
	untilNext  = 2 * time.Minute
	untilUsage = 10 * time.Second       // after the finish reason, whatever else arrives
	untilEnd   = 100 * time.Millisecond // after the last event
)

// mostAfterEnd limits what is read after the last event of a stream.
const mostAfterEnd = 4 << 10

// mostLogged limits how much of an endpoint's error is logged.
const mostLogged = 2000

// ask sends the request once. Its error is a [*trouble] or that of ctx.
func (c *call) ask(ctx context.Context) (core.Turn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := untilFirst
	if c.o.Model.Whole {
		first = untilWhole
	}
	idle := watchIdle(c.o.Clock, first, cancel)
	defer idle.end()
	resp, err := c.client.Do(c.request(ctx))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return core.Turn{}, c.unreached(err)
	}
	defer resp.Body.Close()
	idle.now(untilNext)
	if c.o.Model.Whole {
		idle.now(untilWhole)
	}
	body := idle.reader(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return core.Turn{}, c.refusedWith(c.refusal(resp, body))
	}
	a := newAnswer(&c.say, c.most)
	a.done = func() { idle.last(untilUsage) }
	err = c.read(resp, body, a)
	if err == nil {
		c.readEnd(ctx, body, idle)
	}
	if !a.whole(err) {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return core.Turn{}, c.broken(err, a.heard())
	}
	turn, err := a.turn(c.names)
	if turn.End != nil {
		// it may contain text of the endpoint
		turn.End.Detail = c.secrets.Redact(turn.End.Detail)
	}
	return turn, err
}

// whole reports whether a complete answer was read. A failure after the finish reason costs only
// the usage numbers. Calls are complete only if the endpoint then also ended the stream:
//
//	finish_reason "stop" ── a call's name ── cut, and its arguments would be taken for {}
func (a *answer) whole(err error) bool {
	return a.finish != "" && (err == nil || !a.late && !errors.As(err, new(*inBandError)) && !errors.Is(err, errTooLong))
}

// heard reports whether any part of an answer arrived.
func (a *answer) heard() bool {
	return len(a.text.text)+len(a.reasoning.text)+len(a.calls) > 0 || a.finish != ""
}

// read reads the answer in the form in which it comes: some endpoints do not stream although they
// were asked to.
func (c *call) read(resp *http.Response, body io.Reader, a *answer) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case c.o.Model.Whole, media == "application/json":
		return readWhole(body, a)
	case media == "text/html":
		return errNoAnswer
	}
	for in := newEvents(body, c.most); ; {
		e, err := in.next()
		switch {
		case err != nil:
			return err
		case string(bytes.TrimSpace(e.data)) == "[DONE]":
			return nil
		case e.name == "error":
			return errorIn(wrapped(e.data))
		}
		// an event with another name may contain anything
		if err := a.take(e.data); err != nil && (e.name == "" || err != errNoAnswer) {
			return err
		}
	}
}

// readEnd reads the end of a stream after its last event, because a connection whose response was
// not read to the end is closed. The answer doesn't depend on it: an endpoint that has not ended
// the stream after a moment is not waited for again.
func (c *call) readEnd(ctx context.Context, body io.Reader, idle *idle) {
	if c.noEnd.Load() {
		return
	}
	idle.last(untilEnd)
	_, err := io.CopyN(io.Discard, body, mostAfterEnd)
	if err != io.EOF && ctx.Err() != nil && context.Cause(ctx) == errIdle {
		c.noEnd.Store(true)
	}
}

// wrapped returns the content of an event named error, with or without an enclosing object.
func wrapped(data []byte) []byte {
	var c chunk
	if decode(data, &c) && !core.IsNull(c.Error) {
		return c.Error
	}
	return data
}

func readWhole(body io.Reader, a *answer) error {
	raw, err := io.ReadAll(io.LimitReader(body, int64(a.most.whole)+1))
	switch {
	case err != nil:
		return err
	case len(raw) > a.most.whole:
		return errTooLong
	}
	if err := a.take(raw); err != nil || a.finish != "" {
		return err
	}
	return errNoAnswer
}

func (c *call) request(ctx context.Context) *http.Request {
	body := c.body()
	req := (&http.Request{Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: c.header(), Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req
}

func (c *call) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "User-Agent": {"dormouse"},
		// not sent; it lets the transport repeat a request on a new connection
		"X-Idempotency-Key": {}}
	if c.o.Model.Whole {
		h.Set("Accept", "application/json")
	}
	if key := c.o.Model.APIKey; key != "" {
		h.Set("Authorization", "Bearer "+c.secrets[key])
	}
	for _, own := range c.headers {
		var value strings.Builder
		for _, p := range own.value {
			value.WriteString(p.Text + c.secrets[p.Secret])
		}
		h.Set(own.name, value.String())
	}
	return h
}

// refusal reads an error response and logs its body, which may repeat the request and so
// credentials.
func (c *call) refusal(resp *http.Response, body io.Reader) refusal {
	raw, _ := io.ReadAll(io.LimitReader(body, 64<<10))
	r := refusal{status: resp.StatusCode, after: retryafter.Parse(resp.Header.Get("Retry-After"), c.o.Clock.Now()), body: string(raw)}
	c.log("the endpoint answered with an error", "status", r.status, "body", r.body)
	return r
}

// log writes a line about the endpoint. Values that are texts are untrusted.
func (c *call) log(what string, args ...any) {
	for i, v := range args {
		if text, ok := v.(string); ok && i%2 == 1 {
			// redacted before it is cut, or part of a secret could remain at the cut
			text = c.secrets.Redact(text)
			args[i] = printable.Text(strings.ToValidUTF8(clip.Bytes(text, mostLogged, ""), "\ufffd"))
		}
	}
	c.o.Logger.Warn("openai: "+what, append([]any{"host", c.url.Host, "run", c.prompt.Run, "step", c.prompt.Step}, args...)...)
}

// bare returns an error's text without the URL, whose query may contain a credential.
func (c *call) bare(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}
