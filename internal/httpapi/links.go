package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// question is what a link stands for: a call that waits, or that did.
type question struct {
	link    access.Link
	record  engine.Link
	caller  frontend.Caller
	product string // as the operator names it, see [Names]
	tenant  string
	run     wire.Run
	call    *wire.Pending // nil: it does not wait any more, or its deadline has passed
}

// openLink reads a link: its signature, its record, the right of who made it, and then what it asks. What it refuses tells nothing of the call.
func (a *api) openLink(r *http.Request) (l question, err error) {
	l.product = a.names.product()
	l.link, err = openSigned(a, r, func(keys access.LinkKeys) (access.Link, error) { return keys.Open(r.PathValue("token"), a.clock.Now()) })
	if l.link.Tenant != "" {
		l.tenant, noteOf(r).tenant = a.names.tenant(l.link.Tenant), l.link.Tenant
	}
	switch {
	case errors.Is(err, access.ErrExpiredLink):
		return l, &frontend.Error{Code: codeLinkExpired, Detail: "the link has expired; ask for a new one"}
	case errors.Is(err, access.ErrBadLink):
		return l, &frontend.Error{Code: codeNotFound, Detail: "this is no link of ours"}
	case err != nil:
		return l, err
	}
	if l.record, err = a.front.LinkRecord(r.Context(), l.link.Tenant, l.link.Run, l.link.ID); err != nil {
		return l, err
	}
	if err := a.stillGood(r, l); err != nil {
		return l, err
	}
	l.caller = frontend.LinkCaller(l.record)
	if l.run, err = a.front.Run(r.Context(), l.caller, l.link.Run); err != nil {
		return l, err
	}
	for i, p := range l.run.Pending {
		if p.Suspension.ID == l.link.Suspension && (p.Deadline == nil || a.clock.Now().Before(p.Deadline.Time)) {
			l.call = &l.run.Pending[i]
		}
	}
	return l, nil
}

// stillGood demands that the link was not revoked, and that its maker may still make links: it ends with the token it was made with, even if
// another token gets that one's name. Behind a gate it cannot be known whether a caller is still let in; a link that a known caller made is good
// there until it expires, is revoked, or its key is taken away.
func (a *api) stillGood(r *http.Request, l question) error {
	switch {
	case l.record.Suspension != l.link.Suspension:
		return &frontend.Error{Code: codeNotFound, Detail: "this is no link of ours"}
	case l.record.Revoked > 0:
		return &frontend.Error{Code: codeLinkRevoked, Detail: "the link was revoked; ask for a new one"}
	}
	may, err := a.stillMay(r, access.Principal{Tenant: l.link.Tenant, Name: l.record.Maker, Fingerprint: l.record.Fingerprint}, access.Links)
	if err == nil && !may {
		err = &frontend.Error{Code: codeLinkExpired, Detail: "the caller who made this link may not make links any more; ask for a new one"}
	}
	return err
}

// stillMay says whether the token that was p's is still p's, and good for the role. What was signed for nobody, by a server that lets everybody in, is
// good at no gate.
func (a *api) stillMay(r *http.Request, p access.Principal, role access.Role) (bool, error) {
	if a.gate != nil {
		return p.Fingerprint != "", nil
	}
	if a.keys == nil {
		return true, nil
	}
	now, ok, err := a.keys.Named(r.Context(), p.Name)
	if err != nil {
		return false, cannotTell(err)
	}
	return ok && now.Fingerprint == p.Fingerprint && now.Tenant == p.Tenant && now.May(role), nil
}

// showLink shows what the link asks, or what became of that, and changes nothing: those who look at links before people do (mail
// scanners, previews) use GET.
func (a *api) showLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	if l.call == nil {
		return a.showOutcome(w, r, l, http.StatusOK, "")
	}
	if !wantsPage(r) {
		return a.writeJSON(w, r, http.StatusOK, wire.Approval{RunID: l.run.ID, ThreadID: l.run.ThreadID, Agent: l.run.Agent, Since: l.run.UpdatedAt, Pending: *l.call})
	}
	l.writePage(w, http.StatusOK, questionPage(l, a.clock.Now()))
	return nil
}

// showOutcome says what became of the question. Above stands why an answer that was sent just now did not count, if one was.
func (a *api) showOutcome(w http.ResponseWriter, r *http.Request, l question, status int, above string) error {
	o, err := a.front.Outcome(r.Context(), l.caller, l.link.Run, l.link.Suspension)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	if !wantsPage(r) {
		return a.writeJSON(w, r, status, o)
	}
	l.writePage(w, status, outcomePage(o, above))
	return nil
}

// answerLink takes the decision. The link says on which call; sent again, by a second click perhaps, it is the same decision.
func (a *api) answerLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	d, err := readVerdict(w, r, l.link.Suspension)
	if l.call != nil && onlyLooks(r, err) {
		l.writePage(w, http.StatusBadRequest, questionPage(l, a.clock.Now()))
		return nil
	}
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	answer, err := a.front.DecideByLink(r.Context(), l.caller, d.Action, d.Reason)
	if err != nil {
		return a.answerRefused(w, r, l, err)
	}
	answer.Status = decidedStatus(answer)
	if !wantsPage(r) {
		return a.writeJSON(w, r, answer.Status, answer)
	}
	l.writePage(w, answer.Status, answeredPage(d, answer))
	return nil
}

// answerRefused shows a person whose answer came second, or too late, what counts instead. A program gets the problem.
func (a *api) answerRefused(w http.ResponseWriter, r *http.Request, l question, err error) error {
	e, known := refused(err)
	if p := problemOf[e.Code]; known && p.status == http.StatusConflict && wantsPage(r) {
		return a.showOutcome(w, r, l, p.status, "Your answer was not used.")
	}
	return a.linkRefused(w, r, l, err)
}

// readVerdict reads a form of the page, or a [wire.Verdict].
func readVerdict(w http.ResponseWriter, r *http.Request, suspension string) (wire.Decision, error) {
	var v wire.Verdict
	var err error
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == mediaForm {
		v, err = readForm(w, r)
	} else {
		err = readBody(w, r, &v)
	}
	if err == nil && v.Action != "resume" && v.Action != "cancel" {
		err = &frontend.Error{Code: frontend.CodeBadAction, Detail: "action is resume (yes) or cancel (no)"}
	}
	return wire.Decision{Target: suspension, Action: v.Action, Reason: v.Reason}, err
}

const (
	mediaForm = "application/x-www-form-urlencoded"
	maxForm   = 64 << 10
)

func readForm(w http.ResponseWriter, r *http.Request) (v wire.Verdict, err error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if errors.As(err, new(*http.MaxBytesError)) {
		return v, &frontend.Error{Code: codeTooLarge, Detail: "the reason is too long"}
	}
	form, bad := url.ParseQuery(string(text))
	if err != nil || bad != nil {
		return v, malformed("the form cannot be read")
	}
	for name, values := range form {
		if name != "action" && name != "reason" {
			return v, &frontend.Error{Code: codeUnknownField, Detail: "the form has a field that is not known here; it takes action and reason"}
		}
		if len(values) > 1 || !utf8.ValidString(values[0]) {
			return v, malformed("%s is there twice, or is not UTF-8", name)
		}
	}
	return wire.Verdict{Action: form.Get("action"), Reason: strings.TrimSpace(form.Get("reason"))}, nil
}

// linkRefused answers a person with a page, and a program with a problem.
func (a *api) linkRefused(w http.ResponseWriter, r *http.Request, l question, err error) error {
	if e, ok := refused(err); ok && wantsPage(r) {
		l.writePage(w, problemOf[e.Code].status, refusedPage(e))
		return nil
	}
	return err
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), mediaPage) }
