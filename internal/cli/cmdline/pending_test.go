package cmdline

import (
	"encoding/json"
	"testing"
)

func TestPlainArgumentsAreToldFromOthers(t *testing.T) {
	for raw, want := range map[string]bool{`{"a":"b"}`: true, "{\n\t\"a\": \"日本\"}": true, `{"a":"\u202e"}`: false, "{\"a\":\"\u202e\"}": false,
		"{\"a\":\"\xff\"}": false, "{\"p\u0430y\":1}": false, `{"a":"x  y"}`: false, `{"n":1e3}`: false, ``: true,
		`{"a":"b & <c>"}`: true, `{"a":"b \u0026 \u003cc\u003E"}`: true, `{"a":"\u004d\u0061llory"}`: true, `{"a":"\u0007"}`: false} {
		if plainly(json.RawMessage(raw)) != want {
			t.Errorf("plainly(%q) is not %v", raw, want)
		}
	}
}
