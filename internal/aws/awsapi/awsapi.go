// Package awsapi adapts the HTTP API to the Lambda functions of a stack: which part of the API each
// function serves, how callers are authenticated, and how requests arrive. Package httpapi
// implements the calls, and package lambdahttp the events.
package awsapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/livetext"
)

// Options configure a function of the API.
type Options struct {
	Frontend *frontend.Frontend
	Webhooks *webhooks.Desk
	Hooks    *hooks.Receiver // of [Hooks] alone
	Clock    engine.Clock
	Access   stack.Access
	// Links reads the keys of approval links, at the first request that needs them
	Links func(context.Context) (access.LinkKeys, error)
	// SignIn is the provider at which people sign in who answer by a link; nil for none. It
	// needs Public.
	SignIn people.SignIn
	Public access.PublicURL // links begin with it
	Codes  httpapi.SendCode // mails the one-time codes of links; nil for none
	// Watched is that of [httpapi.Options]; nil for none
	Watched func(ctx context.Context, tenant, id string)
	// Protocols makes the protocols of chat clients, which sign with these keys; nil for none
	Protocols func(access.LinkSource) []httpapi.Protocol
	// Tickets is where it is kept which tickets have opened a stream, of [Streams]
	Tickets bounds.Tickets
	// Rates are what tenants may do, and Buckets is where it is counted; none: no limits
	Rates   bounds.Rates
	Buckets bounds.Buckets
	Version string
	Policy  string       // digest of the policy in force
	Logger  *slog.Logger // for faults and for one line per request
	// Metrics count the answers that are failures of the function; nil counts nothing
	Metrics *emf.Metrics
}

// Gateway handles events of API Gateway's HTTP API.
type Gateway = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// URL handles events of the function URL.
type URL = func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error)

// Runs serves the API except for decisions and streams, and the protocols of chat clients.
func Runs(o Options) (Gateway, error) { return o.gateway(httpapi.PartRuns) }

// Decisions serves suspensions and the decisions on them.
func Decisions(o Options) (Gateway, error) { return o.gateway(httpapi.PartDecisions) }

// Hooks serves incoming webhooks, which their signatures admit.
func Hooks(o Options) (Gateway, error) { return o.gateway(httpapi.PartHooks) }

// Tests serves requests for test notices.
func Tests(o Options) (Gateway, error) { return o.gateway(httpapi.PartTests) }

// Pages serves the protocols of the options, and nothing of the API: no request passes an
// authorizer.
func Pages(o Options) (Gateway, error) {
	served := o.served(httpapi.PartPages)
	served.Gate = httpapi.NobodyEnters
	h, err := httpapi.New(served)
	return o.counted(lambdahttp.Buffered(h, o.Logger)), err
}

// streamLife is short because Lambda does not report that a reader has disconnected: an abandoned
// stream costs no more than that. Connected readers reopen the stream and continue where they were.
const streamLife = livetext.StreamLife

// Streams serves streams that are opened with a ticket, and nothing else, because the function URL
// does not authenticate callers.
func Streams(o Options) (URL, error) {
	served := o.served(httpapi.PartStreams)
	served.Gate, served.Buffered, served.StreamURL = httpapi.NobodyEnters, false, ""
	served.Limits.StreamLife, served.Limits.Tickets = streamLife, o.Tickets
	h, err := httpapi.New(served)
	return lambdahttp.Streamed(h, o.Logger), err
}

func (o Options) gateway(part httpapi.Part) (Gateway, error) {
	h, err := httpapi.New(o.served(part))
	return o.counted(lambdahttp.Buffered(h, o.Logger)), err
}

// counted counts answers of 5xx. Lambda sees no error in them, and a rollout has to.
func (o Options) counted(g Gateway) Gateway {
	if o.Metrics == nil {
		return g
	}
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		answer, err := g(ctx, e)
		if answer.StatusCode >= http.StatusInternalServerError {
			if err := o.Metrics.Write(emf.Counts{emf.ServerErrors: 1}); err != nil {
				lambdahttp.Logger(o.Logger).ErrorContext(ctx, "cannot write metrics", "error", err)
			}
		}
		return answer, err
	}
}

func (o Options) served(part httpapi.Part) httpapi.Options {
	log, keys := lambdahttp.Logger(o.Logger), o.keys()
	var spoken []httpapi.Protocol
	if o.Protocols != nil {
		spoken = o.Protocols(keys)
	}
	return httpapi.Options{Frontend: o.Frontend, Webhooks: o.Webhooks, Hooks: o.Hooks, Clock: o.Clock, Part: part, Gate: o.gate(), LinkSource: keys, Protocols: spoken, SignIn: o.SignIn, PublicURL: o.Public, Codes: o.Codes,
		StreamURL: o.Access.StreamURL, Watched: o.Watched, Names: httpapi.Names(o.Access.Names), Buffered: true, Origins: o.Access.Origins, Version: o.Version, Policy: o.Policy, Logger: log, Access: log,
		Limits: httpapi.Limits{Hold: o.Access.Undo, Rates: o.Rates, Buckets: o.Buckets}}
}

// keys reads the keys of links; nil where nothing is signed.
func (o Options) keys() access.LinkSource {
	if o.Links == nil {
		return nil
	}
	return access.NewRing(o.Links, o.Clock.Now).Keys
}

// gate admits callers whom the configured authorizer has authenticated. Without an authorizer it
// admits no one.
func (o Options) gate() httpapi.Gate {
	door := access.Admission{TenantClaim: o.Access.TenantClaim, RolesClaim: o.Access.RolesClaim, Tenant: o.Access.Tenant, IAMRoles: o.Access.IAMRoles}
	switch o.Access.Auth {
	case stack.JWT:
		return lambdahttp.AdmitJWT(door)
	case stack.IAM:
		return lambdahttp.AdmitIAM(door)
	}
	return httpapi.NobodyEnters
}
