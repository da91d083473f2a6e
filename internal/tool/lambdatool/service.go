package lambdatool

import (
	"context"
	"net/http"
	"net/url"

	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
)

// Service is the client that functions use: it sends the one request that is needed and links no
// other.
func Service(c *awsrequest.Client) Client { return service{c} }

type service struct{ client *awsrequest.Client }

// Invoke implements [Client].
func (s service) Invoke(ctx context.Context, i Invocation) (Answer, error) {
	r := awsrequest.Request{Path: "/2015-03-31/functions/" + httpbinding.EscapePath(i.Function, true) + "/invocations", Body: i.Event,
		Header: http.Header{"Content-Type": {"application/octet-stream"}, "X-Amz-Invocation-Type": {"RequestResponse"}, "X-Amz-Client-Context": {i.Context}}}
	if i.Qualifier != "" {
		r.Query = url.Values{"Qualifier": {i.Qualifier}}
	}
	out, err := s.client.PostOnce(ctx, r)
	return Answer{Payload: out.Body, Failed: out.Header.Get("X-Amz-Function-Error") != ""}, err
}
