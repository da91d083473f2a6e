package mcptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// asked is what a server requested in the middle of a call, and the state it wants back. It is
// stored in the state of the run while the call waits.
type asked struct {
	Questions map[string]question `json:"questions"`
	State     string              `json:"state,omitempty"` // opaque data of the server
}

// question is one request for input: a form, or a URL to open.
type question struct {
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // for a form
	URL     string          `json:"url,omitempty"`
}

// Limits of one request for input. The state of a run holds 64 KiB for all its tools.
const (
	mostQuestions = 8
	mostMessage   = 2000
	mostAsked     = 16 << 10
)

// stateKey is the key under which the state of the run holds the requests of a call.
func (e *execution) stateKey() string { return "mcp/" + e.request.Call.ID }

var errSecretAsked = errors.New("its request contains a secret of this program, which must not reach the journal")

// ask suspends the call until the input that the server requested arrives.
func (e *execution) ask(r *mcp.CallToolResult) core.Outcome {
	a := asked{Questions: map[string]question{}, State: r.RequestState}
	for key, request := range r.InputRequests {
		q, err := e.question(request)
		if err != nil {
			return e.unaskable(err)
		}
		a.Questions[key] = q
	}
	raw, err := core.EncodeAny(a)
	switch {
	case err != nil:
		return e.unaskable(err)
	case len(a.Questions) > mostQuestions || len(raw) > mostAsked:
		return e.unaskable(fmt.Errorf("it asks for more than %d inputs or %d bytes at a time", mostQuestions, mostAsked))
	case e.values.In(string(raw)):
		return e.unaskable(errSecretAsked)
	}
	if err := e.request.State.Set(core.RunScope, e.stateKey(), json.RawMessage(raw)); err != nil {
		return e.unaskable(err)
	}
	return e.ticket(a, "")
}

// unaskable ends a call whose request cannot be put to a person. The server has seen the call and
// may have done part of it.
func (e *execution) unaskable(err error) core.Outcome {
	return core.Outcome{Failed: true, Text: fmt.Sprintf("The MCP server %s asked for input that cannot be provided: %v.", e.host(), err)}
}

func (e *execution) question(request mcp.InputRequest) (question, error) {
	p, ok := request.(*mcp.ElicitParams)
	if !ok || p == nil {
		return question{}, errors.New("only input from a person is supported")
	}
	if e.values.In(p.Message) || e.values.In(p.URL) { // before anything is cut
		return question{}, errSecretAsked
	}
	q := question{Message: p.Message}
	if len(q.Message) > mostMessage {
		q.Message = q.Message[:mostMessage] + "..."
	}
	q.Message = strings.ToValidUTF8(q.Message, "\uFFFD")
	if p.Mode == "url" || p.Mode == "" && p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(p.URL) > mostMessage {
			return question{}, errors.New("the URL that it asks a person to open is invalid")
		}
		q.URL = u.String()
		return q, nil
	}
	schema, err := e.formSchema(p.RequestedSchema)
	q.Schema = schema
	return q, err
}

// formSchema returns the schema of a form: an object of plain values. It contains no references, so
// that it can be embedded in another schema.
func (e *execution) formSchema(wanted any) (json.RawMessage, error) {
	if wanted == nil {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	raw, err := core.EncodeAny(wanted)
	if err != nil {
		return nil, errors.New("its form is not valid JSON")
	}
	var form struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var schema jsonschema.Schema
	if json.Unmarshal(raw, &form) != nil || json.Unmarshal(raw, &schema) != nil || form.Type != "object" {
		return nil, errors.New("its form is not a JSON Schema of type object")
	}
	for name, property := range schema.Properties {
		if property == nil || !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, property.Type) || len(property.Properties) > 0 {
			return nil, fmt.Errorf("its form has a field that is not a plain value (%s)", begin(e.values, name, 60))
		}
	}
	for _, word := range []string{`"$ref"`, `"$dynamicRef"`, `"$id"`, `"$anchor"`} {
		if bytes.Contains(raw, []byte(word)) {
			return nil, errors.New("its form contains a reference")
		}
	}
	if _, err := schema.Resolve(nil); err != nil {
		return nil, errors.New("its form is not a JSON Schema")
	}
	return raw, nil
}

// ticket suspends the call. Why says what was wrong with the previous answer.
func (e *execution) ticket(a asked, why string) core.Outcome {
	var said []string
	if why != "" {
		said = append(said, "The answer was rejected: "+why+".")
	}
	for _, key := range slices.Sorted(maps.Keys(a.Questions)) {
		q := a.Questions[key]
		text := fmt.Sprintf("The MCP server %s asks: %s", e.host(), q.Message)
		if q.URL != "" {
			text = fmt.Sprintf("The MCP server %s asks you to open %s (%s). Answer accept once you have done what it asks for there, or decline.", e.host(), q.URL, q.Message)
		}
		if len(a.Questions) > 1 {
			text = begin(e.values, key, 60) + ": " + text
		}
		said = append(said, text)
	}
	return core.Outcome{Kind: core.KindInput, Ticket: &core.SuspendTicket{Pending: core.PendingCall(e.request.Call), ResumeMode: core.PassDecisionToTool,
		Suspension: core.Suspension{Action: "answer", Message: strings.Join(said, "\n"), ResponseSchema: a.schema()}}}
}

// verdicts are the answers to an address.
var verdicts = []string{"accept", "decline", "cancel"}

func (q question) schema() json.RawMessage {
	if q.URL != "" {
		return core.Encode(map[string]any{"type": "string", "enum": verdicts})
	}
	return q.Schema
}

// schema is the schema of an answer: of the single question, or of an object with a member for each
// of several. A missing member declines its question.
func (a asked) schema() json.RawMessage {
	members := map[string]json.RawMessage{}
	for key, q := range a.Questions {
		if len(a.Questions) == 1 {
			return q.schema()
		}
		members[key] = q.schema()
	}
	return core.Encode(map[string]any{"type": "object", "properties": members, "additionalProperties": false})
}

// forget removes the requests of the call from the state.
func (e *execution) forget() {
	if e.request.State.Get(core.RunScope, e.stateKey()) != nil {
		e.request.State.Delete(core.RunScope, e.stateKey())
	}
}
