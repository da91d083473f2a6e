package stack

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

const (
	// attempts is how often the SDK sends one request, with random pauses up to longestPause.
	// After that the caller retries or returns the message to the queue.
	attempts, longestPause = 3, time.Second

	// requestTime limits one attempt, so that a missing response does not use up the
	// invocation.
	requestTime = 10 * time.Second
)

// Config returns the configuration of the clients. It is built by hand, because the SDK's loader
// reads files and the network, which costs more than the rest of a function's start.
func (s Settings) Config() aws.Config {
	c := aws.Config{Region: s.Region, Credentials: aws.CredentialsProviderFunc(s.credentials),
		HTTPClient: awshttp.NewBuildableClient().WithTimeout(requestTime), Retryer: retryer}
	if s.Endpoints.All != "" {
		c.BaseEndpoint = aws.String(s.Endpoints.All)
	}
	return c
}

// retryer has no retry budget across requests: each request is limited by itself.
func retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, longestPause, ratelimit.None
	})
}

func (s Settings) credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: s.Credentials.KeyID, SecretAccessKey: s.Credentials.Secret, SessionToken: s.Credentials.Session,
		Source: "environment"}, nil
}

// DynamoDB returns the client of the table. The store decides how often a request is retried.
func (s Settings) DynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.Config(), dynamo.Retries(),
		func(o *dynamodb.Options) { o.BaseEndpoint = Endpoint(s.Endpoints.DynamoDB, o.BaseEndpoint) })
}

// SQS returns the client of the queues.
func (s Settings) SQS() *sqs.Client {
	return sqs.NewFromConfig(s.Config(), func(o *sqs.Options) { o.BaseEndpoint = Endpoint(s.Endpoints.SQS, o.BaseEndpoint) })
}

// Endpoint is the one of a service: its own if it is set, or else that of all services.
func Endpoint(own string, otherwise *string) *string {
	if own != "" {
		return &own
	}
	return otherwise
}
