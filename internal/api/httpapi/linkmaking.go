package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// makeLink makes a link for one recipient. It is the only call that hands one out.
func (a *api) makeLink(w http.ResponseWriter, r *http.Request) error {
	var req wire.LinkRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	life, err := a.linkLife(req.ExpiresIn)
	if err != nil {
		return err
	}
	if err := a.canMake(principal(r), req); err != nil {
		return err
	}
	if a.links == nil {
		return &refusal.Error{Code: problems.CodeNotFound, Detail: "the server has no key to sign approval links; ask the operator to configure one"}
	}
	keys, err := a.links(r.Context(), access.KeysAge)
	if err != nil {
		return err
	}
	p := principal(r)
	l, err := a.making.MakeLink(r.Context(), caller(r), r.PathValue("id"),
		links.LinkOrder{Target: req.Target, For: req.For, Name: p.Name, Fingerprint: p.Fingerprint, Life: life, Edit: req.Edit, Require: req.Require})
	if err != nil {
		return err
	}
	made := frontend.ShowLink(l)
	made.Link = a.public.To(access.LinkPath + keys.Sign(access.Link{ID: l.ID, Tenant: l.Tenant, Run: l.Run, Suspension: l.Suspension, Expires: time.UnixMilli(l.Expires)}))
	return a.writeJSON(w, r, http.StatusCreated, made)
}

// canMake refuses a link that gives more than its maker has, or that this server can't serve.
func (a *api) canMake(p access.Principal, req wire.LinkRequest) error {
	switch {
	case req.Require != "" && req.Require != engine.RequireToken && req.Require != engine.RequireSignIn && req.Require != engine.RequireCode:
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "require must be token, sign_in, code or omitted"}
	case req.Require == engine.RequireSignIn && a.people == nil:
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "this server has no identity provider to sign in at; omit require, or ask the operator to set one (--oidc-issuer, or the parameter SignInIssuer on AWS)"}
	case req.Require == engine.RequireToken && !a.checksTokens():
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "this server can't check access tokens on the page of a link; omit require, or have the person decide by the API"}
	case req.Require == engine.RequireCode && a.codes == nil:
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "this server can't send one-time codes by mail; omit require, or ask the operator to let it send mail (--smtp and --mail-from, on AWS the parameter NoticeMailFrom)"}
	case req.Require == engine.RequireCode && !notice.IsMail(req.For):
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "with require: code, for must be the mail address that codes are sent to, as in anna@example.com"}
	case req.Edit:
		return authorize(p, []access.Role{access.Decide})
	}
	return nil
}

// linkLife is how long a link is good for: as the caller asks, and never longer than the server's
// limit.
func (a *api) linkLife(expiresIn float64) (time.Duration, error) {
	if expiresIn == 0 {
		return a.limits.LinkLife, nil
	}
	if most := a.limits.LinkLife / time.Second; expiresIn < 1 || expiresIn > float64(most) || expiresIn != math.Trunc(expiresIn) {
		return 0, &refusal.Error{Code: refusal.CodeInvalid, Detail: fmt.Sprintf("expires_in must be a whole number of seconds from 1 to %d", most)}
	}
	return time.Duration(expiresIn) * time.Second, nil
}

func (a *api) listLinks(w http.ResponseWriter, r *http.Request) error {
	page, err := a.making.Links(r.Context(), caller(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) revokeLink(w http.ResponseWriter, r *http.Request) error {
	l, err := a.making.RevokeLink(r.Context(), caller(r), r.PathValue("id"), r.PathValue("link"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, l)
}
