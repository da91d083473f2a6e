package linkpage

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// actionEdit is the button that approves a call with other arguments.
const actionEdit = "edit"

// FieldsOf are the names of the fields that the page of a call has for its answer.
func FieldsOf(call *wire.Pending) []string {
	fields, _ := formOf(call)
	return fields.Names()
}

// formOf is the form on the page of a call, if it has one.
func formOf(call *wire.Pending) (f Form, has bool) {
	if !Answers(*call) {
		return f, false
	}
	return FormOf(call.Suspension.ResponseSchema)
}

// Read makes a verdict of what was typed into the form of a call, and keeps it, so that the page
// can show it again.
func (q *Question) Read(form url.Values, call *wire.Pending) (v wire.Verdict, err error) {
	q.Typed = form
	v = wire.Verdict{Action: form.Get("action"), Reason: strings.TrimSpace(form.Get("reason")), Shown: form.Get("shown")}
	fields, has := formOf(call)
	switch {
	case v.Action == actionEdit || v.Action == core.ActionResume.String() && form.Has("arguments"):
		err = readEdit(&v, form.Get("arguments"), call)
	case v.Action != core.ActionResume.String():
	case has && !form.Has("result"):
		v.Result, q.Wrong = fields.Read(form)
	default:
		// a form's line breaks
		v.Result = typedResult(strings.ReplaceAll(form.Get("result"), "\r\n", "\n"), call)
	}
	return v, err
}

// Complete refuses an answer without a value where one is asked for, and a form with values that
// don't fit.
func (q *Question) Complete(call wire.Pending, v wire.Verdict) error {
	switch {
	case len(q.Wrong) > 0:
		return &refusal.Error{Code: refusal.CodeSchemaMismatch, Detail: "some fields of your answer need another value"}
	case call.Kind != core.KindApproval.String() && v.Result == nil:
		return &refusal.Error{Code: refusal.CodeResultRequired, Detail: "the call needs an answer; send it as result, or deny the call"}
	}
	return nil
}

// readEdit reads the arguments of the page. There are two buttons, so that a person who has changed
// them can't approve the original ones by mistake, nor the other way round.
func readEdit(v *wire.Verdict, typed string, call *wire.Pending) error {
	edited, err := core.Canonical(json.RawMessage(typed))
	original, _ := core.Canonical(call.Arguments)
	changed := err != nil || string(edited) != string(original)
	wrong := func(detail string) error { return &refusal.Error{Code: refusal.CodeInvalidArguments, Detail: detail} }
	switch edit := v.Action == actionEdit; {
	// of a call that doesn't wait any more, the original is nil
	case !edit && changed && original != nil && strings.TrimSpace(typed) != "":
		return wrong("the arguments were changed; choose \"Approve with edited arguments\", or undo the change")
	case !edit:
		return nil
	case err != nil:
		return wrong("the arguments aren't JSON; put names and texts in double quotes")
	case !changed:
		return wrong("the arguments are the original ones; change them, or choose \"Approve\"")
	}
	v.Action, v.Arguments = core.ActionResume.String(), json.RawMessage(typed)
	return nil
}

// typedResult is the result of a call as a person typed it into the page: text, or JSON if the
// result's schema asks for another type. Input that isn't JSON then stays text, and the schema
// refuses it.
func typedResult(text string, call *wire.Pending) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case takesJSON(call.Suspension.ResponseSchema) && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return core.Encode(text)
}
