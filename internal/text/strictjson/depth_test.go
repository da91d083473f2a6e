package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

func TestTextsMayBeNestedSoDeep(t *testing.T) {
	deep := func(n int, open, end string) string { return strings.Repeat(open, n) + "1" + strings.Repeat(end, n) }
	for _, tt := range []struct {
		name, text string
		refused    bool
	}{
		{"as deep as may be", deep(strictjson.MaxDepth, `{"a":`, "}"), false},
		{"one deeper", deep(strictjson.MaxDepth+1, `{"a":`, "}"), true},
		{"lists in an object", `{"a":` + deep(strictjson.MaxDepth, "[", "]") + "}", true},
		{"many beside one another", `{"a":[` + strings.Repeat("[{}],", 2*strictjson.MaxDepth) + "[]]}", false},
		{"brackets in a text", `{"a":"` + strings.Repeat("[", 2*strictjson.MaxDepth) + `"}`, false},
		{"brackets in a text, behind a quote", `{"a":"\"` + strings.Repeat("{", 2*strictjson.MaxDepth) + `\\"}`, false},
		{"brackets behind a text that ends in a backslash", `{"\\":` + deep(strictjson.MaxDepth, "[", "]") + "}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := strictjson.Check([]byte(tt.text))
			if !tt.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*strictjson.Error](err); !ok || e.Code != strictjson.CodeMalformed || !strings.Contains(e.Detail, "deep") {
				t.Errorf("got %v, want it refused as too deep", err)
			}
		})
	}
}
