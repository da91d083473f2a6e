package fair

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// agentFile is the agent of both tenants; %s is the address of the model. What waits for longer
// than an hour is denied.
const agentFile = `name: desk
model: {provider: openai, model: scripted, base_url: "%s"}
tenants: [large, small]
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
groups: {desk: ["token:large", "token:small"]}
approvals: {refund: {group: desk, deadline: 1h}}
`

const (
	request   = "Order A-20419 arrived with a broken lamp. The customer asks for a refund of the lamp, not for a replacement."
	said      = "The customer's photo shows a broken shade. I refund the lamp and leave the rest of order A-20419 as it is."
	arguments = `{"order":"A-20419","amount":129.5,"currency":"EUR","reason":"lamp arrived broken, photo received"}`
)

// model is a server with the protocol of OpenAI. It asks for a refund, and then it is done.
type model struct {
	server *http.Server
	addr   string
	takes  time.Duration

	asked atomic.Int64 // how often since the last call of reached
}

// reached returns once the model was asked n times.
func (m *model) reached(ctx context.Context, n int64) error {
	m.asked.Store(0)
	for m.asked.Load() < n {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func startModel(takes time.Duration) (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{addr: listener.Addr().String(), takes: takes}
	m.server = &http.Server{Handler: m}
	go m.server.Serve(listener)
	return m, nil
}

func (m *model) close() error { return m.server.Close() }

// ServeHTTP implements [http.Handler].
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answers := time.After(m.takes)
	m.asked.Add(1)
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
	}
	select {
	case <-answers:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(core.Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": 300, "completion_tokens": 60}}))
}
