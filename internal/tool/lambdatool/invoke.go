package lambdatool

import (
	"cmp"
	"context"
	"errors"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// execution is one call at hand.
type execution struct {
	*function
	event  []byte
	told   string
	hidden secret.Values // as they are when the answer is there: others may have been looked up meanwhile
	call   core.ToolCall
	ends   time.Time

	repeatable bool // the function may be invoked again though it may have run
}

// attempt is what invoking once came to: an answer or an error. Sent says that the service may have the request; as long as that is false nothing
// has happened.
type attempt struct {
	answer *lambda.InvokeOutput
	err    error
	sent   bool
}

// mostAgain is how often a call is tried again.
const mostAgain = 2

// run invokes until there is something to tell. The error is that of ctx: whoever ended it knows what it means.
func (e *execution) run(ctx context.Context) (core.Outcome, error) {
	clock := e.caller.o.Clock
	e.ends = clock.Now().Add(e.at.Limit())
	inside, stop := limited(ctx, clock, e.at.Limit())
	defer stop()
	earlier := "" // why nobody knows whether an attempt before this one took effect
	for try := 0; ; try++ {
		a := e.invoke(inside)
		if a.err != nil && ctx.Err() != nil {
			return core.Outcome{}, ctx.Err()
		}
		pause := e.backoff(try)
		if !e.again(a) || try >= mostAgain || context.Cause(inside) != nil || !clock.Now().Add(pause).Before(e.ends) {
			e.hidden = e.caller.o.Hidden()
			return e.outcome(a, earlier), nil
		}
		earlier = cmp.Or(e.unsettled(a), earlier)
		if err := engine.Sleep(ctx, clock, pause); err != nil {
			return core.Outcome{}, err
		}
	}
}

// again says whether to invoke once more: where nothing ran, if that may pass; where something may have, if the call may be repeated.
func (e *execution) again(a attempt) bool {
	switch {
	case a.err == nil:
		return false
	case a.idle():
		return a.code() == "" || slices.Contains(passing, a.code())
	}
	return e.repeatable
}

// backoff doubles from a quarter of a second.
func (e *execution) backoff(try int) time.Duration {
	return engine.Jitter(e.caller.o.Random, 250*time.Millisecond<<try)
}

// invoke sends one request and no more: a repeat of the client's own would be a second execution that nobody decided on. [http.Transport] too
// sends a POST again only if none of it was written.
func (e *execution) invoke(ctx context.Context) attempt {
	ctx, done := context.WithCancel(ctx)
	defer done()
	var sent atomic.Bool
	// A connection that is there is about to carry the request; nobody knows how far that got if it breaks.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	in := &lambda.InvokeInput{FunctionName: &e.at.Function, InvocationType: types.InvocationTypeRequestResponse, Payload: e.event, ClientContext: &e.told}
	if e.at.Qualifier != "" {
		in.Qualifier = &e.at.Qualifier
	}
	out, err := e.caller.client.Invoke(httptrace.WithClientTrace(ctx, trace), in, once)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(smithy.APIError)) {
			err = cause
		}
		return attempt{err: err, sent: sent.Load()}
	}
	return attempt{answer: out, sent: true}
}

// once takes the client's own repeats away.
func once(o *lambda.Options) { o.Retryer = aws.NopRetryer{} }

// errSlow is the cause of a context whose call took too long.
var errSlow = errors.New("no time is left")

// limited is ctx with an end, by the clock that was brought.
func limited(ctx context.Context, clock engine.Clock, d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := clock.AfterFunc(d, func() { cancel(errSlow) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// code is the service's word for why it did not invoke; empty if it said none.
func (a attempt) code() string {
	var refusal smithy.APIError
	if errors.As(a.err, &refusal) {
		return refusal.ErrorCode()
	}
	return ""
}

// What the service says when it has not run a function, and may soon: its codes for "too many at once" and "not ready".
var passing = []string{"TooManyRequestsException", "EC2ThrottledException", "ENINotReadyException", "ResourceNotReadyException", "SnapStartNotReadyException",
	"ResourceConflictException"}

// before is how codes begin that are faults of the service and still say that the function was not reached: its network, its files, its keys.
var before = []string{"EC2", "EFSMount", "ENI", "KMS", "S3FilesMount", "SnapStart", "SubnetIP", "Invalid"}

// idle says whether nothing ran, for certain.
func (a attempt) idle() bool {
	var response *awshttp.ResponseError
	switch {
	case a.err == nil:
		return false
	case a.code() == "":
		return !a.sent
	case slices.Contains(passing, a.code()):
		return true
	case a.code() == "EFSIOException": // in the middle of its work, for all that is known
		return false
	case slices.ContainsFunc(before, func(word string) bool { return strings.HasPrefix(a.code(), word) }):
		return true
	}
	return errors.As(a.err, &response) && response.HTTPStatusCode() < 500
}
