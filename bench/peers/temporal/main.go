// Command temporal is an agent as a workflow of Temporal, with its worker, behind a small HTTP
// server. Each step of the model and each tool call is an activity, and an approval is a signal.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
)

var words = strings.Fields("lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame")

// look is the tool.
func look(_ context.Context, order int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Order %d:", order)
	for x := uint32(order); b.Len() < 2000; {
		x = (x*1103515245 + 12345) & 0x7fffffff
		b.WriteString(" " + words[(x>>16)%20])
	}
	return b.String()[:2000], nil
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// conversations are what the workflows of this worker have built, by their id. As an argument of an
// activity, a conversation would be stored again in each step.
var conversations sync.Map

func agent(ctx workflow.Context) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	messages := []message{{Role: "user", Content: "Settle the orders of this week."}}
	if err := workflow.SetQueryHandler(ctx, "conversation", func() ([]message, error) { return messages, nil }); err != nil {
		return "", err
	}
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	defer conversations.Delete(id)
	for {
		conversations.Store(id, messages)
		var turn message
		if err := workflow.ExecuteActivity(ctx, "ask", len(messages)).Get(ctx, &turn); err != nil {
			return "", err
		}
		messages = append(messages, turn)
		if len(turn.ToolCalls) == 0 {
			return turn.Content, nil
		}
		call := turn.ToolCalls[0]
		var arguments struct{ Order int }
		if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
			return "", err
		}
		if call.Function.Name == "refund" {
			workflow.GetSignalChannel(ctx, fmt.Sprintf("approval-%d", arguments.Order)).Receive(ctx, nil)
		}
		result := message{Role: "tool", ToolCallID: call.ID}
		if err := workflow.ExecuteActivity(ctx, look, arguments.Order).Get(ctx, &result.Content); err != nil {
			return "", err
		}
		messages = append(messages, result)
	}
}

// model has the activity that asks it.
type model struct{ temporal client.Client }

// ask sends the conversation, which has a number of messages.
func (m model) ask(ctx context.Context, number int) (turn message, err error) {
	id := activity.GetInfo(ctx).WorkflowExecution.ID
	kept, _ := conversations.Load(id)
	messages, _ := kept.([]message)
	if len(messages) != number {
		value, err := m.temporal.QueryWorkflow(ctx, id, "", "conversation")
		if err != nil {
			return turn, err
		}
		if err := value.Get(&messages); err != nil {
			return turn, err
		}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"model": "scripted", "messages": messages}); err != nil {
		return turn, err
	}
	response, err := http.Post(os.Getenv("MODEL_URL")+"/chat/completions", "application/json", &body)
	if err != nil {
		return turn, err
	}
	defer response.Body.Close()
	var answer struct{ Choices []struct{ Message message } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return turn, err
	}
	return answer.Choices[0].Message, nil
}

const queue = "agents"

// serve answers HTTP requests.
func serve(temporal client.Client) error {
	handle := func(pattern string, f func(r *http.Request, run string) error) {
		http.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f(r, r.PathValue("run")); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	handle("POST /runs/{run}", func(r *http.Request, run string) error {
		_, err := temporal.ExecuteWorkflow(r.Context(), client.StartWorkflowOptions{ID: run, TaskQueue: queue}, agent)
		return err
	})
	handle("POST /runs/{run}/approve", func(r *http.Request, run string) error {
		var body struct{ Step int }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return err
		}
		return temporal.SignalWorkflow(r.Context(), run, "", fmt.Sprintf("approval-%d", body.Step), nil)
	})
	handle("GET /runs/{run}/done", func(r *http.Request, run string) error {
		return temporal.GetWorkflow(r.Context(), run, "").Get(r.Context(), nil)
	})
	return http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}

// connect creates the namespace of a new server, once it is up, and starts a worker.
func connect() (client.Client, error) {
	options := client.Options{HostPort: os.Getenv("SERVER"), Namespace: "bench",
		Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))}
	namespaces, err := client.NewNamespaceClient(options)
	if err != nil {
		return nil, err
	}
	defer namespaces.Close()
	err = namespaces.Register(context.Background(), &workflowservice.RegisterNamespaceRequest{
		Namespace: options.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		return nil, err
	}
	temporal, err := client.Dial(options)
	if err != nil {
		return nil, err
	}
	w := worker.New(temporal, queue, worker.Options{})
	w.RegisterWorkflow(agent)
	w.RegisterActivity(look)
	w.RegisterActivityWithOptions(model{temporal}.ask, activity.RegisterOptions{Name: "ask"})
	return temporal, w.Start()
}

func main() {
	for range 300 {
		temporal, err := connect()
		if err == nil {
			log.Fatal(serve(temporal))
		}
		log.Print(err)
		time.Sleep(100 * time.Millisecond)
	}
}
