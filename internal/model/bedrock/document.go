package bedrock

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// rawDocument is JSON that is sent unchanged. The SDK's own documents consist of Go values: they
// sort the members of objects, write a json.Number as a string, and silently drop the entire value
// if an object has a member without a name. What a model wrote goes back to it with every digit,
// and a schema keeps its order. The embedded document has the methods that no other package can
// implement.
type rawDocument struct {
	document.Interface
	raw json.RawMessage
}

// MarshalSmithyDocument returns the JSON.
func (d rawDocument) MarshalSmithyDocument() ([]byte, error) { return d.raw, nil }

// documentOf returns a document for raw, which must be valid JSON.
func documentOf(raw json.RawMessage) document.Interface {
	return rawDocument{document.NewLazyDocument(nil), bytes.ToValidUTF8(raw, []byte("\ufffd"))}
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// objectOf returns raw, or an object that contains it, because Bedrock accepts only objects as
// arguments.
func objectOf(raw json.RawMessage) json.RawMessage {
	switch {
	case isObject(raw):
		return raw
	case core.IsNull(raw):
		return json.RawMessage(`{}`)
	}
	return core.Encode(map[string]string{"invalid_arguments": strings.ToValidUTF8(string(raw), "\ufffd")})
}

// argumentsOf converts the arguments that the model wrote as text. A model writes an empty text for
// a tool without parameters; a text that is not JSON becomes a JSON string.
func argumentsOf(text string) json.RawMessage {
	text = strings.ToValidUTF8(text, "\ufffd")
	switch raw := json.RawMessage(text); {
	case strings.TrimSpace(text) == "":
		return json.RawMessage(`{}`)
	case json.Valid(raw):
		return raw
	}
	return core.Encode(text)
}

// argumentsIn returns the arguments of a complete answer, with every digit.
func argumentsIn(d document.Interface) json.RawMessage {
	if d == nil {
		return json.RawMessage(`{}`)
	}
	switch raw, err := d.MarshalSmithyDocument(); {
	case err != nil: // the SDK accepts numbers that are not valid JSON
		return core.Encode("arguments that are no JSON")
	case core.IsNull(raw):
		return json.RawMessage(`{}`)
	default:
		return argumentsOf(string(raw))
	}
}
