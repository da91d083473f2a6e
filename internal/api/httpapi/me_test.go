package httpapi_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

func TestACallerLearnsItsRolesGroupsAndAgents(t *testing.T) {
	groups := map[string]vote.Group{"finance": {Members: []vote.Member{{Is: []string{"token:anna"}}}}, "all": {Members: []vote.Member{{Is: []string{"role:decide", "role:start"}}}},
		"others": {Members: []vote.Member{{Is: []string{"token:ben"}}}}}
	s := newServer(t, settings{
		grants: []access.Grant{grant("anna", "default", "of anna", access.Decide), grant("shop", "default", "of shop", access.Start), grant("eve", "other", "of eve", access.Admin)},
		options: func(o *httpapi.Options) {
			o.Names = httpapi.Names{Tenants: map[string]string{"default": "ACME Ltd"}}
		},
		front: func(o *frontend.Options) {
			o.Asking = ask.Policies{Groups: groups}
			o.Starters = func(context.Context, engine.Definition) ([]string, error) { return []string{"token:shop"}, nil }
		}})
	none := []string{}
	for token, want := range map[string]client.Me{
		"of anna": {Name: "anna", By: "token:anna", Tenant: "default", TenantName: "ACME Ltd", Roles: []string{"decide"}, Groups: []string{"all", "finance"}, Agents: none},
		"of shop": {Name: "shop", By: "token:shop", Tenant: "default", TenantName: "ACME Ltd", Roles: []string{"start"}, Groups: []string{"all"}, Agents: []string{"desk"}},
		"of eve":  {Name: "eve", By: "token:eve", Tenant: "other", TenantName: "other", Roles: []string{"admin"}, Groups: none, Agents: none},
	} {
		me, err := client.New(s.url, client.WithToken(token), client.WithHTTPClient(s.http)).Me(t.Context())
		if diff := cmp.Diff(want, me); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", token, err, diff)
		}
	}
	if got := s.send("GET", "/v1/me", "", bearer("of nobody")); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("an unknown token: %d %s", got.StatusCode, got.text)
	}
	open := newServer(t, settings{})
	if me, err := open.client.Me(t.Context()); err != nil || me.Name != "" || me.By != "" || len(me.Roles) != 1 || me.Roles[0] != "admin" {
		t.Errorf("a server without tokens: %+v, %v", me, err)
	}
}
