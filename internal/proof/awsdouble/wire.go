package awsdouble

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const (
	region          = "us-east-1"
	serviceDynamoDB = "dynamodb"
	serviceSQS      = "sqs"
)

var services = map[string]string{"DynamoDB_20120810": serviceDynamoDB, "AmazonSQS": serviceSQS}

// Config is a configuration whose clients reach the double in this process, without sockets. Their
// retries are the SDK's own, as many as it makes, without its long pauses and without the budget
// that would end them in a test with many faults.
func (d *Double) Config() aws.Config {
	return aws.Config{
		Region:      region,
		HTTPClient:  d.HTTPClient(),
		Credentials: aws.CredentialsProviderFunc(credentials),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff, o.RateLimiter = time.Millisecond, ratelimit.None })
		},
		BaseEndpoint: aws.String("http://aws.invalid"),
	}
}

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "double", SecretAccessKey: "double", Source: "awsdouble"}, nil
}

// DynamoDB returns a client of the double, by [Double.Config].
func (d *Double) DynamoDB() *dynamodb.Client { return dynamodb.NewFromConfig(d.Config()) }

// SQS returns a client of the double, by [Double.Config].
func (d *Double) SQS() *sqs.Client { return sqs.NewFromConfig(d.Config()) }

// HTTPClient brings requests to the double in this process, wherever they are addressed to. A lost
// request or reply is a connection that was reset.
func (d *Double) HTTPClient() aws.HTTPClient { return inProcess{d} }

type inProcess struct{ d *Double }

func (p inProcess) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	header, status, body, lost := p.d.exchange(r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if lost {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// ServeHTTP serves the double to other processes. A lost request or reply is a connection that is
// closed without an answer.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header, status, body, lost := d.exchange(r)
	if lost {
		panic(http.ErrAbortHandler)
	}
	for name, v := range header {
		w.Header()[name] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // a caller who is gone has no use for it
}

func (d *Double) exchange(r *http.Request) (h http.Header, status int, body []byte, lost bool) {
	prefix, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c := &call{Call: Call{Service: services[prefix], Operation: operation, Attempt: attempt(r)}, host: r.Host}
	if c.host == "" {
		c.host = r.URL.Host
	}
	if r.Body != nil {
		var err error
		if c.body, err = io.ReadAll(r.Body); err != nil {
			return nil, 0, nil, true
		}
	}
	answer, lost := d.serve(r.Context(), c)
	if lost {
		return nil, 0, nil, true
	}
	status, body = answer.encode(c.Service)
	return d.header(c, answer, body), status, body, false
}

// attempt reads the SDK's own count of how often it has tried.
func attempt(r *http.Request) int {
	for part := range strings.SplitSeq(r.Header.Get("Amz-Sdk-Request"), ";") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(part), "attempt="); ok {
			if i, err := strconv.Atoi(n); err == nil {
				return i
			}
		}
	}
	return 1
}

func (r reply) encode(service string) (status int, body []byte) {
	status, v := http.StatusOK, r.result
	if r.err != nil {
		status, v = r.err.status, r.err.body(service)
	}
	if v == nil {
		v = struct{}{}
	}
	body, err := json.Marshal(v)
	if err != nil {
		return http.StatusInternalServerError, []byte(`{"__type":"InternalServerError","message":"the double cannot encode its answer"}`)
	}
	return status, body
}

func (d *Double) header(c *call, r reply, body []byte) http.Header {
	d.mu.Lock()
	id := d.id()
	d.mu.Unlock()
	h := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {id}}
	if c.Service == serviceDynamoDB {
		h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	}
	if r.err != nil && r.err.sqs != "" {
		h.Set("X-Amzn-Query-Error", r.err.queryHeader())
	}
	return h
}
