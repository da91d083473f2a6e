package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkform"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/linkpage"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/holds"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// question is the call that a link answers. It waits, or did.
type question struct {
	linkpage.Question
	link   access.Link
	record engine.Link
	caller frontend.Caller
}

// openLink checks a link's signature, its record and its creator's permission, and then reads its
// question. A refusal reveals nothing about the call.
func (a *api) openLink(r *http.Request) (l question, err error) {
	l.Hold, l.Product, l.Ready = int(a.hold/time.Second), a.names.ProductName(), r.URL.Query().Get("answer")
	l.link, err = access.OpenSigned(r.Context(), a.links, func(keys access.LinkKeys) (access.Link, error) { return keys.Open(r.PathValue("token"), a.clock.Now()) })
	if l.link.Tenant != "" {
		l.Tenant, requestlog.Of(r).Tenant = a.names.TenantName(l.link.Tenant), l.link.Tenant
	}
	switch {
	case errors.Is(err, access.ErrExpiredLink):
		return l, &refusal.Error{Code: problems.CodeLinkExpired, Detail: "the link has expired; ask for a new one"}
	case errors.Is(err, access.ErrBadLink):
		return l, &refusal.Error{Code: problems.CodeNotFound, Detail: "this link is incomplete or not from this server; open it exactly as you received it, or ask for a new one"}
	case err != nil:
		return l, err
	}
	if err := a.readRecord(r, &l); err != nil {
		return l, err
	}
	l.caller = frontend.LinkCaller(l.record)
	l.Edit, l.SignIn, l.Code = l.record.Edit, l.record.Require == engine.RequireToken, l.record.Require == engine.RequireCode
	a.signedIn(r, &l)
	if l.Run, err = a.front.Run(r.Context(), l.caller, l.link.Run); err != nil {
		return l, err
	}
	for i, p := range l.Run.Pending {
		if p.Suspension.ID == l.link.Suspension && (p.Deadline == nil || a.clock.Now().Before(p.Deadline.Time)) {
			l.Call = &l.Run.Pending[i]
		}
	}
	return l, nil
}

// readRecord reads the link's record, which must still be good.
func (a *api) readRecord(r *http.Request, l *question) (err error) {
	if l.record, err = a.front.LinkRecord(r.Context(), l.link.Tenant, l.link.Run, l.link.ID); err != nil {
		return err
	}
	return a.stillGood(r, *l)
}

// stillGood demands that the link was not revoked, and that its maker may still make links: it ends
// with the token it was made with, even if another token gets that one's name. Behind a gate it
// cannot be known whether a caller is still let in; a link that a known caller made is good there
// until it expires, is revoked, or its key is taken away.
func (a *api) stillGood(r *http.Request, l question) error {
	switch {
	case l.record.Suspension != l.link.Suspension:
		return &refusal.Error{Code: problems.CodeNotFound, Detail: "this link is incomplete or not from this server; open it exactly as you received it, or ask for a new one"}
	case l.record.Revoked > 0:
		return &refusal.Error{Code: problems.CodeLinkRevoked, Detail: "the link was revoked; ask for a new one"}
	case l.record.Endpoint != "":
		return a.stillSentTo(r, l)
	}
	maker := access.Principal{Tenant: l.link.Tenant, Name: l.record.Maker, Fingerprint: l.record.Fingerprint}
	may, err := a.stillMay(r, maker, access.Links)
	if err == nil && may && l.record.Edit {
		may, err = a.stillMay(r, maker, access.Decide)
	}
	if err == nil && !may {
		err = &refusal.Error{Code: problems.CodeLinkExpired, Detail: "the caller who created this link may no longer create links; ask for a new one"}
	}
	return err
}

// stillSentTo demands that the tenant's webhook that got the link is there, and sends to where it
// did. Targets of agent files aren't looked up: a run keeps those that its version of the agent
// has.
func (a *api) stillSentTo(r *http.Request, l question) error {
	if a.webhooks == nil || !strings.HasPrefix(l.record.Endpoint, notice.TenantEndpoint) {
		return nil
	}
	there, err := a.webhooks.IsAt(r.Context(), l.record)
	if err == nil && !there {
		err = &refusal.Error{Code: problems.CodeLinkRevoked, Detail: "the webhook that got this link was removed or sends elsewhere now; ask for a new link"}
	}
	return err
}

// stillMay says whether p's token is unchanged and has one of the roles. A gate accepts nothing
// that was signed without a token, by a server that needs none.
func (a *api) stillMay(r *http.Request, p access.Principal, roles ...access.Role) (bool, error) {
	if a.gate != nil {
		return p.Fingerprint != "", nil
	}
	if a.keys == nil || p.Person { // whom a protocol knows: no token of ours ends
		return true, nil
	}
	now, ok, err := a.keys.Named(r.Context(), p.Name)
	if err != nil {
		return false, cannotTell(err)
	}
	return ok && now.Fingerprint == p.Fingerprint && now.Tenant == p.Tenant && now.May(roles...), nil
}

// showLink shows what the link asks, or what became of that, and changes nothing: those who look at
// links before people do (mail scanners, previews) use GET.
func (a *api) showLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	if l.Call == nil {
		return a.showOutcome(w, r, l, http.StatusOK, "")
	}
	if !wantsPage(r) {
		return a.writeJSON(w, r, http.StatusOK, l.Approval())
	}
	return a.showQuestion(w, r, l, http.StatusOK, "")
}

// showQuestion writes the page of the question, with the reason on top if it is shown once more.
// The page offers a yes only if the link's caller could give it. Whose token will be typed in isn't
// known.
func (a *api) showQuestion(w http.ResponseWriter, r *http.Request, l question, status int, again string) (err error) {
	unknown := l.record.Require == engine.RequireToken || l.record.Require == engine.RequireSignIn && l.Person == ""
	if !unknown {
		if l.OnlyDenies, err = a.making.OnlyDenies(r.Context(), l.caller); err != nil {
			return a.linkRefused(w, r, l, err)
		}
	}
	if len(l.Call.Suspension.Withdrawn) > 0 {
		if l.TookBack, err = a.reads.TookBack(r.Context(), l.caller, l.link.Suspension); err != nil {
			return a.linkRefused(w, r, l, err)
		}
	}
	l.Write(w, status, linkpage.Ask(l.Question, a.clock.Now(), again))
	return nil
}

// showOutcome says what became of the question. above says why an answer that was just sent did not
// count, if there was one.
func (a *api) showOutcome(w http.ResponseWriter, r *http.Request, l question, status int, above string) error {
	o, err := a.reads.Outcome(r.Context(), l.caller, l.link.Run, l.link.Suspension)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	if !wantsPage(r) {
		return a.writeJSON(w, r, status, o)
	}
	mine := o.Decision != nil && o.Decision.By == l.caller.By && strings.HasPrefix(o.Decision.DecisionID, l.record.ID)
	l.Write(w, status, linkpage.Outcome(o, linkpage.Undo{Now: a.clock.Now(), Mine: mine}, above, ""))
	return nil
}

// answerLink takes the decision. The link says on which call; sent again, by a second click
// perhaps, it is the same decision.
func (a *api) answerLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.openLink(r)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	asked, err := a.askedBy(r, l)
	if err != nil {
		return a.linkRefused(w, r, l, err)
	}
	d, err := linkform.Read(w, r, &l.Question, asked)
	if l.Call != nil && onlyLooks(r, err) {
		return a.showQuestion(w, r, l, l.Looked(), "")
	}
	if l.Call == nil && onlyLooks(r, err) {
		return a.showOutcome(w, r, l, http.StatusOK, "")
	}
	if err != nil {
		return a.answerRefused(w, r, l, err)
	}
	// the body may have come slowly, and the link may have been revoked meanwhile
	if err := a.readRecord(r, &l); err != nil {
		return a.linkRefused(w, r, l, err)
	}
	if d.Action == linkform.Code {
		return a.sendCode(w, r, l)
	}
	if err := a.signIn(r, &l, d.Proof); err != nil {
		return a.answerRefused(w, r, l, err)
	}
	if d.Action == linkform.Withdraw {
		return a.undoByLink(w, r, l, d.DecisionID)
	}
	if err := a.verify(r, &l, d.Proof); err != nil {
		return a.answerRefused(w, r, l, err)
	}
	answer, err := a.decideByLink(r, l, d)
	if err != nil {
		return a.answerRefused(w, r, l, err)
	}
	answer.Status = decidedStatus(answer)
	switch {
	case !wantsPage(r):
		return a.writeJSON(w, r, answer.Status, answer)
	case answer.AppliesAt != nil:
		return a.showOutcome(w, r, l, answer.Status, "")
	}
	l.Write(w, answer.Status, linkpage.Answered(d.Decision, answer))
	return nil
}

// decideByLink stores the decision. One of a page that can't be held takes effect at once, as the
// page said that it might: an answer isn't lost because the run is busy.
func (a *api) decideByLink(r *http.Request, l question, d linkform.Answer) (wire.DecisionAnswer, error) {
	if d.DecisionID = ""; d.Withdrawn > 0 {
		d.DecisionID = strconv.Itoa(d.Withdrawn)
	}
	return holds.OrAtOnce(d.Decision, wantsPage(r), func(d wire.Decision) (wire.DecisionAnswer, error) {
		return a.front.DecideByLink(r.Context(), l.caller, d)
	})
}

// undoByLink takes back the held answer of this link, and of no other.
func (a *api) undoByLink(w http.ResponseWriter, r *http.Request, l question, decision string) error {
	answer, err := a.front.Withdraw(r.Context(), l.caller, l.link.Suspension, decision)
	e, known := problems.Refused(err)
	switch {
	case wantsPage(r) && known && problems.Of(e.Code).Status == http.StatusConflict:
		return a.showOutcome(w, r, l, http.StatusConflict, linkpage.TooLate)
	case err != nil:
		return a.linkRefused(w, r, l, err)
	case wantsPage(r):
		return a.showLink(w, r)
	}
	answer.Status = http.StatusOK
	return a.writeJSON(w, r, answer.Status, answer)
}

// askedBy is the call that the link is about, whether it still waits or not: the same form sent
// again, by a second click perhaps, has to be read as the same answer.
func (a *api) askedBy(r *http.Request, l question) (*wire.Pending, error) {
	if l.Call != nil {
		return l.Call, nil
	}
	p, err := a.front.Find(r.Context(), l.link.Tenant, l.link.Run)
	if err != nil {
		return nil, err
	}
	call, err := a.front.Target(r.Context(), p, l.link.Suspension)
	if e, ok := problems.Refused(err); ok && e.Code == refusal.CodeCallNotFound {
		// deciding refuses it, once its body is read
		err, call.Kind = nil, core.KindApproval
	}
	return &wire.Pending{Kind: call.Kind.String(), ResumeMode: call.ResumeMode.String(), Suspension: wire.Suspension{ResponseSchema: call.Suspension.ResponseSchema}}, err
}

// answeredAgain are the refusals after which the recipient of a link can answer otherwise.
var answeredAgain = []refusal.Code{refusal.CodeResultRequired, refusal.CodeSchemaMismatch, refusal.CodeInvalid, refusal.CodeNotAnApprover, refusal.CodeSeparationOfDuties,
	refusal.CodeInvalidArguments, problems.CodeUnauthorized, problems.CodeRoleRequired, problems.CodeRateLimited,
	refusal.CodeCodeRequired, refusal.CodeCodeWrong, refusal.CodeCodeExpired, refusal.CodeTooManyCodes, refusal.CodeCodeNotSent, refusal.CodeCodeLocked}

// answerRefused answers a refused decision. A person whose answer came second or too late sees what
// counts instead; one who can correct the answer, or may only deny, sees the question again. A
// program gets the problem.
func (a *api) answerRefused(w http.ResponseWriter, r *http.Request, l question, err error) error {
	e, known := problems.Refused(err)
	if e.Winner != nil { // a link is for one question, not for what another caller answered
		e.Winner.Result = nil
	}
	if known && wantsPage(r) {
		refusalHeaders(w, e)
	}
	if e.Code == refusal.CodeInvalidArguments {
		l.Wrong = map[string]string{"arguments": e.Detail}
	}
	p := problems.Of(e.Code)
	switch {
	case !known || !wantsPage(r):
	case l.Call != nil && e.Code == refusal.CodeChanged:
		l.Typed.Del("action") // an edit of what was asked before
		return a.showQuestion(w, r, l, p.Status, linkpage.Changed)
	case l.Call != nil && e.Code == refusal.CodeDecisionWithdrawn:
		return a.showQuestion(w, r, l, p.Status, linkpage.Spent)
	case l.Call != nil && slices.Contains(answeredAgain, e.Code):
		return a.showQuestion(w, r, l, p.Status, "Nothing was stored: "+e.Detail)
	case p.Status == http.StatusConflict || l.Code && slices.Contains(answeredAgain, e.Code):
		return a.showOutcome(w, r, l, p.Status, "Your answer was not used.")
	}
	return a.linkRefused(w, r, l, err)
}

// linkRefused answers a person with a page, and a program with a problem.
func (a *api) linkRefused(w http.ResponseWriter, r *http.Request, l question, err error) error {
	e, known := problems.Refused(err)
	switch {
	case wantsPage(r) && r.Method == http.MethodPost && problems.MayBeStored(err):
		a.logRefused(r, e, err, known)
		l.Write(w, problems.Of(e.Code).Status, linkpage.Unsure(l.Question, "?"))
	case wantsPage(r) && known:
		l.Write(w, problems.Of(e.Code).Status, linkpage.Refused(refusedTitle(e.Code), e.Detail, strings.TrimSuffix(l.SignInAt, "/sign-in")))
	default:
		return err
	}
	return nil
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), linkpage.Media) }

// onlyLooks reports whether the page's form was sent without an answer, for example with Enter, or
// to change something first. The page is then shown again; a program gets the error.
func onlyLooks(r *http.Request, err error) bool {
	e, known := problems.Refused(err)
	return known && e.Code == refusal.CodeBadAction && wantsPage(r)
}

// refusedTitle is the heading of a page that refuses.
func refusedTitle(code refusal.Code) string {
	switch code {
	case problems.CodeLinkExpired:
		return "This link has expired"
	case problems.CodeLinkRevoked:
		return "This link was revoked"
	case problems.CodeForbidden:
		return "You can't answer here"
	}
	return problems.Of(code).Title
}
