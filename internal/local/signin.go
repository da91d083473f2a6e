package local

import (
	"context"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/people"
	"github.com/dormouse-dev/dormouse/internal/api/signin"
)

// SignIn is the identity provider at which people sign in who answer by a link; without an issuer,
// there is none.
type SignIn struct{ Issuer, ClientID string }

// SignInSecret is the name of the secret that the provider knows this server by.
const SignInSecret = signin.SecretName

// signIn is the provider of the options; nil for none.
func (o Options) signIn() people.SignIn {
	if o.SignIn.Issuer == "" {
		return nil
	}
	secrets := o.secrets()
	return signin.New(signin.Options{Issuer: o.SignIn.Issuer, ClientID: o.SignIn.ClientID, Who: access.Person, Client: &http.Client{}, Clock: o.clock,
		Secret: func(ctx context.Context) (string, error) { return secrets(ctx, SignInSecret) }})
}
