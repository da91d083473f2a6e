// Package intake decides what becomes of the messages of the intake queue, through which pipelines
// start runs. A message is the body of POST /v1/runs with an idempotency key in it, and the only
// copy of what somebody asked for: it leaves the queue when its run is there, or when it is put
// aside as a dead letter with the reason.
//
// Messages come at least once and in any order. One key starts one run, because
// [frontend.Frontend.Start] does; so a message that is handed over again after a crash, or put into
// the queue again, changes nothing. The package keeps no queue and works on no run: a [Queue]
// stands in front of it and a [Starter] behind it.
package intake

import (
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// MaxBody is how many bytes a message may have, as the body of POST /v1/runs.
const MaxBody = 1 << 20

// Codes of what only the queue refuses; all others are those of the HTTP API.
const (
	CodeTooLarge frontend.Code = "too_large"
	CodeInternal frontend.Code = "internal" // it failed too often, by a fault of ours
	// it was handed over too often, and nobody said what came of it
	CodeLost frontend.Code = "lost"
)

// Message is what a pipeline puts into the queue. Whose it is says the queue, never the message.
type Message struct {
	IdempotencyKey string `json:"idempotency_key"`
	wire.StartRequest
}

// Read reads a message as strictly as the HTTP API reads a body. The error is a [*frontend.Error]
// and says what to mend. What needs to be looked up, such as the agent, is not looked at.
func Read(raw []byte) (Message, error) {
	var m Message
	if len(raw) > MaxBody {
		return m, refuse(CodeTooLarge, "the message is larger than %d bytes; put less into input or metadata", MaxBody)
	}
	err := strictjson.Check(raw)
	if err == nil {
		err = strictjson.Decode(raw, &m)
	}
	var bad *strictjson.Error
	switch {
	case errors.As(err, &bad):
		return m, refuse(frontend.Code(bad.Code), "%s", bad.Detail)
	case err != nil:
		return m, err
	case m.IdempotencyKey == "":
		return m, refuse(frontend.CodeInvalid, "idempotency_key is missing; give each run that is wanted a key of its own, such as the number of the ticket")
	}
	return m, nil
}

func refuse(code frontend.Code, format string, args ...any) *frontend.Error {
	return &frontend.Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}
