// Package sink has what EventBridge and SNS have in common as receivers of notices.
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

// MostBytes is the size limit of a message, including its attributes.
const MostBytes = 256 << 10

// Message returns the notice as JSON, without its links. A rule or a subscription may pass the
// notice on to anyone, and anyone with a link can answer the call.
func Message(n client.Notice) (string, error) {
	n.Links = nil
	text, err := core.EncodeAny(n)
	return unsendable.Replace(string(text)), err
}

// unsendable escapes characters that the services refuse although JSON allows them. They occur only
// in strings, where the escape means the same.
var unsendable = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

// TooLarge is the result for a notice that is over the limit. Sending it again doesn't help.
func TooLarge(size int) delivery.Result {
	return delivery.Result{Outcome: notice.Hopeless, Error: fmt.Sprintf("the notice takes up %d bytes, and the service takes %d", size, MostBytes)}
}

// Failed is the result of a request that failed. It shows the service's error code, but not the
// message, which names resources of the account.
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
