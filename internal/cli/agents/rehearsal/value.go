package rehearsal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Value is any JSON value that something is held against. A text between slashes, also inside of
// lists and mappings, is a regular expression that must match somewhere in a text; everything else
// must be equal. Numbers are equal if they are the same number.
type Value struct{ want any }

func newValue(n *yaml.Node) (*Value, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	raw, err := core.EncodeAny(v)
	if err != nil {
		return nil, fmt.Errorf("it has no JSON form; put names of members in quotes: %w", err)
	}
	want := decode(raw)
	return &Value{want}, checkExpressions(want)
}

// decode reads valid JSON and keeps every digit.
func decode(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

func encode(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func expression(text string) (string, bool) {
	inner, opens := strings.CutPrefix(text, "/")
	inner, closes := strings.CutSuffix(inner, "/")
	return inner, opens && closes && inner != ""
}

func checkExpressions(v any) error {
	switch v := v.(type) {
	case string:
		if inner, is := expression(v); is {
			_, err := regexp.Compile(inner)
			return err
		}
	case []any:
		for _, item := range v {
			if err := checkExpressions(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkExpressions(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// JSON is the value as it is sent.
func (v Value) JSON() json.RawMessage { return json.RawMessage(encode(v.want)) }

// String is the value as a person writes it.
func (v Value) String() string {
	if text, ok := v.want.(string); ok {
		if _, is := expression(text); is {
			return text
		}
	}
	return encode(v.want)
}

// Fits says whether raw is what the value says. Text that is compared with another kind of value is
// taken as that value's JSON.
func (v Value) Fits(raw json.RawMessage) bool {
	found := decode(raw)
	_, text := v.want.(string)
	if _, same := found.(string); text && !same {
		found = encode(found)
	}
	return fits(v.want, found)
}

// FitsText is Fits for text that may hold JSON, as results of tools do.
func (v Value) FitsText(text string) bool {
	if _, wantsText := v.want.(string); !wantsText && json.Valid([]byte(text)) {
		return v.Fits(json.RawMessage(text))
	}
	return fits(v.want, text)
}

func fits(want, found any) bool {
	switch want := want.(type) {
	case string:
		return textFits(want, found)
	case json.Number:
		number, ok := found.(json.Number)
		return ok && sameNumber(want, number)
	case []any:
		list, ok := found.([]any)
		return ok && slices.EqualFunc(want, list, fits)
	case map[string]any:
		members, ok := found.(map[string]any)
		return ok && maps.EqualFunc(want, members, fits)
	}
	return reflect.DeepEqual(want, found)
}

func textFits(want string, found any) bool {
	text, ok := found.(string)
	if inner, is := expression(want); ok && is {
		// it was compiled when the file was read
		return regexp.MustCompile(inner).MatchString(text)
	}
	return ok && want == text
}

func sameNumber(a, b json.Number) bool {
	x, ok1 := new(big.Rat).SetString(a.String())
	y, ok2 := new(big.Rat).SetString(b.String())
	return ok1 && ok2 && x.Cmp(y) == 0
}
