package awsenv_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// The environment alone connects the three functions: one marks, one writes, one reads.
func TestLiveTextPassesFromOneFunctionToAnother(t *testing.T) {
	double := awsdouble.New(awsdouble.Options{})
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	wake := "wake"
	queue, err := double.SQS().CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &wake})
	must(t, err)
	_, err = double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("table"))
	must(t, err)
	settings := func(more ...string) awsenv.Settings {
		env := map[string]string{"AWS_ENDPOINT_URL": server.URL, "DORMOUSE_WAKE_QUEUE_URL": *queue.QueueUrl, "DORMOUSE_LIVE_TEXT": "100ms"}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		s, err := awsenv.Read(environment(env))
		must(t, err)
		return s
	}
	api, err := awsenv.NewFront(settings(), register, new(bytes.Buffer))
	must(t, err)
	stream, err := awsenv.NewFront(settings("DORMOUSE_STREAM", "1"), register, new(bytes.Buffer))
	must(t, err)
	off, err := awsenv.NewFront(settings("DORMOUSE_LIVE_TEXT", "Off"), register, new(bytes.Buffer))
	must(t, err)
	step, err := awsenv.NewStep(settings(), register, awsenv.Dependencies{}, new(bytes.Buffer))
	must(t, err)
	if off.Watched() != nil {
		t.Error("heads are marked where live text is off")
	}
	deployTalker(t, api)
	caller := frontend.Caller{Tenant: "acme", By: "test"}
	started, err := api.Frontend.Start(t.Context(), caller, "k", wire.StartRequest{Agent: "talker", Input: core.Encode("go")})
	must(t, err)
	api.Watched()(t.Context(), "acme", started.Run.ID)
	over := make(chan error, 1)
	go func() {
		_, err := step.Engines()(slog.New(slog.DiscardHandler)).Step(t.Context(), engine.Wakeup{Tenant: "acme", Thread: started.Run.ThreadID})
		over <- err
	}()
	live := 0
	for q := (query.EventQuery{Wait: 10 * time.Second, Live: true}); ; {
		page, err := query.New(stream.Frontend).Events(t.Context(), caller, started.Run.ID, q)
		must(t, err)
		for _, e := range page.Items {
			if e.Type == "text.delta" {
				live++
			}
		}
		if q.After = page.Next; page.Done {
			break
		}
	}
	must(t, <-over)
	if live == 0 {
		t.Error("the function that streams has read no live text")
	}
}

func deployTalker(t *testing.T, f awsenv.Front) {
	t.Helper()
	text := "name: talker\nmodel: {provider: scripted, pace: 50ms, turns: [{say: " + strings.Repeat("word ", 20) + "}]}\n"
	def, err := agentfile.Parse("talker.yaml", []byte(text), nil)
	must(t, err)
	must(t, f.Store.PutDefinition(t.Context(), engine.Definition{Tenant: "acme", Name: "talker", Digest: def.Digest(), Body: def.Encode()}))
	must(t, f.Store.Deploy(t.Context(), "acme", "talker", def.Digest()))
}
