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
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

const linksPath = "/v1/approvals/"

// withLinks adds to each entry of an inbox the link that answers it. Only who may decide is given some: a link is the right to.
func (a *api) withLinks(r *http.Request, page wire.Page[wire.Approval]) (wire.Page[wire.Approval], error) {
	p := principal(r)
	if a.links == nil || !p.May(access.Decide) || len(page.Items) == 0 {
		return page, nil
	}
	keys, err := a.links(r.Context(), keysAge)
	if err != nil {
		return page, err
	}
	expires := a.clock.Now().Add(a.limits.LinkLife)
	for i, item := range page.Items {
		if canLink(item.Pending) {
			page.Items[i].Link = linksPath + keys.Sign(access.Link{Tenant: p.Tenant, Name: p.Name, Fingerprint: p.Fingerprint, Run: item.RunID, Suspension: item.Suspension.ID, Expires: expires})
		}
	}
	return page, nil
}

// canLink says whether the call asks for a yes or a no. What asks for more is answered by programs.
func canLink(p wire.Pending) bool { return p.Kind == "approval" }

// question is what a link stands for: a call that waits.
type question struct {
	link   access.Link
	caller frontend.Caller
	run    wire.Run
	call   *wire.Pending // nil: it does not wait any more
}

func (a *api) openLink(r *http.Request) (l question, err error) {
	link, err := openSigned(a, r, func(keys access.LinkKeys) (access.Link, error) { return keys.Open(r.PathValue("token"), a.clock.Now()) })
	switch {
	case errors.Is(err, access.ErrExpiredLink):
		return l, &frontend.Error{Code: codeLinkExpired, Detail: "the link has expired; ask for a new one"}
	case errors.Is(err, access.ErrBadLink):
		return l, &frontend.Error{Code: codeNotFound, Detail: "this is no link of ours"}
	case err != nil:
		return l, err
	}
	noteOf(r).tenant = link.Tenant
	if err := a.stillGood(r, link); err != nil {
		return l, err
	}
	l = question{link: link, caller: frontend.Caller{Tenant: link.Tenant, By: link.By()}}
	if l.run, err = a.front.Run(r.Context(), l.caller, link.Run); err != nil {
		return l, err
	}
	for i, p := range l.run.Pending {
		if p.Suspension.ID == link.Suspension {
			l.call = &l.run.Pending[i]
		}
	}
	return l, nil
}

// stillGood demands that whoever was given the link may still decide: a link lends the right of one token, and ends with it, even if another gets
// its name. Behind a gate nobody can be asked about who does not call: there a link that somebody was given is good until it expires, or its key
// is taken away.
func (a *api) stillGood(r *http.Request, l access.Link) error {
	may, err := a.stillMay(r, access.Principal{Tenant: l.Tenant, Name: l.Name, Fingerprint: l.Fingerprint}, access.Decide)
	if err == nil && !may {
		err = &frontend.Error{Code: codeLinkExpired, Detail: "whoever was given this link may not decide any more; ask for a new one"}
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

// showLink shows what the link asks, and changes nothing: those who look at links before people do (mail scanners, previews) use GET.
func (a *api) showLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, err)
	}
	if l.call == nil {
		return a.linkRefused(w, r, &frontend.Error{Code: frontend.CodeNotSuspended, Detail: "this was answered already, or its run has ended"})
	}
	if !wantsPage(r) {
		return a.writeJSON(w, r, http.StatusOK, wire.Approval{RunID: l.run.ID, ThreadID: l.run.ThreadID, Agent: l.run.Agent, Since: l.run.UpdatedAt, Pending: *l.call})
	}
	writePage(w, http.StatusOK, questionPage(l))
	return nil
}

// answerLink takes the decision. The link says on which call; sent again, by a second click perhaps, it is the same decision.
func (a *api) answerLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, err)
	}
	d, err := readVerdict(w, r, l.link.Suspension)
	if err != nil {
		return a.linkRefused(w, r, err)
	}
	answer, err := a.front.Decide(r.Context(), l.caller, l.link.Run, d)
	if err != nil {
		return a.linkRefused(w, r, err)
	}
	answer.Status = decidedStatus(answer)
	if !wantsPage(r) {
		return a.writeJSON(w, r, answer.Status, answer)
	}
	writePage(w, answer.Status, answeredPage(d, answer))
	return nil
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
func (a *api) linkRefused(w http.ResponseWriter, r *http.Request, err error) error {
	if e, ok := refused(err); ok && wantsPage(r) {
		writePage(w, problemOf[e.Code].status, refusedPage(e))
		return nil
	}
	return err
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), mediaPage) }
