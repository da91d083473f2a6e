package frontend

import (
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

const (
	maxID  = 256 // bytes of an id in a path; longer ones are not ours
	maxKey = 255 // bytes of an idempotency key or a decision id
)

// readInput reads an input, a text or a list of text parts, as a message's parts in JSON. A text that is blank is taken for a
// mistake; a caller who means it says so with a part.
func readInput(input json.RawMessage) (json.RawMessage, error) {
	if core.IsNull(input) {
		return nil, refuse(CodeInvalid, "input is missing; it is a text or a list of parts")
	}
	var text string
	if json.Unmarshal(input, &text) == nil {
		if strings.TrimSpace(text) == "" {
			return nil, refuse(CodeInvalid, "input holds no text")
		}
		return core.Encode(core.TextParts(text)), nil
	}
	parts, err := readParts(input)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, refuse(CodeInvalid, "input holds no part")
	}
	return core.Encode(parts), nil
}

func readParts(input json.RawMessage) ([]core.Part, error) {
	var raw []json.RawMessage
	if json.Unmarshal(input, &raw) != nil {
		return nil, refuse(CodeInvalid, "input is a text or a list of parts")
	}
	parts := make([]core.Part, len(raw))
	for i, r := range raw {
		var ok bool
		if parts[i], ok = readPart(r); !ok {
			return nil, refuse(CodeInvalid, `input[%d] must be a part {"type":"text","text":"..."}`, i)
		}
	}
	return parts, nil
}

// readPart matches the members exactly, case included, as bodies are read everywhere.
func readPart(raw json.RawMessage) (part core.Part, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || len(members) != 2 || core.IsNull(members["text"]) {
		return part, false
	}
	ok = json.Unmarshal(members["type"], &part.Type) == nil && part.Type == "text" && json.Unmarshal(members["text"], &part.Text) == nil
	return part, ok
}

// readKey checks an idempotency key; the empty key means none.
func readKey(key string) error {
	if len(key) > maxKey {
		return refuse(CodeInvalid, "the idempotency key is longer than %d bytes", maxKey)
	}
	return nil
}

func readOnPending(choice string) (core.OnPending, error) {
	switch choice {
	case "", "refuse":
		return core.PendingRefuse, nil
	case string(core.PendingAbandon), string(core.PendingQueue):
		return core.OnPending(choice), nil
	}
	return "", refuse(CodeInvalid, "on_pending is refuse, abandon or queue, or left out")
}

// written is how many times longer than its canonical text a value may be written, with space and escapes. What is longer is refused before it
// is read: to find the canonical text costs far more than to send the other.
const written = 8

func (f *Frontend) readMetadata(metadata json.RawMessage) (json.RawMessage, error) {
	if core.IsNull(metadata) {
		return nil, nil
	}
	if len(metadata) > written*f.limits.Metadata {
		return nil, refuse(CodeInvalid, "metadata is larger than %d bytes", f.limits.Metadata)
	}
	canonical, err := core.Canonical(metadata)
	if err != nil || canonical[0] != '{' {
		return nil, refuse(CodeInvalid, "metadata must be an object")
	}
	if len(canonical) > f.limits.Metadata {
		return nil, refuse(CodeInvalid, "metadata is larger than %d bytes", f.limits.Metadata)
	}
	return canonical, nil
}

// readPermissions reads the permissions of one run. What they may say is not known here.
func (f *Frontend) readPermissions(raw json.RawMessage) (json.RawMessage, error) {
	if core.IsNull(raw) {
		return nil, nil
	}
	if len(raw) > written*f.limits.Narrow {
		return nil, refuse(CodeInvalidPermissions, "permissions are larger than %d bytes", f.limits.Narrow)
	}
	canonical, err := core.Canonical(raw)
	if err != nil {
		return nil, refuse(CodeInvalidPermissions, "permissions are not JSON")
	}
	if len(canonical) > f.limits.Narrow {
		return nil, refuse(CodeInvalidPermissions, "permissions are larger than %d bytes", f.limits.Narrow)
	}
	if f.narrow == nil {
		return canonical, nil
	}
	if err := f.narrow(canonical); err != nil {
		return nil, refuse(CodeInvalidPermissions, "%v", err)
	}
	return canonical, nil
}

// digest is of a request's content, however its JSON was written.
func digest(request any) (string, error) {
	canonical, err := core.Canonical(core.Encode(request))
	if err != nil {
		return "", refuse(CodeInvalid, "the request is not JSON")
	}
	return core.Digest(canonical), nil
}

// decisionInput is a decision as its caller wrote it.
func decisionInput(d wire.Decision, now int64) (core.DecisionInput, error) {
	in := core.DecisionInput{ID: d.DecisionID, Action: d.Action, Result: d.Result, Error: d.Error, Arguments: d.Arguments,
		Grant: d.Grant, Reason: d.Reason, At: now}
	if err := in.Check(); err != nil {
		return in, decisionRefused(err)
	}
	if d.Target == "" {
		return in, refuse(CodeInvalid, "target is missing; it is a suspension id or a call id")
	}
	return in, readDecisionID(d.DecisionID)
}

func readDecisionID(id string) error {
	if len(id) > maxKey {
		return refuse(CodeInvalid, "decision_id is longer than %d bytes", maxKey)
	}
	return nil
}
