// Package sink has what the services of AWS that take notices have in common.
package sink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
)

// MostBytes is how long a message may be, with all that belongs to it.
const MostBytes = 256 << 10

// Message returns the notice as JSON. It has no links: a rule or a subscription may pass it on to
// anybody, and each receiver of a link can answer the call.
func Message(n client.Notice) (string, error) {
	n.Links = nil
	text, err := core.EncodeAny(n)
	return unsendable.Replace(string(text)), err
}

// unsendable are the characters that JSON may contain and the services refuse. They are escaped,
// which means the same, because JSON has them in strings alone.
var unsendable = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

// TooLarge is the result of a notice that never fits.
func TooLarge(size int) delivery.Result {
	return delivery.Result{Outcome: notice.Hopeless, Error: fmt.Sprintf("the notice takes up %d bytes, and the service takes %d", size, MostBytes)}
}

// Failed is the result of a request that failed. What is shown has the service's code and none of
// its text, which names resources of the account.
func Failed(service string, err error) delivery.Result {
	r := delivery.Result{Outcome: notice.Refused, Error: service + " did not answer"}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		r.Status = answer.HTTPStatusCode()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		r.Error = service + " refused the notice: " + api.ErrorCode()
	}
	return r
}
