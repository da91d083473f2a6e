package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// unpreviewed is how a plan in the making asks for a preview that a tool reads, as [unfired] asks
// for hooks.
type unpreviewed struct{ read core.ToolCall }

func (unpreviewed) Error() string { return "core: a preview must be read first" }

// preview returns what the approver is shown of a call's effect, or nil if the definition has no
// preview. A preview that fails never prevents the question.
//
// Reading a preview changes nothing, so nothing is committed before it and the next owner reads it
// again after a crash. Its text becomes durable with the suspension.
//
//	ReadPreview ── read ──✗ crash   next owner: ReadPreview ── read ── commit: call.suspended
func (d *draft) preview(call core.ToolCall) (*core.Preview, error) {
	rules, ok := d.v.Rules.(plans.Previewer)
	if !ok {
		return nil, nil
	}
	source := rules.Preview(d.effective(call))
	switch {
	case source == nil:
		return nil, nil
	case source.Read == nil:
		return &core.Preview{Text: core.CutResult(source.Text, core.MostPreview)}, nil
	}
	read := *source.Read
	read.ID = call.ID + ":preview:" + core.Digest(read.Arguments)[:12]
	for _, done := range d.v.Previews {
		switch {
		case done.Call != read.ID:
		case done.Failed != "":
			return noPreview(read, done.Failed), nil
		default:
			return &core.Preview{Tool: read.Name, Text: core.CutResult(done.Text, core.MostPreview)}, nil
		}
	}
	if why := d.whyNotRead(read); why != "" {
		return noPreview(read, why), nil
	}
	return nil, unpreviewed{read}
}

// noPreview is what an approver is shown in place of a preview. It is bounded like one.
func noPreview(read core.ToolCall, why string) *core.Preview {
	return &core.Preview{Tool: read.Name, Failed: core.CutResult("The preview could not be made: "+why, core.MostPreview)}
}

// whyNotRead says why the tool may not be called for a preview; empty if it may. The tool must only
// read, and the rules must allow its call without an approval.
func (d *draft) whyNotRead(read core.ToolCall) string {
	spec, ok := d.v.Rules.Tool(read.Name)
	switch {
	case !ok:
		return "the tool " + read.Name + " no longer exists."
	case !spec.ReadOnly || spec.Client || spec.Agent || spec.Finish:
		return "the tool " + read.Name + " is not read-only."
	// it may refuse any tool, and is asked about calls of the model alone
	case d.hooked(core.BeforeToolExecute):
		return "a hook decides before each tool call and cannot decide about a preview."
	case d.v.Limits.BodyTries > 0 && d.h.Tries >= d.v.Limits.BodyTries:
		return "workers crashed repeatedly, perhaps while reading the preview."
	}
	if err := d.check(read); err != nil {
		return "the arguments of " + read.Name + " are not valid: " + err.Error()
	}
	if d.gateOn(read).Effect != core.Allow {
		return "a rule does not allow " + read.Name + " here."
	}
	return ""
}
