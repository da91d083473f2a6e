// Package signin lets people sign in at an OpenID Connect provider, by the authorization code flow
// with PKCE.
package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// SecretName is the name of the client's secret among the secrets of the operator.
const SecretName = "OIDC_CLIENT_SECRET"

// Options are what a [Provider] needs.
type Options struct {
	Issuer   string // its address, as its tokens name it
	ClientID string

	// Secret is the client's secret. It is read for each sign-in, so that it can be replaced.
	Secret func(context.Context) (string, error)

	// Who says who a person is, and for whom; [access.Person] or [access.Admission.SignedIn].
	Who func(tenant string, claims map[string]string) (access.Principal, error)

	Client *http.Client
	Clock  engine.Clock
}

// Provider is an identity provider.
type Provider struct {
	o Options

	mu    sync.Mutex
	found *oidc.Provider
}

// New returns a provider. It is asked for its addresses when a person signs in, and asked again
// until it has answered once.
func New(o Options) *Provider { return &Provider{o: o} }

// timeout is how long a provider has for each answer.
const timeout = 10 * time.Second

// Admit is who has these claims, for a link of this tenant.
func (p *Provider) Admit(tenant string, claims map[string]string) (access.Principal, error) {
	return p.o.Who(tenant, claims)
}

// Begin returns the address at which the person signs in.
func (p *Provider) Begin(ctx context.Context, a access.SignInAttempt) (string, error) {
	ctx, cancel := context.WithTimeout(p.with(ctx), timeout)
	defer cancel()
	c, _, err := p.config(ctx, a)
	if err != nil {
		return "", err
	}
	with := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.Again {
		with = append(with, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return c.AuthCodeURL(a.State, with...), nil
}

// Finish exchanges the code that the person came back with, and returns the claims of the ID token
// and, for those that it lacks, of the provider's UserInfo: texts as they are, everything else as
// JSON.
func (p *Provider) Finish(ctx context.Context, a access.SignInAttempt, code string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(p.with(ctx), timeout)
	defer cancel()
	c, found, err := p.config(ctx, a)
	if err != nil {
		return nil, err
	}
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if refused, is := errors.AsType[*oauth2.RetrieveError](err); is && refused.Response != nil && refused.Response.StatusCode < 500 {
			return nil, fmt.Errorf("%w: %v", access.ErrSignInRefused, err)
		}
		return nil, fmt.Errorf("%w: %v", access.ErrProviderDown, err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := found.VerifierContext(ctx, &oidc.Config{ClientID: p.o.ClientID, Now: p.o.Clock.Now}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", access.ErrSignInRefused, err)
	}
	if id.Nonce != a.Nonce {
		return nil, fmt.Errorf("%w: the token is of another sign-in", access.ErrSignInRefused)
	}
	claims, err := claimsOf(id)
	if err == nil && claims["azp"] != "" && claims["azp"] != p.o.ClientID {
		err = fmt.Errorf("%w: the token was issued to another client", access.ErrSignInRefused)
	}
	if err != nil || found.UserInfoEndpoint() == "" {
		return claims, err
	}
	return complete(ctx, found, token, claims)
}

// complete asks the provider for what the token does not say of the person. It is asked always:
// which claims a rule needs is known only when the person decides.
func complete(ctx context.Context, found *oidc.Provider, token *oauth2.Token, claims map[string]string) (map[string]string, error) {
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, fmt.Errorf("%w: UserInfo: %v", access.ErrProviderDown, err)
	}
	if info.Subject != claims["sub"] {
		return nil, fmt.Errorf("%w: UserInfo is about another account", access.ErrSignInRefused)
	}
	more, err := claimsOf(info)
	if err != nil {
		return nil, err
	}
	// the token or UserInfo: the one that names the address says whether it is verified
	switch claims["email"] {
	case more["email"]:
	case "":
		delete(claims, "email_verified")
	default:
		delete(more, "email_verified")
	}
	for name, value := range more {
		if claims[name] == "" {
			claims[name] = value
		}
	}
	return claims, nil
}

func claimsOf(said interface{ Claims(into any) error }) (map[string]string, error) {
	var raw map[string]json.RawMessage
	if err := said.Claims(&raw); err != nil {
		return nil, fmt.Errorf("%w: %v", access.ErrSignInRefused, err)
	}
	claims := map[string]string{}
	for name, value := range raw {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		claims[name] = text
	}
	return claims, nil
}

func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.o.Client)
}

func (p *Provider) config(ctx context.Context, a access.SignInAttempt) (oauth2.Config, *oidc.Provider, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return oauth2.Config{}, nil, err
	}
	secret, err := p.o.Secret(ctx)
	if err != nil {
		return oauth2.Config{}, nil, fmt.Errorf("the secret %s: %w", SecretName, err)
	}
	return oauth2.Config{ClientID: p.o.ClientID, ClientSecret: secret, Endpoint: found.Endpoint(), RedirectURL: a.Redirect, Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}, found, nil
}

func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		found, err := oidc.NewProvider(ctx, p.o.Issuer)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", access.ErrProviderDown, err)
		}
		p.found = found
	}
	return p.found, nil
}
