package bedrock

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// rawDocument is JSON that is sent as it stands. The SDK's own documents are made of Go values:
// they sort the members of objects, write a json.Number as a string, and drop the whole value
// without a word if an object has a member without a name. What a model wrote goes back to it with
// every digit, and a schema keeps the order its author gave it. The embedded document has what no
// other package can implement.
type rawDocument struct {
	document.Interface
	raw json.RawMessage
}

// MarshalSmithyDocument returns the JSON.
func (d rawDocument) MarshalSmithyDocument() ([]byte, error) { return d.raw, nil }

// documentOf sends raw, which must be valid JSON.
func documentOf(raw json.RawMessage) document.Interface {
	return rawDocument{document.NewLazyDocument(nil), bytes.ToValidUTF8(raw, []byte("\ufffd"))}
}

// isObject says whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// objectOf is raw, or an object that tells of it: Bedrock takes no other arguments of a call.
func objectOf(raw json.RawMessage) json.RawMessage {
	switch {
	case isObject(raw):
		return raw
	case core.IsNull(raw):
		return json.RawMessage(`{}`)
	}
	return core.Encode(map[string]string{"invalid_arguments": strings.ToValidUTF8(string(raw), "\ufffd")})
}

// argumentsOf are the arguments that the model wrote as text. Nothing at all is what it writes for
// a tool without parameters; what is no JSON is carried as a JSON string.
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

// argumentsIn are the arguments that a whole answer holds as a document. It keeps every digit.
func argumentsIn(d document.Interface) json.RawMessage {
	if d == nil {
		return json.RawMessage(`{}`)
	}
	switch raw, err := d.MarshalSmithyDocument(); {
	case err != nil: // the SDK reads numbers that are none in JSON
		return core.Encode("arguments that are no JSON")
	case core.IsNull(raw):
		return json.RawMessage(`{}`)
	default:
		return argumentsOf(string(raw))
	}
}
