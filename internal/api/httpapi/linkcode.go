package httpapi

import (
	"context"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// SendCode mails a one-time code to one address. After an error it may have been sent.
type SendCode func(ctx context.Context, to, code string) error

// codeSent is the code of the answer when a one-time code was sent.
const codeSent = "code_sent"

// sendCode sends the one-time code of a link to the address that the link was made for, and to no
// other. Only a POST does it: programs that scan mail open every link.
func (a *api) sendCode(w http.ResponseWriter, r *http.Request, l question) error {
	switch {
	case l.record.Require != engine.RequireCode:
		return a.answerRefused(w, r, l, &refusal.Error{Code: refusal.CodeInvalid, Detail: "this link asks for no code; answer it without one"})
	case l.Call == nil:
		return a.answerRefused(w, r, l, &refusal.Error{Code: refusal.CodeNotSuspended, Detail: "the call no longer waits, so no code is sent"})
	case a.codes == nil:
		return a.answerRefused(w, r, l, noCodes())
	}
	code, err := a.making.NewCode(r.Context(), l.record)
	if err != nil {
		return a.answerRefused(w, r, l, err)
	}
	if err := a.codes(r.Context(), l.record.Mail, code); err != nil {
		a.log.WarnContext(r.Context(), "a one-time code could not be sent", "link", l.record.ID, "error", err)
		return a.answerRefused(w, r, l, &refusal.Error{Code: refusal.CodeCodeNotSent, Detail: "the code could not be mailed; try again"})
	}
	if !wantsPage(r) {
		return a.writeJSON(w, r, http.StatusAccepted, wire.DecisionAnswer{Status: http.StatusAccepted, Code: codeSent})
	}
	l.CodeSent = true
	return a.showQuestion(w, r, l, http.StatusAccepted, "")
}

func noCodes() error {
	return &refusal.Error{Code: refusal.CodeCodeNotSent, Detail: "this server sends no mail, and so no codes (the operator sets --smtp and --mail-from, on AWS the parameter NoticeMailFrom); decide with a token by the API"}
}

// verify makes the caller of a link that asks for a one-time code the link's recipient, whose
// address is verified.
func (a *api) verify(r *http.Request, l *question, typed string) error {
	if l.record.Require != engine.RequireCode {
		return nil
	}
	if err := a.making.UseCode(r.Context(), l.record, typed); err != nil {
		return err
	}
	l.caller = frontend.Verified(l.record)
	return nil
}
