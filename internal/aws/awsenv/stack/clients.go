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
	// attempts is how often the SDK sends one request, with pauses by chance up to
	// longestPause. What is above asks again, or gives the message back.
	attempts, longestPause = 3, time.Second

	// requestTime bounds one attempt: an answer that does not come must not cost the
	// invocation.
	requestTime = 10 * time.Second
)

// Config is what clients are made of. It is made by hand: the SDK's own loader looks at files and
// the network, which costs a function's start more than everything else.
func (s Settings) Config() aws.Config {
	c := aws.Config{Region: s.Region, Credentials: aws.CredentialsProviderFunc(s.credentials),
		HTTPClient: awshttp.NewBuildableClient().WithTimeout(requestTime), Retryer: retryer}
	if s.Endpoints.All != "" {
		c.BaseEndpoint = aws.String(s.Endpoints.All)
	}
	return c
}

// retryer has no budget over all requests: each is bounded by itself.
func retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, longestPause, ratelimit.None
	})
}

func (s Settings) credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: s.Credentials.KeyID, SecretAccessKey: s.Credentials.Secret, SessionToken: s.Credentials.Session,
		Source: "environment"}, nil
}

// DynamoDB is the client of the table. How often it sends a request again is the store's own
// choice.
func (s Settings) DynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.Config(), dynamo.Retries(),
		func(o *dynamodb.Options) { o.BaseEndpoint = endpoint(s.Endpoints.DynamoDB, o.BaseEndpoint) })
}

// SQS is the client of the queues.
func (s Settings) SQS() *sqs.Client {
	return sqs.NewFromConfig(s.Config(), func(o *sqs.Options) { o.BaseEndpoint = endpoint(s.Endpoints.SQS, o.BaseEndpoint) })
}

func endpoint(own string, otherwise *string) *string {
	if own != "" {
		return &own
	}
	return otherwise
}
