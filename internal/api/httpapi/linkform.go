package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// readVerdict reads a form of the page, or a [wire.Verdict]. call is what the link asks about. What
// was typed into the form is kept in the question, so that the page can show it again; proof, which
// is the access token or the code that the link asks for, is not.
func readVerdict(w http.ResponseWriter, r *http.Request, q *linkpage.Question, call *wire.Pending) (d wire.Decision, proof string, err error) {
	var v wire.Verdict
	var by string
	var unseen bool
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == mediaForm {
		v, proof, err = readForm(w, r, q, call)
		// the page never sends a form without the fingerprint
		by, unseen = linkpage.Renderer, v.Shown == ""
	} else {
		err = readBody(w, r, &v)
		proof = v.Code
	}
	if err == nil && v.Action == actionCode {
		return wire.Decision{Action: v.Action}, "", nil
	}
	if err == nil && v.Action != "resume" && v.Action != "cancel" {
		err = &refusal.Error{Code: refusal.CodeBadAction, Detail: "action must be resume (approve) or cancel (deny), or code for a link that asks for one"}
	}
	if err == nil && unseen {
		err = &refusal.Error{Code: refusal.CodeChanged, Detail: "the form lacks shown, the fingerprint of its question; open the link again"}
	}
	if err == nil && v.Action == "resume" {
		err = answerMissing(q, *call, v)
	}
	if core.IsNull(v.Result) {
		v.Result = nil
	}
	if v.Shown == "" {
		by = ""
	}
	return wire.Decision{Action: v.Action, Reason: v.Reason, Result: v.Result, Arguments: v.Arguments, Shown: v.Shown, ShownBy: by}, proof, err
}

// answerMissing refuses an answer without a value where one is asked for, and a form with values
// that don't fit.
func answerMissing(q *linkpage.Question, call wire.Pending, v wire.Verdict) error {
	switch {
	case len(q.Wrong) > 0:
		return &refusal.Error{Code: refusal.CodeSchemaMismatch, Detail: "some fields of your answer need another value"}
	case call.Kind != core.KindApproval.String() && v.Result == nil:
		return &refusal.Error{Code: refusal.CodeResultRequired, Detail: "the call needs an answer; send it as result, or deny the call"}
	}
	return nil
}

const (
	mediaForm = "application/x-www-form-urlencoded"
	maxForm   = 64 << 10
)

func readForm(w http.ResponseWriter, r *http.Request, q *linkpage.Question, call *wire.Pending) (v wire.Verdict, proof string, err error) {
	fields, has := formOf(call)
	form, err := readFields(w, r, slices.Concat(formFields, fields.Names(), []string{"token", "code", "arguments"}))
	switch {
	case err != nil:
		return v, "", err
	case !q.SignIn && form.Get("token") != "":
		return v, "", &refusal.Error{Code: refusal.CodeInvalid, Detail: "this link asks for no token; open it again"}
	case !q.Code && form.Get("code") != "":
		return v, "", &refusal.Error{Code: refusal.CodeInvalid, Detail: "this link asks for no code; open it again"}
	case !q.Edit && form.Get("arguments") != "":
		return v, "", &refusal.Error{Code: refusal.CodeInvalid, Detail: "this link can't edit arguments; approve or deny the call as it is"}
	}
	proof = form.Get("token") + form.Get("code") // a link asks for one of them
	form.Del("token")
	form.Del("code")
	q.Typed = form
	v = wire.Verdict{Action: form.Get("action"), Reason: strings.TrimSpace(form.Get("reason")), Shown: form.Get("shown")}
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
	return v, proof, err
}

// actionEdit is the button that approves a call with other arguments.
const actionEdit = "edit"

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

// formOf is the form on the page of a call, if it has one.
func formOf(call *wire.Pending) (f linkpage.Form, has bool) {
	if !linkpage.Answers(*call) {
		return f, false
	}
	return linkpage.FormOf(call.Suspension.ResponseSchema)
}

// readFields reads a form that has no other fields, and each of them once.
func readFields(w http.ResponseWriter, r *http.Request, fields []string) (url.Values, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, &refusal.Error{Code: codeTooLarge, Detail: "the answer is longer than 64 KiB; shorten it"}
	}
	form, bad := url.ParseQuery(string(text))
	if err != nil || bad != nil {
		return nil, malformed("the form can't be parsed; open the link again")
	}
	for name, values := range form {
		if !slices.Contains(fields, name) {
			code := codeUnknownField
			if pageField.MatchString(name) { // of the page of another question
				code = refusal.CodeInvalid
			}
			return nil, &refusal.Error{Code: code, Detail: "the form has an unknown field; it takes " + strings.Join(formFields, ", ") + " and the fields of its page"}
		}
		if len(values) > 1 || !utf8.ValidString(values[0]) {
			return nil, malformed("the form field %s is repeated or not UTF-8; open the link again", name)
		}
	}
	return form, nil
}

// pageField is the form of the names that a page gives the fields of an answer.
var pageField = regexp.MustCompile(`^f[0-9]+(\.[0-9]+)?$`)

var formFields = []string{"action", "reason", "result", "shown"}

// typedResult is the result of a call as a person typed it into the page: text, or JSON if the
// result's schema asks for another type. Input that isn't JSON then stays text, and the schema
// refuses it.
func typedResult(text string, call *wire.Pending) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case linkpage.TakesJSON(call.Suspension.ResponseSchema) && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return core.Encode(text)
}
