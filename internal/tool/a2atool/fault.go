package a2atool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// kind is what a request without a usable answer means.
type kind uint8

const (
	unreached kind = iota // no answer, or none that says anything
	notFound
	refused
	unreadable // the answer is too large, or not what the protocol says
)

// fault is why a request has no usable answer.
type fault struct {
	kind  kind
	rpc   int64  // the JSON-RPC code that the agent answered with; 0: none
	why   string // continues a sentence that begins with the agent
	ended bool   // the answer says that the task is over, although it can't be used
	cause error  // for the log only
}

func (f *fault) Error() string { return f.why }

// code is the code of a final answer, or empty.
func (f *fault) code() string {
	return [...]string{unreached: "", notFound: peer.CodeNotFound, refused: peer.CodeRefused, unreadable: peer.CodeBadAnswer}[f.kind]
}

// is reports whether an error is a fault of a kind.
func is(err error, k kind) bool {
	var f *fault
	return errors.As(err, &f) && f.kind == k
}

// rpcCode is the JSON-RPC code that an error of the agent has, or 0.
func rpcCode(err error) int64 {
	var f *fault
	if errors.As(err, &f) {
		return f.rpc
	}
	return 0
}

func causeOf(err error) string {
	var f *fault
	if errors.As(err, &f) && f.cause != nil {
		return f.why + ": " + f.cause.Error()
	}
	return err.Error()
}

// errPanic is a panic of the SDK over an answer such as {"error":{"data":[null]}}.
var errPanic = errors.New("the answer can't be read by the A2A library")

// ask makes one request with the SDK. It returns the SDK's reading of the answer, and the result of
// JSON-RPC that it has read. The error is a [fault].
func ask[T any](ctx context.Context, c *call, method func(context.Context) (T, error)) (read T, result json.RawMessage, err error) {
	c.patience.Renew()
	a := answer{most: c.to.Most()}
	read, err = guarded(watched(ctx, &a), method)
	result, f := c.judge(ctx, &a, err)
	if f != nil {
		var none T
		return none, nil, f
	}
	return read, result, nil
}

func guarded[T any](ctx context.Context, method func(context.Context) (T, error)) (read T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanic, cause)
		}
	}()
	return method(ctx)
}

// judge says what the answer to a JSON-RPC request means. err is what the SDK says of it.
func (c *call) judge(ctx context.Context, a *answer, err error) (json.RawMessage, *fault) {
	if f := c.transported(ctx, a, err); f != nil {
		return nil, f
	}
	e, f := readEnvelope(a.body)
	switch {
	case f != nil:
		return nil, f
	case e.Error != nil:
		return nil, c.ofCode(e.Error.Code, e.Error.Message)
	case err != nil || !isObject(e.Result):
		return nil, &fault{kind: unreadable, why: "gave an answer that is not what the protocol says", ended: ended(e.Result), cause: err}
	}
	return e.Result, nil
}

// transported returns the fault if an answer is not whole, or is not a success of HTTP.
func (c *call) transported(ctx context.Context, a *answer, err error) *fault {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch {
	case a.status == 0 && c.unsent() && forbidden(err) != "":
		return &fault{kind: refused, why: "can't be called: " + forbidden(err), cause: err}
	case a.status == 0 && errors.Is(err, remote.ErrSlow):
		return &fault{why: c.silence(err), cause: a.err}
	case a.status == 0:
		return &fault{why: remote.Unreached(err, c.to.Limit(), ""), cause: err}
	case a.status != http.StatusOK:
		return c.ofStatus(a)
	case errors.Is(a.err, errLong):
		return &fault{kind: unreadable, why: fmt.Sprintf("gave an answer of more than %d bytes", a.most)}
	case a.err != nil:
		return &fault{why: c.silence(err), cause: a.err}
	case depth.Exceeded(a.body):
		return &fault{kind: unreadable, why: "gave an answer that is nested too deeply"}
	}
	return nil
}

// unsent says whether the agent can't have received anything: nothing about the task is known, and
// this call has sent nothing yet.
func (c *call) unsent() bool { return c.request.Task.ID == "" && !c.request.Again && !c.posted }

// forbidden is why this program may not call the address; empty if it may.
func forbidden(err error) string {
	refusal, is := errors.AsType[netguard.RefusedError](err)
	if !is {
		return ""
	}
	return refusal.Error()
}

// silence is why a request that may have arrived has no whole answer.
func (c *call) silence(err error) string {
	if errors.Is(err, remote.ErrSlow) {
		return fmt.Sprintf("did not answer within %s", c.to.Limit())
	}
	return "began to answer, and " + remote.Broke
}

// The statuses that a gateway may answer with, or that ask to come again, and those that are about
// the caller. For any other one, an error of JSON-RPC in the body says more.
var (
	passing = []int{408, 425, 429, 502, 503, 504}
	access  = []int{401, 403, 407}
)

// ofStatus is what an HTTP status other than 200 means.
func (c *call) ofStatus(a *answer) *fault {
	said := "answered " + remote.Status(a.status)
	if !slices.Contains(passing, a.status) && !slices.Contains(access, a.status) && a.status >= 400 && a.err == nil && !depth.Exceeded(a.body) {
		if e, f := readEnvelope(a.body); f == nil && e.Version == "2.0" && e.Error != nil && e.Error.Code != 0 {
			return c.ofCode(e.Error.Code, e.Error.Message)
		}
	}
	switch {
	case slices.Contains(passing, a.status) || a.status >= 500:
		return &fault{why: said}
	case slices.Contains(access, a.status):
		return &fault{kind: refused, why: "denied access: it " + said}
	case a.status == http.StatusNotFound:
		return &fault{kind: notFound, why: said}
	case a.status >= 400:
		return &fault{kind: refused, why: said}
	case a.status >= 300:
		return &fault{kind: refused, why: "answered with a redirect, which is not followed: " + remote.Status(a.status)}
	}
	return &fault{kind: unreadable, why: said + ", which the protocol does not know"}
}

// Codes of JSON-RPC and of A2A that have a meaning here.
const (
	rpcInternal      = -32603
	rpcTaskNotFound  = -32001
	rpcPushesNothing = -32003
)

// meanings are the codes that people may have to do with.
var meanings = map[int64]string{
	-32600: "it does not accept such a request",
	-32601: "it does not know the method",
	-32602: "it does not accept what was sent",
	-32002: "the task can't be cancelled",
	-32004: "it does not support this",
	-32005: "it does not accept text",
	-32008: "it requires an extension of the protocol",
	-32009: "it speaks another version of the protocol",
	-31401: "it does not know the caller",
	-31403: "it does not allow this to the caller",
}

// ofCode is what an error of JSON-RPC means.
func (c *call) ofCode(code int64, message string) *fault {
	said := fmt.Sprintf("answered with the error %d", code)
	if meaning := meanings[code]; meaning != "" {
		said += ", which means that " + meaning
	}
	if message != "" {
		said += ": " + c.line(message, mostDetail)
	}
	switch code {
	case rpcInternal:
		return &fault{rpc: code, why: said}
	case rpcTaskNotFound:
		return &fault{kind: notFound, rpc: code, why: said}
	}
	return &fault{kind: refused, rpc: code, why: said}
}

// envelope is an answer of JSON-RPC. The SDK knows fewer codes than there are, and can't read an
// error whose data is not a list.
type envelope struct {
	Version string          `json:"jsonrpc"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// readEnvelope reads an answer. One that ends early was cut off on its way, whatever its length was
// said to be.
func readEnvelope(body []byte) (envelope, *fault) {
	var e envelope
	return e, decode(body, &e)
}

// decode reads a body with one JSON value.
func decode(body []byte, to any) *fault {
	dec := json.NewDecoder(bytes.NewReader(body))
	err := dec.Decode(to)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &fault{why: "gave an answer that ends too early", cause: err}
	case err == nil:
		if _, err = dec.Token(); err == io.EOF {
			return nil
		}
	}
	return &fault{kind: unreadable, why: "gave an answer that is not what the protocol says", cause: err}
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte("{")) }
