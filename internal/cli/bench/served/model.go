package served

import (
	"net/http"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Request is what the runs of a benchmark are started with. With the answer of the model and the
// arguments of its call, a question has 300 bytes.
const (
	Request   = "Order A-20419 arrived with a broken lamp. The customer asks for a refund of the lamp, not for a replacement."
	said      = "The customer's photo shows a broken shade. I refund the lamp and leave the rest of order A-20419 as it is."
	arguments = `{"order":"A-20419","amount":129.5,"currency":"EUR","reason":"lamp arrived broken, photo received"}`
)

// Work is the part of an agent file that says what the agent does: it asks for a refund.
const Work = `instructions: Settle what customers complain about. Refund what arrived broken.
tools:
  - name: refund
    description: Refunds a part of an order.
    parameters:
      type: object
      properties: {order: {type: string}, amount: {type: number}, currency: {type: string}, reason: {type: string}}
      required: [order, amount, currency]
    recorded: [{result: refunded}]
permissions: {ask: [{tool: refund, approval: refund}]}
`

// Sleeper is the file of an agent that waits, with a deadline and a reminder; %s is the address of
// the model.
const Sleeper = `name: sleeper
model: {provider: openai, model: scripted, base_url: "%s"}
groups: {finance: ["token:anna"]}
approvals: {refund: {group: finance, remind: {after: 72h}, deadline: 168h}}
` + Work

// Refunded says whether the conversation in a request to the model has the result of the refund.
func Refunded(request string) bool { return strings.Contains(request, `"role":"tool"`) }

// Reply answers a request to the model in the protocol of OpenAI: with a call of the refund, or the
// end once that is done.
func Reply(w http.ResponseWriter, refunded bool) {
	message := map[string]any{"role": "assistant", "content": "The lamp is refunded."}
	finish := "stop"
	if !refunded {
		finish = "tool_calls"
		message["content"] = said
		message["tool_calls"] = []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "refund", "arguments": arguments}}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(core.Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": 300, "completion_tokens": 60}}))
}
