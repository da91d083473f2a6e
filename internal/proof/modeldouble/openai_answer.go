package modeldouble

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// openAIAnswer is one answer on its way.
type openAIAnswer struct {
	openAI
	w     http.ResponseWriter
	said  Said
	model string
	usage bool // it was asked for
	shown int
}

// openAIReasoning, text and calls of a turn; this wire knows no other order.
func openAIReasoning(t core.Turn) string { return core.ReasoningOf(t.Content) }

func openAISays(t core.Turn) string {
	if t.Content != nil {
		return core.TextOf(t.Content)
	}
	return t.Text
}

// stream sends the deltas, then why it stopped, then what it used.
func (a *openAIAnswer) stream() {
	defer func() {
		if p := recover(); p != nil && p != any(openAICut{}) {
			panic(p)
		}
	}()
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.delta(`{"role":"assistant","content":""}`)
	a.pieces(openAIReasoning(a.said.Turn), func(piece string) string {
		return fmt.Sprintf(`{%q:%s}`, cmp.Or(a.Reasoning, "reasoning_content"), piece)
	})
	a.pieces(openAISays(a.said.Turn), func(piece string) string { return fmt.Sprintf(`{"content":%s}`, piece) })
	a.breakHere()
	if len(a.OpenAIQuirks.Calls) > 0 {
		a.wholeCalls()
	} else {
		a.calls()
	}
	a.event(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","model":%s,"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`,
		core.Encode(a.model), openAIFinish(a.said)))
	if a.usage && a.said.Fault != NoUsage {
		a.event(fmt.Sprintf(`{"id":"c","choices":[],"usage":%s}`, a.used()))
	}
	if !a.NoDone {
		a.event("[DONE]")
	}
}

func (a *openAIAnswer) calls() {
	for i, c := range a.said.Turn.Calls {
		a.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`,
			i, core.Encode(c.ID), core.Encode(c.Name)))
		a.pieces(openAIWritten(c.Arguments), func(piece string) string {
			return fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, piece)
		})
	}
}

// openAIWritten is a call's arguments as the model wrote them: a JSON string stands for what is no
// JSON.
func openAIWritten(arguments json.RawMessage) string {
	var text string
	if json.Unmarshal(arguments, &text) == nil {
		return text
	}
	return string(arguments)
}

func (a *openAIAnswer) wholeCalls() {
	for i, c := range a.said.Turn.Calls {
		call := map[string]any{"type": "function", "index": i, "id": c.ID}
		function := map[string]any{"name": c.Name, "arguments": openAIWritten(c.Arguments)}
		call["function"] = function
		for _, quirk := range a.OpenAIQuirks.Calls {
			switch quirk {
			case "object":
				function["arguments"] = c.Arguments
			case "zero":
				call["index"] = 0
			default:
				delete(call, quirk)
			}
		}
		a.delta(fmt.Sprintf(`{"tool_calls":[%s]}`, core.Encode(call)))
	}
}

// pieces sends a text in deltas, cut at any byte.
func (a *openAIAnswer) pieces(text string, delta func(quoted string) string) {
	size := cmp.Or(a.said.Piece, max(len(text), 1))
	for piece := range slices.Chunk([]byte(text), size) {
		a.delta(delta(string(openAIQuote(piece))))
	}
}

// openAIQuote is a JSON string of bytes, half a character among them: some endpoints cut there.
func openAIQuote(piece []byte) []byte {
	out := []byte{'"'}
	for _, c := range piece {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func (a *openAIAnswer) delta(delta string) {
	a.event(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","model":%s,"choices":[{"index":0,"delta":%s,"finish_reason":null}],"usage":null}`,
		core.Encode(a.model), delta))
	if a.said.Shown != nil {
		a.said.Shown(a.shown)
	}
	a.shown++
}

func (a *openAIAnswer) event(data string) {
	end := "\n\n"
	switch {
	case a.Tight && data == "[DONE]":
		end = ""
	case a.Tight:
		end = "\n"
	}
	a.send([]byte("data: " + data + end))
}

func (a *openAIAnswer) send(raw []byte) {
	if _, err := a.w.Write(raw); err != nil {
		panic(http.ErrAbortHandler) // nobody reads any more
	}
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// openAICut is panicked with to end an answer in order, and too early.
type openAICut struct{}

// breakHere does the fault, if it is one of the middle of a stream.
func (a *openAIAnswer) breakHere() {
	late := func(e openAIError) {
		a.event(string(core.Encode(map[string]any{"error": e})))
		panic(openAICut{})
	}
	switch a.said.Fault {
	case Cut:
		panic(openAICut{})
	case Aborted:
		panic(http.ErrAbortHandler)
	case HalfFrame:
		a.send([]byte(`data: {"id":"c","choices":[{"index":0,"delta":{"content":"ha`))
		panic(http.ErrAbortHandler)
	case Garbled:
		a.event(`{"id":"c","choices":[{"index":0,"delta":{"content":"}`)
	case LateThrottled:
		late(openAIError{Message: "Rate limit reached", Type: "requests", Code: "rate_limit_exceeded"})
	case LateError:
		late(openAIError{Message: "The server had an error", Type: "server_error"})
	case UnknownEvent:
		a.send([]byte("event: progress\ndata: {\"done\": 0.5}\n\n: a comment\n\n"))
		a.event(`{"id":"c","object":"something.new","news":[1]}`)
	}
}

// whole is the answer in one piece.
func (a *openAIAnswer) whole() {
	message := map[string]any{"role": "assistant", "content": openAISays(a.said.Turn)}
	if thought := openAIReasoning(a.said.Turn); thought != "" {
		message[cmp.Or(a.Reasoning, "reasoning_content")] = thought
	}
	var calls []any
	for _, c := range a.said.Turn.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": openAIWritten(c.Arguments)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	body := map[string]any{"id": "c", "object": "chat.completion", "model": a.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": openAIFinish(a.said)}}, "usage": a.used()}
	a.sendWhole(body)
}

func (a *openAIAnswer) sendWhole(body map[string]any) {
	a.w.Header().Set("Content-Type", "application/json")
	switch a.said.Fault {
	case NoUsage:
		delete(body, "usage")
	case UnknownEvent:
		body["news"] = []int{1}
	case LateThrottled:
		body = map[string]any{"error": openAIError{Message: "Rate limit reached", Type: "requests", Code: "rate_limit_exceeded"}}
	case LateError:
		body = map[string]any{"error": openAIError{Message: "The server had an error", Type: "server_error"}}
	}
	raw := []byte(core.Encode(body))
	switch a.said.Fault {
	case Cut:
		a.send(raw[:len(raw)/2])
	case Aborted, HalfFrame:
		a.send(raw[:len(raw)/2])
		panic(http.ErrAbortHandler)
	case Garbled:
		a.send(bytes.ReplaceAll(raw, []byte(`"choices":`), []byte(`"choices" `)))
	default:
		a.send(raw)
	}
}

// used is what a turn says that it used.
func (a *openAIAnswer) used() json.RawMessage {
	t := a.said.Turn
	return core.Encode(map[string]any{"prompt_tokens": t.InputTokens, "completion_tokens": t.OutputTokens, "total_tokens": t.InputTokens + t.OutputTokens,
		"prompt_tokens_details": map[string]any{"cached_tokens": t.CacheRead}})
}
