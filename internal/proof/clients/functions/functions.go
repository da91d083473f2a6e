// Package functions serves the functions of a stack in one process, on doubles of DynamoDB and SQS:
// those that answer callers, the one that performs steps, and the one that delivers notices. In
// front of them are the routes, authorizers and preflight answers of template.yaml, and the address
// of streams, which browsers take for another site.
package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsdecision"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsnotify"
	"github.com/dormouse-dev/dormouse/internal/aws/awsruns"
	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/gateway"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Options say what is deployed.
type Options struct {
	Root    string // of the repository
	Program dormouse.Program
	Agents  string // the directory of their files
	Origins []string
	Open    bool      // requests without a token are an admin's
	Out     io.Writer // of log lines
}

// Stack is functions that are served.
type Stack struct {
	API, Streams string // their addresses

	o       Options
	issuer  *platform.Issuer
	double  *awsdouble.Double
	queues  map[string]string // URL by name
	cancel  context.CancelFunc
	running sync.WaitGroup
	servers []*http.Server
}

const (
	tenant    = "acme"
	table     = "stack"
	wakeQueue = "wake"
	noteQueue = "notify"
	workers   = 4
)

// Start deploys the agents and serves the functions until the caller closes the stack.
func Start(ctx context.Context, o Options) (s *Stack, err error) {
	s = &Stack{o: o, issuer: platform.NewIssuer(), double: awsdouble.New(awsdouble.Options{}), queues: map[string]string{}}
	ctx, s.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := s.provision(ctx); err != nil {
		return s, err
	}
	api, streams, endpoint := &late{}, &late{}, ""
	for _, l := range []struct {
		address *string
		handler http.Handler
	}{{&endpoint, s.double}, {&s.API, api}, {&s.Streams, streams}} {
		if *l.address, err = s.listen(l.handler); err != nil {
			return s, err
		}
	}
	return s, s.serve(ctx, endpoint, api, streams)
}

// late is a handler that is known only when addresses are.
type late struct{ http.Handler }

// Token is one of a caller with these roles.
func (s *Stack) Token(who string, roles ...string) string {
	return s.issuer.Token(who, tenant, roles, time.Hour)
}

// Close ends what is served.
func (s *Stack) Close() {
	s.cancel()
	for _, server := range s.servers {
		_ = server.Close() // also with open streams
	}
	s.running.Wait()
}

func (s *Stack) provision(ctx context.Context) error {
	if _, err := s.double.DynamoDB().CreateTable(ctx, dynamo.Schema(table)); err != nil {
		return err
	}
	for _, name := range []string{wakeQueue, noteQueue, "intake", "dead"} {
		out, err := s.double.SQS().CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			return err
		}
		s.queues[name] = *out.QueueUrl
	}
	tools := tool.NewRegistry(nil)
	if err := binding.New(s.o.Program).Tools(tools, binding.InFunction()); err != nil {
		return err
	}
	store := dynamo.New(s.double.DynamoDB(), dynamo.Options{Table: table, Clock: machine.Clock{}, Random: machine.Random{}})
	_, err := program.NewAgents(store, program.Program{Tools: tools, Dir: s.o.Agents, Clock: machine.Clock{}}).Deploy(ctx, tenant)
	return err
}

func (s *Stack) listen(h http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	s.servers = append(s.servers, server)
	s.running.Go(func() { _ = server.Serve(l) })
	return "http://" + l.Addr().String(), nil
}

// settings are those of a function, with the addresses of this process.
func (s *Stack) settings(endpoint string, more map[string]string) (awsenv.Settings, error) {
	common := map[string]string{"DORMOUSE_TABLE": table, "DORMOUSE_WAKE_QUEUE_URL": s.queues[wakeQueue], "DORMOUSE_NOTIFY_QUEUE_URL": s.queues[noteQueue],
		"AWS_REGION": servers.Region, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": endpoint, "DORMOUSE_PUBLIC_URL": s.API,
		"DORMOUSE_AUTH": "JWT", "DORMOUSE_TENANT_CLAIM": "tenant", "DORMOUSE_ROLES_CLAIM": "roles", "DORMOUSE_JWT_ISSUER": s.issuer.Name,
		"DORMOUSE_STREAM_URL": s.Streams, "DORMOUSE_PRIVATE_HOSTS": "127.0.0.1", "DORMOUSE_LIVE_TEXT": "300ms", "DORMOUSE_ORIGINS": strings.Join(s.o.Origins, ",")}
	maps.Copy(common, more)
	return awsenv.Read(func(name string) string { return common[name] })
}

func (s *Stack) serve(ctx context.Context, endpoint string, api, streams *late) error {
	base, err1 := s.settings(endpoint, nil)
	streaming, err2 := s.settings(endpoint, map[string]string{"DORMOUSE_STREAM": "1"})
	silent, err3 := s.settings(endpoint, map[string]string{"DORMOUSE_STREAM_URL": ""})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	register := func() awsenv.Register { return binding.New(s.o.Program).Lambda }
	runs, err1 := awsruns.Open(base, register(), s.o.Out)
	shown, err2 := awsruns.Open(streaming, register(), s.o.Out)
	decisions, err3 := awsdecision.Open(base, register(), s.o.Out)
	step, err4 := awsstep.Open(base, awsstep.Program{Register: register()}, s.o.Out)
	notify, err5 := awsnotify.Open(silent, register(), func() float64 { return 0 }, s.o.Out)
	text, err6 := os.ReadFile(filepath.Join(s.o.Root, "template.yaml"))
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	front, err := readTemplate(text, s.issuer.Name, s.o.Origins)
	if err != nil {
		return err
	}
	called := calls{"ApiFunction": buffered(runs.(awsapi.Gateway)), "DecisionFunction": buffered(decisions), "StreamFunction": streamed(shown.(awsapi.URL))}
	log := slog.New(slog.NewTextHandler(s.o.Out, nil))
	api.Handler = s.admitted(&gateway.API{Stack: front, Invoke: called.invoke, Keys: s.issuer.Keys(), Now: time.Now, Logger: log})
	streams.Handler = &gateway.URL{Stack: front, URL: front.URLs[0], Invoke: called.invoke, Now: time.Now, Logger: log}
	handler := awsstep.New(step, func() float64 { return 0 })
	for range workers {
		s.running.Go(func() { s.work(ctx, wakeQueue, handler.Handle) })
		s.running.Go(func() { s.work(ctx, noteQueue, batched(notify)) })
	}
	return nil
}

// admitted gives requests without a token one, where the stack is open.
func (s *Stack) admitted(next http.Handler) http.Handler {
	if !s.o.Open {
		return next
	}
	token := "Bearer " + s.Token("page", "admin")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", token)
		}
		next.ServeHTTP(w, r)
	})
}

// batch is a function that takes messages of a queue.
type batch func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

func batched(h lambda.Handler) batch {
	return func(ctx context.Context, e events.SQSEvent) (answer events.SQSEventResponse, err error) {
		raw, err := json.Marshal(e)
		if err == nil {
			raw, err = h.Invoke(ctx, raw)
		}
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		return answer, err
	}
}

// work hands the wake-ups of a queue to its function.
func (s *Stack) work(ctx context.Context, name string, step batch) {
	queue, api := s.queues[name], s.double.SQS()
	for ctx.Err() == nil {
		got, err := api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &queue, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}})
		if err != nil || len(got.Messages) == 0 {
			continue
		}
		m := got.Messages[0]
		within, cancel := context.WithTimeout(ctx, time.Minute)
		answer, err := step(within, events.SQSEvent{Records: []events.SQSMessage{{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
			Attributes: m.Attributes, EventSourceARN: "arn:aws:sqs:" + servers.Region + ":" + servers.Account + ":" + name}}})
		cancel()
		if err == nil && len(answer.BatchItemFailures) == 0 {
			// else it comes again
			_, _ = api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: m.ReceiptHandle})
		}
	}
}

// calls are the functions by their names.
type calls map[string]gateway.Invoker

func (c calls) invoke(ctx context.Context, function string, event []byte) (string, io.ReadCloser, error) {
	call, there := c[function]
	if !there {
		return "", nil, fmt.Errorf("the function %s isn't served here", function)
	}
	return call(ctx, function, event)
}

// buffered is a function whose answer is whole, with the time that it has.
func buffered(h awsapi.Gateway) gateway.Invoker {
	return func(ctx context.Context, _ string, raw []byte) (string, io.ReadCloser, error) {
		ctx, cancel := context.WithTimeout(ctx, 29*time.Second)
		defer cancel()
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(raw, &e); err != nil {
			return "", nil, err
		}
		answer, err := h(ctx, e)
		if err != nil {
			return "", nil, err
		}
		body, err := json.Marshal(answer)
		return "application/json", io.NopCloser(strings.NewReader(string(body))), err
	}
}

func streamed(h awsapi.URL) gateway.Invoker {
	return func(ctx context.Context, _ string, raw []byte) (string, io.ReadCloser, error) {
		var e events.LambdaFunctionURLRequest
		if err := json.Unmarshal(raw, &e); err != nil {
			return "", nil, err
		}
		answer, err := h(ctx, e)
		if err != nil {
			return "", nil, err
		}
		return answer.ContentType(), answer, nil
	}
}
