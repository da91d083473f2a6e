package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// Outer embeds, as a message of the intake queue embeds the body of a start.
type Outer struct {
	Key string `json:"key"`
	Inner
}

// Inner is what Outer embeds.
type Inner struct {
	Items []struct {
		Size int `json:"size"`
	} `json:"items"`
	Agent string `json:"agent"`
}

func TestCheckAndDecode(t *testing.T) {
	for _, tt := range []struct{ name, text, code, says string }{
		{"an object with known members", `{"key":"k","agent":"a"}`, "", ""},
		{"blanks around it", " {\"key\":\"k\"}\r\n", "", ""},
		{"bytes that are no UTF-8", "{\"key\":\"\xff\"}", strictjson.CodeMalformed, "UTF-8"},
		{"no JSON", `{"key"`, strictjson.CodeMalformed, "one JSON value"},
		{"two values", `{} {}`, strictjson.CodeMalformed, "one JSON value"},
		{"nothing", ``, strictjson.CodeMalformed, "one JSON value"},
		{"a list", `[]`, strictjson.CodeMalformed, "object"},
		{"a number that is none", `{"key":NaN}`, strictjson.CodeMalformed, "one JSON value"},
		{"a member twice", `{"key":"a","key":"b"}`, strictjson.CodeMalformed, `"key" occurs twice`},
		{"a member twice, deep inside and written with an escape", `{"key":[{"a":1,"\u0061":2}]}`, strictjson.CodeMalformed, `"a" occurs twice`},
		{"a member nobody knows", `{"key":"a","kee":"b"}`, strictjson.CodeUnknownField, `"kee"`},
		{"a member of another case", `{"Key":"a"}`, strictjson.CodeUnknownField, `"Key"`},
		{"the embedded struct itself is no member", `{"Inner":{}}`, strictjson.CodeUnknownField, `"Inner"`},
		{"a member nobody knows in a list", `{"items":[{"size":1},{"size":2,"x":1}]}`, strictjson.CodeUnknownField, `"items[1].x"`},
		{"a list of another type", `{"items":[1]}`, strictjson.CodeMalformed, `items"`},
		{"a list with nothing in it", `{"items":[{"size":1},null]}`, "", ""},
		{"another type", `{"key":1}`, strictjson.CodeMalformed, `"key" must not be a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := strictjson.Check([]byte(tt.text))
			if err == nil {
				err = strictjson.Decode([]byte(tt.text), new(Outer))
			}
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var e *strictjson.Error
			if !errors.As(err, &e) || e.Code != tt.code || !strings.Contains(e.Detail, tt.says) {
				t.Errorf("got %v, want %s with %q", err, tt.code, tt.says)
			}
		})
	}
}

func TestDecodeFillsEmbeddedMembers(t *testing.T) {
	var to Outer
	if err := strictjson.Decode([]byte(`{"key":"k","agent":"a"}`), &to); err != nil || to.Key != "k" || to.Agent != "a" {
		t.Errorf("got %+v, %v", to, err)
	}
}

func TestClippedKeepsUTF8(t *testing.T) {
	got := strictjson.Clipped(strings.Repeat("a", 79) + "é" + strings.Repeat("b", 10))
	if got != strings.Repeat("a", 79)+"..." {
		t.Errorf("got %q", got)
	}
}
