package lambdahttp

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// Caller is what the gateway's authorizer says of who calls. The zero value is a request that went
// past none.
type Caller struct {
	Claims map[string]string // of a JWT that it checked; nil for none
	ARN    string            // of the caller who signed with IAM; empty without a signature
}

func callerOf(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) (c Caller) {
	if a == nil {
		return c
	}
	if a.JWT != nil {
		c.Claims = a.JWT.Claims
	}
	if a.IAM != nil {
		c.ARN = a.IAM.UserARN
	}
	return c
}

type factsKey struct{}

func (e event) noted(ctx context.Context) context.Context {
	return context.WithValue(ctx, factsKey{}, facts{id: e.id, caller: e.caller})
}

// facts are what the event says of a request beside what HTTP does.
type facts struct {
	id     string
	caller Caller
}

func factsOf(ctx context.Context) facts {
	f, _ := ctx.Value(factsKey{}).(facts)
	return f
}

// RequestID is the gateway's name of the request whose context it is; empty if it is of none.
func RequestID(ctx context.Context) string { return factsOf(ctx).id }

// CallerFrom is who sends the request whose context it is, as the authorizer says.
func CallerFrom(ctx context.Context) Caller { return factsOf(ctx).caller }

// AdmitJWT admits only callers with a JWT. ok is false for a request that passed no JWT authorizer.
func AdmitJWT(a access.Admission) func(context.Context) (p access.Principal, ok bool, err error) {
	return func(ctx context.Context) (access.Principal, bool, error) {
		claims := CallerFrom(ctx).Claims
		if len(claims) == 0 {
			return access.Principal{}, false, nil
		}
		p, err := a.JWT(claims)
		return p, err == nil, err
	}
}

// AdmitIAM admits only callers who sign with IAM. ok is false for a request that passed no IAM
// authorizer.
func AdmitIAM(a access.Admission) func(context.Context) (p access.Principal, ok bool, err error) {
	return func(ctx context.Context) (access.Principal, bool, error) {
		arn := CallerFrom(ctx).ARN
		if arn == "" {
			return access.Principal{}, false, nil
		}
		p, err := a.IAM(arn)
		return p, err == nil, err
	}
}

func bodyOf(text []byte) io.Reader {
	if len(text) == 0 {
		return http.NoBody
	}
	return bytes.NewReader(text)
}
