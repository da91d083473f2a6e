// Package template writes notices as the JSON that a target's template asks for. Values are put
// into the parsed template, never into its text, so no text of a model or a caller can change its
// form.
package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Body is the body of [notice.FormatTemplate]. In the texts of the template, {approval.tool} is a
// member of the notice, {approval.requests.0.text} one of an array, and {secret:NAME} a secret; {{
// and }} are braces. A text that is one placeholder becomes the value with its type, null if there
// is none. Within a text, a value that is no text is written as JSON, and one that is missing is
// empty. Names of members are not filled in.
func Body(n client.Notice, to notice.Target, values secret.Values) ([]byte, error) {
	form, err := read(to.Template)
	if err != nil {
		return nil, fmt.Errorf("the endpoint's template can't be read: %w", err)
	}
	raw, err := core.EncodeAny(n)
	if err != nil {
		return nil, err
	}
	data, err := read(raw)
	if err != nil {
		return nil, err
	}
	filled, err := fill(form, data, values)
	if err != nil {
		return nil, fmt.Errorf("the endpoint's template can't be filled in: %w", err)
	}
	return core.EncodeAny(filled)
}

// read keeps numbers as they are written.
func read(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func fill(form, data any, values secret.Values) (any, error) {
	switch form := form.(type) {
	case string:
		return fillText(form, data, values)
	case []any:
		out := make([]any, len(form))
		for i, item := range form {
			var err error
			if out[i], err = fill(item, data, values); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(form))
		for name, item := range form {
			var err error
			if out[name], err = fill(item, data, values); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return form, nil
}

func fillText(text string, data any, values secret.Values) (any, error) {
	t, err := placeholder.Read(text)
	if err != nil {
		return nil, err
	}
	if path, whole := t.Whole(); whole {
		return at(data, path), nil
	}
	var b strings.Builder
	for _, p := range t {
		switch {
		case p.Argument != "":
			b.WriteString(textOf(at(data, p.Argument)))
		case p.Secret != "":
			b.WriteString(values[p.Secret])
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String(), nil
}

// at is the value at a path; nil if there is none.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch of := v.(type) {
		case map[string]any:
			v = of[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(of) {
				return nil
			}
			v = of[i]
		default:
			return nil
		}
	}
	return v
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, _ := core.EncodeAny(v) // it was read as JSON
	return string(raw)
}
