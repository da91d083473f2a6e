// Package awsrequest sends signed requests to services of AWS of which a function calls a single
// operation. The SDK's client of such a service builds the schemas of all its operations when the
// program starts: those of Systems Manager and Lambda take a third of a function's start. The
// signature, the HTTP client, the rules for retries and the types of errors are the SDK's.
package awsrequest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dormouse-dev/dormouse/internal/machine"
)

// Client sends requests to one service. It is safe for concurrent use.
type Client struct {
	service string
	config  aws.Config
	http    aws.HTTPClient
	base    func() (string, error)
}

// New returns a client of a service by the name in its address, such as ssm. If the configuration
// has a base endpoint, the client sends to that one. It makes no network request.
func New(service string, c aws.Config) *Client {
	made := &Client{service: service, config: c, http: c.HTTPClient}
	if made.http == nil {
		made.http = awshttp.NewBuildableClient()
	}
	made.base = sync.OnceValues(func() (string, error) { return endpoint(service, c) })
	return made
}

// endpoint is the address of the service. The domain depends on the region's partition, which the
// SDK's client of SQS knows; every function links that one.
func endpoint(service string, c aws.Config) (string, error) {
	if c.BaseEndpoint != nil {
		return strings.TrimSuffix(*c.BaseEndpoint, "/"), nil
	}
	queues, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), sqs.EndpointParameters{Region: &c.Region})
	if err != nil {
		return "", fmt.Errorf("finding the endpoint of %s in %s: %w", service, c.Region, err)
	}
	domain, ok := strings.CutPrefix(queues.URI.Host, "sqs.")
	if !ok {
		return "", fmt.Errorf("finding the endpoint of %s in %s: that of SQS is %s", service, c.Region, queues.URI.Host)
	}
	return "https://" + service + "." + domain, nil
}

// Request is a request. Path is escaped, and begins with a slash.
type Request struct {
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
}

// Response is an answer with a status below 300.
type Response struct {
	Header http.Header
	Body   []byte
}

// Post sends a request, and sends it again as the configuration's retryer says. The service's
// refusal is an [smithy.APIError] in an [awshttp.ResponseError].
func (c *Client) Post(ctx context.Context, r Request) (Response, error) {
	return c.patiently(ctx, http.MethodPost, r)
}

// Get reads, as Post sends.
func (c *Client) Get(ctx context.Context, r Request) (Response, error) {
	return c.patiently(ctx, http.MethodGet, r)
}

func (c *Client) patiently(ctx context.Context, method string, r Request) (Response, error) {
	retryer := aws.Retryer(aws.NopRetryer{})
	if c.config.Retryer != nil {
		retryer = c.config.Retryer()
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.once(ctx, method, r)
		if err == nil || ctx.Err() != nil || attempt >= retryer.MaxAttempts() || !retryer.IsErrorRetryable(err) {
			return answer, err
		}
		pause, broken := retryer.RetryDelay(attempt, err)
		if broken != nil || machine.Sleep(ctx, pause) != nil {
			return answer, err
		}
	}
}

// PostOnce sends a request once.
func (c *Client) PostOnce(ctx context.Context, r Request) (Response, error) {
	return c.once(ctx, http.MethodPost, r)
}

func (c *Client) once(ctx context.Context, method string, r Request) (Response, error) {
	request, err := c.signed(ctx, method, r)
	if err != nil {
		return Response{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Response{}, &smithyhttp.RequestSendError{Err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	switch {
	case err != nil:
		return Response{}, fmt.Errorf("reading the answer of %s: %w", c.service, err)
	case len(body) > mostAnswer:
		return Response{}, fmt.Errorf("the answer of %s is longer than %d bytes", c.service, mostAnswer)
	case response.StatusCode >= 300:
		return Response{}, refusal(response, body)
	}
	return Response{response.Header, body}, nil
}

// mostAnswer is more than any service called this way may send.
const mostAnswer = 16 << 20

func (c *Client) signed(ctx context.Context, method string, r Request) (*http.Request, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	address := base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		request.Header[name] = values
	}
	traced(request.Header)
	if c.config.Credentials == nil {
		return nil, errors.New("there are no credentials")
	}
	credentials, err := c.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding credentials: %w", err)
	}
	sum := sha256.Sum256(r.Body)
	return request, v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), c.service, c.config.Region, time.Now())
}

// traced passes the trace of the invocation on, by which Lambda detects loops.
func traced(h http.Header) {
	trace := os.Getenv("_X_AMZN_TRACE_ID")
	if _, inLambda := os.LookupEnv("AWS_LAMBDA_FUNCTION_NAME"); inLambda && trace != "" {
		h.Set("X-Amzn-Trace-Id", trace)
	}
}

// refusal is the error of an answer.
func refusal(response *http.Response, body []byte) error {
	var said struct {
		Type    string `json:"__type"`
		Message string
		Code    any
	}
	_ = json.Unmarshal(body, &said) // a proxy may have answered
	code, _ := said.Code.(string)
	for _, named := range []string{said.Type, response.Header.Get("X-Amzn-Errortype")} {
		if named != "" {
			code = named
		}
	}
	code, _, _ = strings.Cut(code, ":")
	if _, short, found := strings.Cut(code, "#"); found {
		code = short
	}
	if code == "" {
		code = "UnknownError"
	}
	return &awshttp.ResponseError{RequestID: response.Header.Get("X-Amzn-Requestid"), ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: response}, Err: &smithy.GenericAPIError{Code: code, Message: said.Message}}}
}
