// Package linkform reads the answers to approval links: forms of their pages, and verdicts in JSON.
package linkform

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// ReadVerdict reads a form of the page, or a [wire.Verdict]. call is what the link asks about. What
// was typed into the form is kept in the question, so that the page can show it again; proof, which
// is the access token or the code that the link asks for, is not.
func ReadVerdict(w http.ResponseWriter, r *http.Request, q *linkpage.Question, call *wire.Pending) (d wire.Decision, proof string, err error) {
	var v wire.Verdict
	var by string
	var unseen bool
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == MediaForm {
		v, proof, err = readForm(w, r, q, call)
		// the page never sends a form without the fingerprint
		by, unseen = linkpage.Renderer, v.Shown == ""
	} else {
		err = bodies.Read(w, r, &v)
		proof = v.Code
	}
	if err == nil && v.Action == ActionCode {
		return wire.Decision{Action: v.Action}, "", nil
	}
	if err == nil && v.Action != "resume" && v.Action != "cancel" {
		err = &refusal.Error{Code: refusal.CodeBadAction, Detail: "action must be resume (approve) or cancel (deny), or code for a link that asks for one"}
	}
	if err == nil && unseen {
		err = &refusal.Error{Code: refusal.CodeChanged, Detail: "the form lacks shown, the fingerprint of its question; open the link again"}
	}
	if err == nil && v.Action == "resume" {
		err = q.Complete(*call, v)
	}
	if core.IsNull(v.Result) {
		v.Result = nil
	}
	if v.Shown == "" {
		by = ""
	}
	return wire.Decision{Action: v.Action, Reason: v.Reason, Result: v.Result, Arguments: v.Arguments, Shown: v.Shown, ShownBy: by}, proof, err
}

// MediaForm is the media type of forms.
const MediaForm = "application/x-www-form-urlencoded"

// ActionCode asks for a one-time code. It answers nothing.
const ActionCode = "code"

func readForm(w http.ResponseWriter, r *http.Request, q *linkpage.Question, call *wire.Pending) (v wire.Verdict, proof string, err error) {
	form, err := readFields(w, r, slices.Concat(formFields, linkpage.FieldsOf(call), []string{"token", "code", "arguments"}))
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
	v, err = q.Read(form, call)
	return v, proof, err
}

// readFields reads a form that has no other fields.
func readFields(w http.ResponseWriter, r *http.Request, fields []string) (url.Values, error) {
	form, err := bodies.Form(w, r, "the link")
	if err != nil {
		return nil, err
	}
	for name := range form {
		if slices.Contains(fields, name) {
			continue
		}
		code := problems.CodeUnknownField
		if pageField.MatchString(name) { // of the page of another question
			code = refusal.CodeInvalid
		}
		return nil, &refusal.Error{Code: code, Detail: "the form has an unknown field; it takes " + strings.Join(formFields, ", ") + " and the fields of its page"}
	}
	return form, nil
}

// pageField is the form of the names that a page gives the fields of an answer.
var pageField = lazyregexp.New(`^f[0-9]+(\.[0-9]+)?$`)

var formFields = []string{"action", "reason", "result", "shown"}
