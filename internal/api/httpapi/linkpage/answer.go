package linkpage

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// FieldsOf are the names of the fields that the pages of a call have for its answer, or for its
// arguments.
func FieldsOf(call *wire.Pending) []string {
	if fields, has := formOf(call); has {
		return fields.Names()
	}
	fields, _, _ := argumentsForm(call, call.Arguments)
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
	v = wire.Verdict{Action: form.Get("action"), Reason: strings.TrimSpace(form.Get("reason")), Shown: form.Get("shown"),
		Hold: number(form.Get("hold")), Withdrawn: number(form.Get("withdrawn")), DecisionID: form.Get("decision_id")}
	fields, has := formOf(call)
	switch {
	case v.Action == actionEdit, v.Action == actionChange, v.Action == actionCompare, v.Action == core.ActionResume.String() && form.Has("arguments"):
		err = q.readEdit(&v, form, call)
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
