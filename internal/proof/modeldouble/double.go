// Package modeldouble imitates the APIs of model providers, for tests and replays. It reads a
// request as the provider does, asks a function for the response, and sends it in the provider's
// format, including broken frames. It rejects requests that the provider rejects. It knows nothing
// about runs.
package modeldouble

import (
	"encoding/json"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Asked is a request as a provider reads it.
type Asked struct {
	Model  string
	System string
	// users', assistants' and tools', one for each result; names and ids as on the wire
	Messages []core.Message
	Tools    []core.ToolSpec
	Stream   bool
	Path     string // decoded
	Header   http.Header
	Body     json.RawMessage
}

// Said is what a provider answers.
type Said struct {
	Turn core.Turn // Content if it is set, or else Text and Calls, and what it used
	// the provider's word for why it stopped; if empty, the one that fits the turn
	Stop  string
	Piece int // about how many bytes a delta has; 0: whole parts
	Fault Fault

	// Shown is called with each delta's number once it was sent, if it is set: a test can wait
	// there.
	Shown func(n int)
}

// Answer decides what is said. It may be called from several goroutines.
type Answer func(Asked) Said

// Fault is what goes wrong on the way.
type Fault string

// Faults. Those before the first byte are answers with a status; the others break a stream, or the
// one answer of a request without one.
const (
	None Fault = ""

	Throttled   Fault = "throttled" // 429
	NotReady    Fault = "not_ready" // of Bedrock 429 ModelNotReadyException; else 503
	TimedOut    Fault = "timed_out" // of Bedrock 408 ModelTimeoutException; else 504
	ServerError Fault = "server"    // 500
	Refused     Fault = "refused"   // 400: the request is wrong
	// 403; the body repeats the credentials of the request, as some gateways do
	Forbidden   Fault = "forbidden"
	NotFound    Fault = "not_found"   // 404: no such model
	Unreachable Fault = "unreachable" // the connection breaks before an answer

	// the stream ends in order, before it says why the model stopped
	Cut       Fault = "cut"
	Aborted   Fault = "aborted"    // the connection breaks in the middle
	HalfFrame Fault = "half_frame" // the same, within a frame or an event
	Garbled   Fault = "garbled"    // a frame's checksum is wrong, an event is not JSON
	// an exception in the stream, after some of the answer
	LateThrottled Fault = "late_throttled"
	LateError     Fault = "late_error" // the same, of a fault of the provider's

	NoUsage      Fault = "no_usage"      // whole, but what it used is not said
	UnknownEvent Fault = "unknown_event" // whole, with an event in it that nobody knows
)
