package stack

import "github.com/dormouse-dev/dormouse/internal/api/access"

// SignIn is the identity provider at which people sign in who answer by a link, or work in the
// console; without an issuer, there is none.
type SignIn struct {
	Issuer, ClientID string
	Roles            access.DeskRules // of its accounts in the console
}

// signIn reads the provider, all of its settings or none.
func (r *reader) signIn(public access.PublicURL) SignIn {
	s := SignIn{Issuer: r.getenv("DORMOUSE_OIDC_ISSUER"), ClientID: r.getenv("DORMOUSE_OIDC_CLIENT_ID")}
	rules, err := access.ParseDeskRules(r.getenv("DORMOUSE_OIDC_ROLES"))
	if err != nil {
		r.say("DORMOUSE_OIDC_ROLES (the stack's parameter SignInRoles): %v", err)
	}
	if s.Issuer == "" && s.ClientID == "" {
		return s
	}
	s.Roles = rules
	if s.Issuer == "" {
		r.say("DORMOUSE_OIDC_ISSUER is missing; set the stack's parameter SignInIssuer to the provider that knows this client, or remove SignInClientId")
	} else if err := access.CheckIssuer(s.Issuer); err != nil {
		r.say("DORMOUSE_OIDC_ISSUER (the stack's parameter SignInIssuer): %v", err)
	}
	if s.ClientID == "" {
		r.say("DORMOUSE_OIDC_CLIENT_ID is missing; set the stack's parameter SignInClientId to the id of this stack at the provider")
	}
	if public.String() == "" {
		r.say("DORMOUSE_PUBLIC_URL is missing; set it to the address that people come back to after signing in")
	}
	return s
}
