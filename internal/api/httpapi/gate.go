package httpapi

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Gate returns the caller that an authorizer in front of this server put into the request's
// context; it ignores the headers. ok is false for a request that passed no authorizer: such a
// request can use only routes without a role. An [access.NotAdmittedError] means that the caller
// has no tenant or role here.
type Gate func(ctx context.Context) (p access.Principal, ok bool, err error)

// NobodyEnters is the gate where nothing is served that needs a role.
func NobodyEnters(context.Context) (access.Principal, bool, error) {
	return access.Principal{}, false, nil
}

func (g Gate) who(ctx context.Context) (access.Principal, error) {
	p, ok, err := g(ctx)
	refused, nobody := errors.AsType[access.NotAdmittedError](err)
	switch {
	case nobody:
		return access.Principal{}, &refusal.Error{Code: problems.CodeNotAdmitted, Detail: refused.Why}
	case err == nil && !ok:
		return access.Principal{}, &refusal.Error{Code: problems.CodeUnauthorized,
			Detail: "the request didn't pass an authorizer; send the token or the signature that the gateway requires"}
	}
	return p, err
}
