package sleepers

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// question is what the runs wait for: 300 bytes of a request, an answer of a model and arguments.
const (
	request   = "Order A-20419 arrived with a broken lamp. The customer asks for a refund of the lamp, not for a replacement."
	said      = "The customer's photo shows a broken shade. I refund the lamp and leave the rest of order A-20419 as it is."
	arguments = `{"order":"A-20419","amount":129.5,"currency":"EUR","reason":"lamp arrived broken, photo received"}`
)

// agentFile is the agent that waits; %s is the address of the model.
const agentFile = `name: sleeper
model: {provider: openai, model: scripted, base_url: "%s"}
instructions: Settle what customers complain about. Refund what arrived broken.
tools:
  - name: refund
    description: Refunds a part of an order.
    parameters:
      type: object
      properties: {order: {type: string}, amount: {type: number}, currency: {type: string}, reason: {type: string}}
      required: [order, amount, currency]
    recorded: [{result: refunded}]
permissions: {ask: [{tool: refund, approval: refund}]}
groups: {finance: ["token:anna"]}
approvals: {refund: {group: finance, remind: {after: 72h}, deadline: 168h}}
`

// model is a server with the protocol of OpenAI. It asks for a refund, and after that is done.
type model struct {
	server *http.Server
	addr   string
	asked  chan time.Time // when it was asked after a refund
}

func startModel() (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{addr: listener.Addr().String(), asked: make(chan time.Time, 1)}
	m.server = &http.Server{Handler: m}
	go m.server.Serve(listener)
	return m, nil
}

func (m *model) close() error { return m.server.Close() }

func (m *model) url() string { return "http://" + m.addr + "/v1" }

// ServeHTTP implements [http.Handler].
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body := new(strings.Builder)
	if _, err := io.Copy(body, r.Body); err != nil {
		return
	}
	message := map[string]any{"role": "assistant", "content": "The lamp is refunded."}
	finish := "stop"
	if !strings.Contains(body.String(), `"role":"tool"`) {
		finish = "tool_calls"
		message["content"] = said
		message["tool_calls"] = []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "refund", "arguments": arguments}}}
	} else {
		select {
		case m.asked <- at:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(core.Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": 300, "completion_tokens": 60}}))
}

// next returns when the model was asked.
func (m *model) next(ctx context.Context) (time.Time, error) {
	select {
	case at := <-m.asked:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}
