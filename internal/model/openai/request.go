package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/jsonappend"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// call is one execution of Ask.
type call struct {
	*Model
	names   names
	prompt  engine.Prompt
	params  map[string]json.RawMessage
	secrets secret.Values
	say     speaker
}

// compose reads the hooks' changes to this request. The body is built for each attempt, because an
// attempt may learn what the endpoint does not support.
func (m *Model) compose(p engine.Prompt) (*call, error) {
	params, err := m.parameters(p.Parameters)
	if err != nil {
		return nil, err
	}
	return &call{Model: m, names: namesOf(p), prompt: p, params: params}, nil
}

// body returns the request as JSON with its members sorted by name, so that equal prompts produce
// equal bytes.
func (c *call) body() []byte {
	body := map[string]json.RawMessage{}
	for name, raw := range c.further {
		body[name] = core.Encode(raw) // as the file has it, with spaces
	}
	maps.Copy(body, c.params)
	body["messages"] = nil
	delete(body, "tools")
	if tools := c.tools(); len(tools) > 0 {
		body["tools"] = core.Encode(tools)
	} else {
		delete(body, "tool_choice") // rejected without tools
		delete(body, "parallel_tool_calls")
	}
	if !core.IsNull(c.o.Model.Output) {
		body["response_format"] = core.Encode(map[string]any{"type": "json_schema",
			"json_schema": map[string]any{"name": "output", "schema": c.o.Model.Output}})
	}
	body["stream"] = core.Encode(!c.o.Model.Whole)
	delete(body, "stream_options")
	if c.asksUsage() {
		body["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	return c.written(body)
}

// written writes the members of a request. The conversation, which is most of it, is written in its
// place and not copied there.
func (c *call) written(members map[string]json.RawMessage) []byte {
	out := append(make([]byte, 0, c.size()), '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonappend.Text(out, name), ':')
		if name != "messages" {
			out = append(out, members[name]...)
			continue
		}
		out = c.appendMessages(out)
	}
	return append(out, '}')
}

// size estimates how long the request is.
func (c *call) size() int {
	const names, rest = 150, 4 << 10
	n := rest + len(c.prompt.Instructions)
	for _, m := range c.prompt.Messages {
		n += names
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Data)/3*4
		}
		for _, call := range m.Calls {
			n += names + len(call.Arguments)
		}
	}
	return n + n/16
}

func (c *call) asksUsage() bool { return !c.o.Model.Whole && !c.noUsageOption.Load() }

func (c *call) tools() (out []any) {
	for _, t := range c.prompt.Tools {
		schema := t.Parameters
		if core.IsNull(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		f := map[string]any{"name": c.names.there[t.Name], "parameters": schema}
		if t.Description != "" {
			f["description"] = t.Description
		}
		out = append(out, map[string]any{"type": "function", "function": f})
	}
	return out
}

// parameters returns the members of a request other than the conversation and the transport: the
// agent's, overridden by the hooks'.
func (m *Model) parameters(hooks map[string]any) (map[string]json.RawMessage, error) {
	is := m.o.Model
	p := map[string]json.RawMessage{"model": core.Encode(is.ID)}
	if is.MaxTokens > 0 {
		p["max_tokens"] = core.Encode(is.MaxTokens)
	}
	for member, n := range map[string]json.Number{"temperature": is.Temperature, "top_p": is.TopP} {
		if n != "" {
			p[member] = json.RawMessage(n)
		}
	}
	for member, text := range map[string]string{"reasoning_effort": is.Effort, "service_tier": is.Tier} {
		if text != "" {
			p[member] = core.Encode(text)
		}
	}
	if len(is.StopSequences) > 0 {
		p["stop"] = core.Encode(is.StopSequences)
	}
	for name, known := range hookParameters {
		value, given := hooks[name]
		if !given {
			continue
		}
		raw, err := core.EncodeAny(value)
		if err != nil || !known.fits(raw) {
			return nil, &engine.ModelError{Detail: fmt.Sprintf("a hook set the parameter %s to a value that is %s; correct the hook", name, known.wrong)}
		}
		p[known.member] = raw
	}
	for member, raw := range p {
		if !json.Valid(raw) {
			return nil, &engine.ModelError{Detail: "the agent's " + member + " is not a number; correct it"}
		}
	}
	return p, nil
}

// hookParameters are the parameters that hooks may set for one request. Others are for other
// providers.
var hookParameters = map[string]struct {
	member, wrong string
	fits          func(json.RawMessage) bool
}{
	"model":          {"model", "not a text", isOf[string]},
	"effort":         {"reasoning_effort", "not a text", isOf[string]},
	"temperature":    {"temperature", "not a number", isOf[float64]},
	"top_p":          {"top_p", "not a number", isOf[float64]},
	"max_tokens":     {"max_tokens", "not a whole number", isOf[int64]},
	"stop_sequences": {"stop", "not a list of texts", isOf[[]string]},
}

func isOf[T any](raw json.RawMessage) bool {
	var v T
	return !core.IsNull(raw) && json.Unmarshal(raw, &v) == nil
}
