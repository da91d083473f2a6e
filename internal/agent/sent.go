package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// sentNames returns the arguments that the request's templates use; all is true if the body takes
// every argument that they don't. A stored template that cannot be read uses none: its calls fail.
func (h HTTP) sentNames() (names []string, all bool) {
	named, template := h.Payload()
	if named == BodyJSON || named == BodyForm {
		return nil, true
	}
	target, _ := h.Target()
	headers, _ := h.HeaderFields()
	texts := append(slices.Clone(target.Path), textsIn(DecodeValue(template))...)
	for _, f := range append(target.Query, headers...) {
		texts = append(texts, f.Value)
	}
	for _, text := range texts {
		for _, name := range text.Arguments() {
			names = AddName(names, name)
		}
	}
	slices.Sort(names)
	return names, false
}

// textsIn are the texts of a body.
func textsIn(v any) (texts []placeholder.Template) {
	switch v := v.(type) {
	case string:
		text, _ := placeholder.Read(v)
		return []placeholder.Template{text}
	case map[string]any:
		for _, item := range v {
			texts = append(texts, textsIn(item)...)
		}
	case []any:
		for _, item := range v {
			texts = append(texts, textsIn(item)...)
		}
	}
	return texts
}

// checkSent refuses an argument that the request would omit. An approver sees every argument and
// relies on all of them being sent. The error's text is for the model.
func (h HTTP) checkSent(raw json.RawMessage) error {
	names, all := h.sentNames()
	if all {
		return nil
	}
	return checkUsed(raw, names)
}

// checkUsed refuses arguments other than those.
func checkUsed(raw json.RawMessage, names []string) error {
	var args map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &args) != nil {
		return fmt.Errorf("invalid arguments: expected a JSON object")
	}
	var unknown []string
	for name := range args {
		if !slices.Contains(names, name) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if unknown == nil {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("invalid arguments: unknown %s; %s", Shorten(strings.Join(unknown, ", "), 500), takes(names))
}

// takes says which arguments there are.
func takes(names []string) string {
	if len(names) == 0 {
		return "this tool takes none"
	}
	return `this tool takes only "` + strings.Join(names, `", "`) + `"`
}
