// Package awsapi is the HTTP API as the functions of a stack serve it: which part each of them has,
// whom it lets in, and how events come to it. What a call does is for package httpapi; what an
// event is, for package lambdahttp.
package awsapi

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Options are what a function puts behind its part of the API.
type Options struct {
	Frontend *frontend.Frontend
	Clock    engine.Clock
	Access   stack.Access
	// reads the keys; at the first request that needs them
	Links   func(context.Context) (access.LinkKeys, error)
	Version string
	Logger  *slog.Logger // of faults, and of one line for each request
}

// Gateway answers events of the HTTP API.
type Gateway = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// URL answers events of the function URL.
type URL = func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error)

// Runs serves everything but decisions and streams.
func Runs(o Options) (Gateway, error) { return o.gateway(httpapi.PartRuns) }

// Decisions serves what waits, and the answers to it.
func Decisions(o Options) (Gateway, error) { return o.gateway(httpapi.PartDecisions) }

// streamLife is short, since Lambda does not tell that a reader has left: a stream that nobody
// reads costs no more than that. Who is still there opens it again, and goes on where it was.
const streamLife = 2 * time.Minute

// Streams serves streams that are opened by a ticket, and nothing else: at its address nobody is
// asked who they are.
func Streams(o Options) (URL, error) {
	served := o.served(httpapi.PartStreams)
	served.Gate, served.Buffered, served.StreamURL = httpapi.NobodyEnters, false, ""
	served.Limits.StreamLife = streamLife
	h, err := httpapi.New(served)
	return lambdahttp.Streamed(h, o.Logger), err
}

func (o Options) gateway(part httpapi.Part) (Gateway, error) {
	h, err := httpapi.New(o.served(part))
	return lambdahttp.Buffered(h, o.Logger), err
}

func (o Options) served(part httpapi.Part) httpapi.Options {
	log := lambdahttp.Logger(o.Logger)
	return httpapi.Options{Frontend: o.Frontend, Clock: o.Clock, Part: part, Gate: o.gate(), LinkSource: access.NewRing(o.Links, o.Clock.Now).Keys,
		StreamURL: o.Access.StreamURL, Names: httpapi.Names(o.Access.Names), Buffered: true, Origins: o.Access.Origins, Version: o.Version, Logger: log, Access: log}
}

// gate lets in whom the one authorizer has let in that the stack was set up with. Where it was set
// up with none, nobody.
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
