// Package awsconsole is the function of a stack that serves the pages that people work in. It signs
// people in at the provider of the stack, and no one else. Streams of a page come from the function
// that streams.
//
// It is a separate function because it draws templates, with which the linker keeps all methods
// of all types: the API's function would grow by 5 MB, which every cold start of it would load.
package awsconsole

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awssecret"
	"github.com/dormouse-dev/dormouse/internal/frontend/bulk"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

// Open assembles the function. Log lines go to out. It makes no network request.
func Open(s awsenv.Settings, register awsenv.Register, out io.Writer) (awsapi.Gateway, error) {
	if s.SignIn.Issuer == "" {
		return nil, errors.New("DORMOUSE_OIDC_ISSUER is missing; set it to the provider at which people sign in")
	}
	f, err := awsenv.NewFront(s, register, out)
	if err != nil {
		return nil, err
	}
	pages := func(keys access.LinkSource) []httpapi.Protocol {
		desk := &session.Desk{Accounts: accounts(s.Settings), Ended: quota.NewSessions(f.Units, s.Table), Signing: keys, Clock: f.Clock, Random: f.Random, Public: s.Public, Guesses: bounds.NewGuesses()}
		return []httpapi.Protocol{console.New(console.Options{Reads: query.New(f.Frontend), Acts: f.Frontend, Bulks: bulk.New(f.Frontend), Numbers: ops.New(f.Frontend, f.Webhooks), Deliveries: f.Webhooks, Sessions: desk, Clock: f.Clock, Public: s.Public,
			Names: httpapi.Names(s.Access.Names), Hold: s.Access.Undo, Streams: s.Access.StreamURL, Logger: f.Logger})}
	}
	return awsapi.Pages(awsapi.Options{Frontend: f.Frontend, Webhooks: f.Webhooks, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, Public: s.Public, Watched: f.Watched(), Rates: s.Rates, Buckets: quota.NewBuckets(f.Units, s.Table),
		Protocols: pages, Version: s.Version, Logger: f.Logger, Metrics: f.Metrics})
}

// accounts are those of the provider. Their tenants and roles are told as those of API callers are,
// and by rules.
func accounts(s stack.Settings) session.Accounts {
	secrets := awssecret.Source(s)
	admitted := access.Desk{Tenant: s.Access.Tenant, Rules: s.SignIn.Roles}
	if s.Access.Auth == stack.JWT {
		admitted.TenantClaim, admitted.RolesClaim = s.Access.TenantClaim, s.Access.RolesClaim
	}
	return session.Accounts{Admit: admitted.Admit, Provider: signin.New(signin.Options{Issuer: s.SignIn.Issuer, ClientID: s.SignIn.ClientID, Client: &http.Client{}, Clock: machine.Clock{},
		Secret: func(ctx context.Context) (string, error) { return secrets(ctx, signin.SecretName) }})}
}
