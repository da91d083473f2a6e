package agent

import (
	"encoding/json"
	"testing"
)

// A schema may be a caller's, who is told nothing of how it is read.
func TestWhatIsNoSchemaIsSaidInItsOwnWords(t *testing.T) {
	for schema, want := range map[string]string{
		`"x"`:                              "not a JSON Schema: it must not be a JSON string",
		`[1]`:                              "not a JSON Schema: it must not be a JSON array",
		`{"type":"object","properties":3}`: "not a JSON Schema: properties must not be a JSON number",
		`{"type":"object","properties":{"a":{"minimum":"x"}}}`: "not a JSON Schema: properties.minimum must not be a JSON string",
	} {
		if _, err := Compile(json.RawMessage(schema)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}
