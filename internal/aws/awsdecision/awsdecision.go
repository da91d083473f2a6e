// Package awsdecision is the function of a stack that accepts decisions, from callers and on the
// pages of links. It alone signs people in, and can read the secret for that and no others. It also
// mails the one-time codes of links.
package awsdecision

import (
	"context"
	"io"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/aws/awsmail"
	"github.com/dormouse-dev/dormouse/internal/aws/awssecret"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

// Open assembles the function. Log lines go to out. It makes no network request.
func Open(s awsenv.Settings, register awsenv.Register, out io.Writer) (awsapi.Gateway, error) {
	f, err := awsenv.NewFront(s, register, out)
	if err != nil {
		return nil, err
	}
	return awsapi.Decisions(awsapi.Options{Frontend: f.Frontend, Webhooks: f.Webhooks, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, SignIn: provider(s.Settings), Public: s.Public, Codes: codes(s.Settings), Rates: s.Rates, Buckets: quota.NewBuckets(f.Units, s.Table),
		Version: s.Version, Logger: f.Logger, Metrics: f.Metrics})
}

// codes mails one-time codes; nil if the stack sends no mail. The function that serves the page of
// a link sends its codes: it can say whether a code was sent, and no queue holds one.
func codes(s stack.Settings) httpapi.SendCode {
	by := awsmail.Sender(s, machine.Clock{})
	if by == nil {
		return nil
	}
	return notify.CodesBy(by, machine.Random{})
}

// provider is where people sign in; nil for nowhere. What it keeps in memory is only what the
// provider publishes: another process can finish a sign-in that this one began.
func provider(s stack.Settings) people.SignIn {
	if s.SignIn.Issuer == "" {
		return nil
	}
	secrets := awssecret.Source(s)
	return signin.New(signin.Options{Issuer: s.SignIn.Issuer, ClientID: s.SignIn.ClientID, Who: who(s.Access), Client: &http.Client{}, Clock: machine.Clock{},
		Secret: func(ctx context.Context) (string, error) { return secrets(ctx, signin.SecretName) }})
}

// who tells a person's tenant and roles as those of other callers are told. Where IAM admits
// callers, the provider's accounts have no roles: a person who was sent a link may decide, as far
// as the rules of the call allow it.
func who(a stack.Access) func(tenant string, claims map[string]string) (access.Principal, error) {
	if a.Auth == stack.JWT {
		return access.Admission{TenantClaim: a.TenantClaim, RolesClaim: a.RolesClaim}.SignedIn
	}
	return access.Person
}
