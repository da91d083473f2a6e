// Package linkform reads what is sent to the address of an approval link: the form of its page, or
// JSON of a program.
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

// Actions of a link that answer nothing.
const (
	Code     = "code"     // asks for a one-time code
	Withdraw = "withdraw" // takes back an answer that is held
)

// Media is the media type of the form of a page.
const Media = "application/x-www-form-urlencoded"

// Answer is what was sent to a link.
type Answer struct {
	wire.Decision
	// how many decisions on the question had been withdrawn when it was read
	Withdrawn int
	// the access token or the code that the link asks for. It is not kept in the question.
	Proof string
}

// Read reads a form of the page, or a [wire.Verdict]. call is what the link asks about. What was
// typed into the form is kept in the question, so that the page can show it again.
func Read(w http.ResponseWriter, r *http.Request, q *linkpage.Question, call *wire.Pending) (Answer, error) {
	v, proof, err := verdict(w, r, q, call)
	a := Answer{Withdrawn: v.Withdrawn, Proof: proof}
	if err == nil && v.Withdrawn < 0 {
		err = refusal.New(refusal.CodeInvalid, "withdrawn must be at least 0")
	}
	if err == nil && (v.Action == Code || v.Action == Withdraw) {
		a.Decision = wire.Decision{Action: v.Action, DecisionID: v.DecisionID}
		return a, nil
	}
	var by string
	var unseen bool
	if isForm(r) {
		// the page never sends a form without the fingerprint
		by, unseen = linkpage.Renderer, v.Shown == ""
	}
	if err == nil && v.Action != "resume" && v.Action != "cancel" {
		err = &refusal.Error{Code: refusal.CodeBadAction, Detail: "action must be resume (approve) or cancel (deny), withdraw for an answer that is held, or code for a link that asks for one"}
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
	a.Decision = wire.Decision{Action: v.Action, Reason: v.Reason, Result: v.Result, Arguments: v.Arguments, Shown: v.Shown, ShownBy: by, Hold: v.Hold}
	return a, err
}

func isForm(r *http.Request) bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media == Media
}

func verdict(w http.ResponseWriter, r *http.Request, q *linkpage.Question, call *wire.Pending) (v wire.Verdict, proof string, err error) {
	if isForm(r) {
		return readForm(w, r, q, call)
	}
	err = bodies.Read(w, r, &v)
	return v, v.Code, err
}

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

// formFields are those of every page; those of the pages alone are not listed to callers.
var formFields = []string{"action", "reason", "result", "shown", "hold", "withdrawn", "decision_id"}
