package lambdahttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Streamed answers events of a function URL whose InvokeMode is RESPONSE_STREAM, and passes the
// handler's response on as it is written. The program must be built with the tag lambda.norpc. The
// request's context ends one second before the invocation does, or when Lambda stops reading; what
// is unread then is cut off. A malformed event, and a panic before the first byte, get a problem
// document; a later panic ends the response where it is.
//
//	Lambda            this package            handler
//	event ----------> request --------------> ServeHTTP
//	                  status, headers <------ WriteHeader
//	prelude <-------- response
//	Read  <========== pipe <================= Write, Flush: return once Lambda has read
//	end of body <---- closed <--------------- returns
//	Close ----------> context ends, the pipe breaks; the handler returns before the next event
func Streamed(h http.Handler, log *slog.Logger) func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	log = Logger(log)
	return func(ctx context.Context, asked events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		e := ofURL(asked)
		ctx, cancel := before(e.noted(ctx))
		taken, given := net.Pipe()
		w := &pipe{header: http.Header{}, out: given, ready: make(chan answerHead, 1)}
		w.end, _ = ctx.Deadline()
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer given.Close()
			w.serve(ctx, h, e, log)
		}()
		head := <-w.ready
		return &events.LambdaFunctionURLStreamingResponse{StatusCode: head.status, Headers: joined(head.header),
			Cookies: head.header.Values("Set-Cookie"), Body: &streamBody{taken: taken, cancel: cancel, done: done}}, nil
	}
}

// streamBody is what Lambda reads. The pipe has an end where the answer has.
type streamBody struct {
	taken  net.Conn
	cancel context.CancelFunc
	done   chan struct{}
}

func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.taken.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.EOF // it was closed here
	}
	return n, err
}

// Close returns once the handler has.
func (b *streamBody) Close() error {
	b.cancel()
	err := b.taken.Close()
	<-b.done
	return err
}

// answerHead is what comes before the body.
type answerHead struct {
	status int
	header http.Header
}

// pipe is the ResponseWriter of a streamed answer. What is written is taken before Write returns,
// so that Flush has nothing to do. It belongs to the handler, until that returns.
type pipe struct {
	header http.Header
	out    net.Conn
	ready  chan answerHead // takes the one there is, whether or not it is waited for
	begun  bool
	end    time.Time // no write lasts longer; zero if it may
}

func (p *pipe) serve(ctx context.Context, h http.Handler, e event, log *slog.Logger) {
	defer p.WriteHeader(http.StatusOK) // of a handler that said nothing
	_ = p.SetWriteDeadline(time.Time{})
	r, err := e.request(ctx)
	if err != nil {
		log.ErrorContext(ctx, "request not understood", "error", err)
		writeProblem(p, http.StatusBadRequest, "malformed_body", "the function can't read the request as the function URL forwarded it; the operator finds the cause in the log")
		return
	}
	if !served(h, p, r, log) && !p.begun {
		clear(p.header)
		writeProblem(p, http.StatusInternalServerError, "internal", "the server failed unexpectedly; its log has the cause")
	}
}

func (p *pipe) Header() http.Header { return p.header }

func (p *pipe) WriteHeader(status int) {
	if !p.begun && status >= http.StatusOK {
		p.begun = true
		p.ready <- answerHead{status, p.header.Clone()}
	}
}

func (p *pipe) Write(text []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if len(text) == 0 { // which a pipe would wait for as for any other
		return 0, nil
	}
	return p.out.Write(text)
}

// Flush sends the status and the headers, if nothing was sent yet.
func (p *pipe) Flush() { p.WriteHeader(http.StatusOK) }

// SetWriteDeadline is what http.ResponseController looks for.
func (p *pipe) SetWriteDeadline(t time.Time) error {
	if last := p.end.Add(reserve / 2); !p.end.IsZero() && (t.IsZero() || t.After(last)) {
		t = last
	}
	return p.out.SetWriteDeadline(t)
}
