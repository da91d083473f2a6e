package awsnotify

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/notify"
)

// function handles events of the queue and of the HTTP API. It sends test notices because it has
// the secrets that sign them, which the functions of the API must not read.
type function struct{ lines, tests lambda.Handler }

// Invoke implements [lambda.Handler].
func (f function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var event struct {
		RequestContext json.RawMessage `json:"requestContext"` // of the HTTP API alone
	}
	if err := json.Unmarshal(payload, &event); err == nil && event.RequestContext != nil {
		return f.tests.Invoke(ctx, payload)
	}
	return f.lines.Invoke(ctx, payload)
}

// tests answers requests for test notices.
func tests(p awsenv.Notify, to *notify.Endpoints) (awsapi.Gateway, error) {
	desk := webhooks.New(webhooks.Options{Store: p.Store, Deliveries: p.Store, Waker: p.Waker, Clock: p.Clock, Random: p.Random, Test: to.Test})
	return awsapi.Tests(awsapi.Options{Frontend: p.Frontend, Webhooks: desk, Clock: p.Clock, Access: p.Access, Version: p.Version, Logger: p.Logger})
}
