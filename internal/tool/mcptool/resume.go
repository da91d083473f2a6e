package mcptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// resume continues a call that requested input, with the answer. If the answer does not match, the
// call keeps waiting: a plain message is also an answer, and has not been validated against the
// schema. An approval that a rule asked for does not answer the server.
func (e *execution) resume() (core.Outcome, bool) {
	raw := e.request.State.Get(core.RunScope, e.stateKey())
	if e.request.Resume == nil || core.IsNull(raw) {
		return core.Outcome{}, false
	}
	var a asked
	if err := json.Unmarshal(raw, &a); err != nil || len(a.Questions) == 0 {
		return e.rules.NotRun("the stored request of the MCP server cannot be read"), true
	}
	answers, err := a.responses(e.request.Resume.Result)
	if err != nil {
		return e.rules.Finish(e.ticket(a, err.Error())), true
	}
	e.asked, e.answers = &a, answers
	return core.Outcome{}, false
}

// responses converts an answer to the form of the protocol.
func (a asked) responses(result json.RawMessage) (mcp.InputResponseMap, error) {
	out := mcp.InputResponseMap{}
	if len(a.Questions) == 1 {
		for key, q := range a.Questions {
			response, err := q.response(result)
			if err != nil {
				return nil, err
			}
			out[key] = response
		}
		return out, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return nil, errors.New("it must be an object with a member for each requested input")
	}
	for key, q := range a.Questions {
		out[key] = &mcp.ElicitResult{Action: "decline"}
		if member, there := members[key]; there {
			response, err := q.response(member)
			if err != nil {
				return nil, err
			}
			out[key] = response
		}
	}
	return out, nil
}

func (q question) response(result json.RawMessage) (*mcp.ElicitResult, error) {
	var word string
	isWord := json.Unmarshal(result, &word) == nil && !core.IsNull(result)
	if q.URL != "" {
		if !isWord || !slices.Contains(verdicts, word) {
			return nil, errors.New("it must be accept, decline or cancel")
		}
		return &mcp.ElicitResult{Action: word}, nil
	}
	if field, only := q.only(); isWord && only {
		result = core.Encode(map[string]string{field: word})
	}
	if err := q.fits(result); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(result))
	dec.UseNumber() // numbers keep every digit
	var content map[string]any
	if err := dec.Decode(&content); err != nil {
		return nil, errNoForm
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

var errNoForm = errors.New("it must be an object with the requested fields that matches the response schema")

// only returns the single text field of a form, if it has no other field: a plain message becomes
// its value.
func (q question) only() (field string, only bool) {
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(q.Schema, &form) != nil || len(form.Properties) != 1 {
		return "", false
	}
	for name, property := range form.Properties {
		return name, property.Type == "string"
	}
	return "", false
}

// fits validates an answer against the form.
func (q question) fits(result json.RawMessage) error {
	var value any
	var schema jsonschema.Schema
	if json.Unmarshal(result, &value) != nil || json.Unmarshal(q.Schema, &schema) != nil {
		return errNoForm
	}
	resolved, err := schema.Resolve(nil)
	if err != nil || resolved.Validate(value) != nil {
		return errNoForm
	}
	return nil
}
