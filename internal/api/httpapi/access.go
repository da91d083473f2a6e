package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// loopback demands, where no token does, that the request names a loopback host: a page elsewhere
// whose name was made to point at this machine sends its own name.
func (a *api) loopback(next http.Handler) http.Handler {
	if a.keys != nil || a.gate != nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			a.answer(w, r, &refusal.Error{Code: problems.CodeForbidden, Detail: "a server without tokens accepts only loopback hosts, such as localhost; use one, or run the server with tokens"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

type principalKey struct{}

func principal(r *http.Request) access.Principal {
	p, _ := r.Context().Value(principalKey{}).(access.Principal)
	return p
}

// authenticate returns the request with the principal who sends it.
func (a *api) authenticate(r *http.Request) (*http.Request, error) {
	p, err := a.who(r)
	if err != nil {
		return r, err
	}
	return as(r, p), nil
}

// untilRead looks at the caller again once the body has been read: it may have come slowly, and an
// operator who has taken a token away counts on it.
//
//	known ── first bytes of the body ── the token is removed ── the rest ── nothing is done
func (a *api) untilRead(r *http.Request, roles []access.Role) {
	if a.gate != nil || a.keys == nil {
		return // a gate hands bodies over whole
	}
	r.Body = &checkedBody{r.Body, func() error {
		may, err := a.stillMay(r, principal(r), roles...)
		if err == nil && !may {
			err = &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the token, or its right to do this, was taken away while the request was being sent; nothing was done"}
		}
		return err
	}}
}

// checkedBody ends with what check says when all of it has been read.
type checkedBody struct {
	io.ReadCloser
	check func() error
}

func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if refused := b.check(); refused != nil {
		return n, refused
	}
	return n, io.EOF
}

func as(r *http.Request, p access.Principal) *http.Request {
	requestlog.Of(r).Tenant = p.Tenant
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, p))
}

func (a *api) who(r *http.Request) (access.Principal, error) {
	if a.gate != nil {
		return a.gate.who(r.Context())
	}
	if a.keys == nil {
		return access.Anyone(), nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if len(r.Header.Values("Authorization")) > 1 {
		return access.Principal{}, &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the request has several Authorization headers; send one"}
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return access.Principal{}, &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the request has no bearer token; send it as Authorization: Bearer TOKEN"}
	}
	p, ok, err := a.keys.Find(r.Context(), strings.TrimSpace(token))
	switch {
	case err != nil:
		err = cannotTell(err)
	case !ok:
		err = &refusal.Error{Code: problems.CodeUnauthorized, Detail: "the server doesn't know this bearer token; check it, or ask the operator for a new one"}
	}
	return p, err
}

// cannotTell words that the keys cannot be read. Why is for the operator, in the log.
func cannotTell(err error) error {
	if !errors.Is(err, engine.ErrUnavailable) {
		return err
	}
	return &refusal.Error{Code: refusal.CodeUnavailable, RetryAfter: 5 * time.Second,
		Detail: "the server can't read its tokens now, so it can't identify the caller; send the request again, or ask the operator to check the server's log"}
}

func authorize(p access.Principal, roles []access.Role) error {
	if p.May(roles...) {
		return nil
	}
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return &refusal.Error{Code: problems.CodeRoleRequired,
		Detail: fmt.Sprintf("the token %s lacks the role for this operation; it needs %s or admin", p.Name, strings.Join(names, " or "))}
}

// shownTo is a run in the answer to one who may do something to it, and perhaps not read it: then
// without what it says, and without what it waits for, unless it is for the caller to answer.
func shownTo(p access.Principal, run wire.Run) wire.Run {
	if p.May(access.Read) {
		return run
	}
	run.Output, run.Detail, run.FirstLine = nil, "", ""
	if run.Error != nil {
		run.Error = &wire.RunError{Code: run.Error.Code}
	}
	if !p.May(access.Decide) {
		run.Pending = []wire.Pending{}
	}
	return run
}

func caller(r *http.Request) frontend.Caller {
	p := principal(r)
	return frontend.Caller{Tenant: p.Tenant, By: p.By(), Via: "api", Roles: p.Roles, Claims: p.Claims}
}
