package openai

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// call is one Ask at hand.
type call struct {
	*Model
	names   names
	prompt  engine.Prompt
	params  map[string]json.RawMessage
	secrets secret.Values
	say     speaker
}

// compose reads what the hooks want of this request; the body is made for each time it is sent,
// since what the endpoint takes may be learnt in between.
func (m *Model) compose(p engine.Prompt) (*call, error) {
	params, err := m.parameters(p.Parameters)
	if err != nil {
		return nil, err
	}
	return &call{Model: m, names: namesOf(p), prompt: p, params: params}, nil
}

// body is the request as JSON, its members in the order of their names: the same prompt is the same
// bytes.
func (c *call) body() []byte {
	body := maps.Clone(c.further)
	if body == nil {
		body = map[string]json.RawMessage{}
	}
	maps.Copy(body, c.params)
	body["messages"] = core.Encode(c.messages())
	delete(body, "tools")
	if tools := c.tools(); len(tools) > 0 {
		body["tools"] = core.Encode(tools)
	} else {
		delete(body, "tool_choice") // refused where there is nothing to choose
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
	return core.Encode(body)
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

// parameters are the members of a request that are neither the conversation nor how it is sent: the
// agent's, and over them the hooks'.
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
			return nil, &engine.ModelError{Detail: fmt.Sprintf("a hook set the parameter %s to what is %s; correct the hook", name, known.wrong)}
		}
		p[known.member] = raw
	}
	for member, raw := range p {
		if !json.Valid(raw) {
			return nil, &engine.ModelError{Detail: "the agent's " + member + " is no number; correct it"}
		}
	}
	return p, nil
}

// hookParameters are those that hooks may set for one request; others are not for this provider.
var hookParameters = map[string]struct {
	member, wrong string
	fits          func(json.RawMessage) bool
}{
	"model":          {"model", "no text", isOf[string]},
	"effort":         {"reasoning_effort", "no text", isOf[string]},
	"temperature":    {"temperature", "no number", isOf[float64]},
	"top_p":          {"top_p", "no number", isOf[float64]},
	"max_tokens":     {"max_tokens", "no whole number", isOf[int64]},
	"stop_sequences": {"stop", "no list of texts", isOf[[]string]},
}

func isOf[T any](raw json.RawMessage) bool {
	var v T
	return !core.IsNull(raw) && json.Unmarshal(raw, &v) == nil
}
