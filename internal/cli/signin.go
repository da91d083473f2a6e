package cli

import (
	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
)

// signInFlags name the identity provider of people who answer by links, or sign in to the console.
type signInFlags struct{ issuer, client, roles string }

func (f *signInFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.issuer, "oidc-issuer", "", "OpenID Connect provider, as `URL`, at which people sign in to answer links that require it; needs --public-url. "+
		"The secret "+local.SignInSecret+" has the client's secret")
	cmd.Flags().StringVar(&f.client, "oidc-client-id", "", "`ID` of this server at that provider, which must know the redirect addresses PUBLIC-URL/v1/signed-in and, for the console, PUBLIC-URL/signed-in")
	cmd.Flags().StringVar(&f.roles, "oidc-roles", "", "accounts of that provider that may sign in to the console, as `RULES` such as \"claim:groups=approvers=decide; claim:email=anna@acme.example=admin\"; needs --tokens")
}

func (f *signInFlags) read(public, tokens bool) (local.SignIn, error) {
	roles, wrong := access.ParseDeskRules(f.roles)
	switch {
	case wrong != nil:
		return local.SignIn{}, cmdline.Usagef("--oidc-roles: %v", wrong)
	case f.roles != "" && f.issuer == "":
		return local.SignIn{}, cmdline.Usagef("--oidc-roles needs --oidc-issuer, the provider of these accounts")
	case f.roles != "" && !tokens:
		return local.SignIn{}, cmdline.Usagef("--oidc-roles needs --tokens: without it, the server lets everyone on this machine in")
	}
	s := local.SignIn{Issuer: f.issuer, ClientID: f.client, Roles: roles}
	switch err := access.CheckIssuer(f.issuer); {
	case f.issuer == "" && f.client == "":
	case f.issuer == "":
		return s, cmdline.Usagef("--oidc-client-id needs --oidc-issuer, the provider that knows this client")
	case f.client == "":
		return s, cmdline.Usagef("--oidc-issuer needs --oidc-client-id, the id of this server at the provider")
	case err != nil:
		return s, cmdline.Usagef("--oidc-issuer: %v", err)
	case !public:
		return s, cmdline.Usagef("--oidc-issuer needs --public-url, the address that people come back to")
	}
	return s, nil
}
