package lambdatool

import (
	"context"
	"errors"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

// execution is one execution of a call.
type execution struct {
	*function
	event []byte
	told  string
	// the hidden values at the time of the answer: secrets may have been looked up since the
	// call
	hidden secret.Values
}

// exchange is the result of invoking once: an answer or an error. If sent is false, the service
// cannot have received the request.
type exchange struct {
	answer Answer
	err    error
	sent   bool
}

// mostAgain limits how often a call is retried.
const mostAgain = 2

// invoke sends exactly one request. A retry by the client itself would be a second execution that
// no rule allowed. [http.Transport] retries a POST only if none of it was written.
func (e *execution) invoke(ctx context.Context) exchange {
	ctx, done := context.WithCancel(ctx)
	defer done()
	var sent atomic.Bool
	// Once a connection exists, the request may be on its way: if the connection breaks, it is
	// unknown how much of it the service received.
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }}
	out, err := e.caller.client.Invoke(httptrace.WithClientTrace(ctx, trace),
		Invocation{Function: e.at.Function, Qualifier: e.at.Qualifier, Event: e.event, Context: e.told})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(smithy.APIError)) {
			err = cause
		}
		return exchange{err: err, sent: sent.Load()}
	}
	return exchange{answer: out, sent: true}
}

// code returns the error code with which the service refused the invocation, or an empty text.
func (x exchange) code() string {
	var refusal smithy.APIError
	if errors.As(x.err, &refusal) {
		return refusal.ErrorCode()
	}
	return ""
}

// The error codes of a function that did not run and may run soon: it was throttled or is not
// ready.
var passing = []string{"TooManyRequestsException", "EC2ThrottledException", "ENINotReadyException", "ResourceNotReadyException", "SnapStartNotReadyException",
	"ResourceConflictException"}

// before lists prefixes of codes that are faults of the service and still say that the function was
// not reached: its network, its files or its keys failed.
var before = []string{"EC2", "EFSMount", "ENI", "KMS", "S3FilesMount", "SnapStart", "SubnetIP", "Invalid"}

// idle reports whether it is certain that nothing ran.
func (x exchange) idle() bool {
	var response *awshttp.ResponseError
	switch {
	case x.err == nil:
		return false
	case x.code() == "":
		return !x.sent
	case slices.Contains(passing, x.code()):
		return true
	case x.code() == "EFSIOException": // may occur in the middle of the function's work
		return false
	case slices.ContainsFunc(before, func(word string) bool { return strings.HasPrefix(x.code(), word) }):
		return true
	}
	return errors.As(x.err, &response) && response.HTTPStatusCode() < 500
}
