// Package intake handles the messages of the intake queue, through which pipelines start runs. A
// message is the body of POST /v1/runs, with an idempotency key. It is the only copy of the
// request, so it leaves the queue only when its run exists or when it moves to the dead letters,
// with the reason.
//
// Messages are delivered at least once and in any order. One key starts one run, as
// [frontend.Frontend.Start] guarantees, so a message that is redelivered after a crash or sent
// twice changes nothing. The package stores no messages and works on no run: a [Queue] delivers the
// messages, and a [Starter] starts the runs.
package intake

import (
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// MaxBody is the maximum size of a message in bytes, the same as for the body of POST /v1/runs.
const MaxBody = 1 << 20

// Codes that only the queue uses; all others are codes of the HTTP API.
const (
	CodeTooLarge refusal.Code = "too_large"
	CodeInternal refusal.Code = "internal" // it failed too often, through an error on our side
	// CodeLost: it was delivered too often without being settled
	CodeLost refusal.Code = "lost"
)

// Message is what a pipeline sends to the queue. The queue determines its tenant, never the
// message.
type Message struct {
	IdempotencyKey string `json:"idempotency_key"`
	wire.StartRequest
}

// Read parses a message as strictly as the HTTP API parses a body. The error is a [*refusal.Error]
// that says what to fix. It does not check what has to be looked up, such as the agent.
func Read(raw []byte) (Message, error) {
	var m Message
	if len(raw) > MaxBody {
		return m, refuse(CodeTooLarge, "the message is larger than %d bytes; shorten input or metadata", MaxBody)
	}
	err := strictjson.Check(raw)
	if err == nil {
		err = strictjson.Decode(raw, &m)
	}
	var bad *strictjson.Error
	switch {
	case errors.As(err, &bad):
		return m, refuse(refusal.Code(bad.Code), "%s", bad.Detail)
	case err != nil:
		return m, err
	case m.IdempotencyKey == "":
		return m, refuse(refusal.CodeInvalid, "idempotency_key is missing; give each run a unique key, such as a ticket number")
	}
	return m, nil
}

func refuse(code refusal.Code, format string, args ...any) *refusal.Error {
	return &refusal.Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}
