package aisdk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// Supply is what a page adds to the body of its requests: the tools that it runs, context, and
// state. It is read only if the agent accepts it. For any other agent, members of these names mean
// nothing.
type Supply struct {
	Tools   json.RawMessage `json:"tools"`
	Context json.RawMessage `json:"context"`
	State   json.RawMessage `json:"state"`
}

// Empty says whether there is nothing to read.
func (s Supply) Empty() bool {
	return core.IsNull(s.Tools) && core.IsNull(s.Context) && core.IsNull(s.State)
}

// Read returns what the agent accepts of it, as the API has it. An error says what is wrong, in
// words for the caller.
func (s Supply) Read(accepts []string) (read wire.Supplied, err error) {
	if slices.Contains(accepts, supplied.AcceptTools) && !core.IsNull(s.Tools) {
		read.ClientTools, err = readTools(s.Tools)
	}
	if slices.Contains(accepts, supplied.AcceptContext) && !core.IsNull(s.Context) && json.Unmarshal(s.Context, &read.Context) != nil {
		err = errors.Join(err, errors.New("context must be a list of objects with description and value"))
	}
	if slices.Contains(accepts, supplied.AcceptState) && !core.IsNull(s.State) {
		read.State = s.State
	}
	return read, err
}

// sentTool is a tool as the SDK writes it, with the members that are read.
type sentTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Parameters  json.RawMessage `json:"parameters"` // the schema, for some user interfaces
}

// readTools reads tools in either form of the SDK: an object of tools by name, as in streamText, or
// a list of those that its models take. A provider's tools aren't the client's to run.
func readTools(raw json.RawMessage) (tools []wire.ClientTool, err error) {
	var sent []sentTool
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		var named map[string]sentTool
		err = json.Unmarshal(raw, &named)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			t := named[name]
			t.Name = name
			sent = append(sent, t)
		}
	} else {
		err = json.Unmarshal(raw, &sent)
	}
	if err != nil {
		return nil, errors.New("tools must be an object of tools by name, or a list of tools with names, with description and inputSchema")
	}
	for _, t := range sent {
		if !strings.HasPrefix(t.Type, "provider") {
			tools = append(tools, wire.ClientTool{Name: t.Name, Description: t.Description, Parameters: t.schema()})
		}
	}
	return tools, nil
}

// schema is the JSON Schema of a tool. The SDK's jsonSchema wraps one.
func (t sentTool) schema() json.RawMessage {
	schema := t.InputSchema
	if core.IsNull(schema) {
		schema = t.Parameters
	}
	var wrapped struct {
		JSONSchema json.RawMessage `json:"jsonSchema"`
	}
	if json.Unmarshal(schema, &wrapped) != nil {
		return schema
	}
	return json.RawMessage(cmp.Or(string(wrapped.JSONSchema), string(schema)))
}
