// Package awsmail sends the mail of a stack through Amazon SES.
package awsmail

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/notify/ses"
)

// Sender sends mail from the address that the stack has; nil if it has none.
func Sender(s stack.Settings, clock engine.Clock) *ses.Sender {
	if s.MailFrom == "" {
		return nil
	}
	config := s.Config()
	config.Retryer = throttled
	api := sesv2.NewFromConfig(config, func(o *sesv2.Options) { o.BaseEndpoint = stack.Endpoint(s.Endpoints.SES, o.BaseEndpoint) })
	return ses.New(ses.Options{API: api, From: s.MailFrom, Clock: clock})
}

// throttled repeats what SES throttled, which it has not sent: a notice to ten people is ten
// requests, and a new account may send one per second.
func throttled() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = 4, 2*time.Second, ratelimit.None
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
	})
}
