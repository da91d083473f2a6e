package lambdatool

import (
	"context"
	"errors"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

// execution is one call at hand.
type execution struct {
	*function
	event []byte
	told  string
	// as they are when the answer is there: others may have been looked up meanwhile
	hidden secret.Values
}

// exchange is what invoking once came to: an answer or an error. Sent says that the service may
// have the request; as long as that is false nothing has happened.
type exchange struct {
	answer *lambda.InvokeOutput
	err    error
	sent   bool
}

// mostAgain is how often a call is tried again.
const mostAgain = 2

// invoke sends one request and no more: a repeat of the client's own would be a second execution
// that nobody decided on. [http.Transport] too sends a POST again only if none of it was written.
func (e *execution) invoke(ctx context.Context) exchange {
	ctx, done := context.WithCancel(ctx)
	defer done()
	var sent atomic.Bool
	// A connection that is there is about to carry the request; nobody knows how far that got
	// if it breaks.
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
		return exchange{err: err, sent: sent.Load()}
	}
	return exchange{answer: out, sent: true}
}

// once takes the client's own repeats away.
func once(o *lambda.Options) { o.Retryer = aws.NopRetryer{} }

// code is the service's word for why it did not invoke; empty if it said none.
func (x exchange) code() string {
	var refusal smithy.APIError
	if errors.As(x.err, &refusal) {
		return refusal.ErrorCode()
	}
	return ""
}

// What the service says when it has not run a function, and may soon: its codes for "too many at
// once" and "not ready".
var passing = []string{"TooManyRequestsException", "EC2ThrottledException", "ENINotReadyException", "ResourceNotReadyException", "SnapStartNotReadyException",
	"ResourceConflictException"}

// before is how codes begin that are faults of the service and still say that the function was not
// reached: its network, its files, its keys.
var before = []string{"EC2", "EFSMount", "ENI", "KMS", "S3FilesMount", "SnapStart", "SubnetIP", "Invalid"}

// idle says whether nothing ran, for certain.
func (x exchange) idle() bool {
	var response *awshttp.ResponseError
	switch {
	case x.err == nil:
		return false
	case x.code() == "":
		return !x.sent
	case slices.Contains(passing, x.code()):
		return true
	case x.code() == "EFSIOException": // in the middle of its work, for all that is known
		return false
	case slices.ContainsFunc(before, func(word string) bool { return strings.HasPrefix(x.code(), word) }):
		return true
	}
	return errors.As(x.err, &response) && response.HTTPStatusCode() < 500
}
