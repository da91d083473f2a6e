package local

import (
	"cmp"
	"context"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/console/session"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
)

// SignIn is the identity provider at which people sign in who answer by a link; without an issuer,
// there is none.
type SignIn struct {
	Issuer, ClientID string
	// Roles are those of its accounts in the console; none: they only answer by links.
	Roles access.DeskRules
}

// SignInSecret is the name of the secret that the provider knows this server by.
const SignInSecret = signin.SecretName

// signIn is the provider of the options; nil for none.
func (o Options) signIn() people.SignIn {
	if o.SignIn.Issuer == "" {
		return nil
	}
	return o.provider()
}

// accounts sign in to the console, for the server's own tenant.
func (o Options) accounts() session.Accounts {
	if o.SignIn.Issuer == "" || len(o.SignIn.Roles) == 0 {
		return session.Accounts{}
	}
	return session.Accounts{Provider: o.provider(), Admit: access.Desk{Tenant: cmp.Or(o.Tenant, access.Tenant), Rules: o.SignIn.Roles}.Admit}
}

func (o Options) provider() *signin.Provider {
	secrets := o.secrets()
	return signin.New(signin.Options{Issuer: o.SignIn.Issuer, ClientID: o.SignIn.ClientID, Who: access.Person, Client: &http.Client{}, Clock: o.clock,
		Secret: func(ctx context.Context) (string, error) { return secrets(ctx, SignInSecret) }})
}
