package agent

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Preview is what an approver is shown of what a call would do: a text with the call's arguments in
// it, or what a tool that only reads finds. Exactly one of Template and Tool is set.
type Preview struct {
	Template  string            `json:"template,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Arguments map[string]string `json:"arguments,omitempty"` // of that tool, as templates
}

// notGiven replaces a missing argument in a preview.
const notGiven = "(not given)"

var _ plans.Previewer = (*Rules)(nil)

// Preview implements [plans.Previewer]. A stored template that cannot be read has no preview: it
// was checked when it was loaded.
func (r *Rules) Preview(call core.ToolCall) *plans.PreviewSource {
	t, _ := r.pinned.Tool(call.Name)
	if t.Preview == nil {
		return nil
	}
	args := readArguments(call.Arguments)
	if t.Preview.Tool == "" {
		template, err := placeholder.Read(t.Preview.Template)
		if err != nil {
			return nil
		}
		return &plans.PreviewSource{Text: previewOf(template, args)}
	}
	sent := map[string]any{}
	for name, text := range t.Preview.Arguments {
		template, err := placeholder.Read(text)
		if err != nil {
			return nil
		}
		if whole, is := template.Whole(); is {
			if v, there := args.placed(whole); there {
				sent[name] = v // of its own type
			}
			continue
		}
		sent[name] = previewOf(template, args)
	}
	return &plans.PreviewSource{Read: &core.ToolCall{Name: t.Preview.Tool, Arguments: core.Encode(sent)}}
}

// previewOf is the template with arguments in it: text as it is, anything else as JSON.
func previewOf(t placeholder.Template, args arguments) string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.Text)
		if p.Argument == "" {
			continue
		}
		switch v, there := args.placed(p.Argument); text := v.(type) {
		case string:
			b.WriteString(text)
		default:
			if !there {
				b.WriteString(notGiven)
				continue
			}
			b.Write(core.Encode(v))
		}
	}
	return b.String()
}

// placed is the argument of that name, or at that path: a name may hold dots.
func (a arguments) placed(name string) (any, bool) {
	if v, there := a[name]; there {
		return v, true
	}
	return a.at(name)
}
