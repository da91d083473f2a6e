package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

func grant(name, tenant, token string, roles ...access.Role) access.Grant {
	return access.Grant{Principal: access.Principal{Name: name, Tenant: tenant, Roles: roles}, Hash: access.HashOf(token)}
}

func TestAFileOfTokensIsReadAsItWasWritten(t *testing.T) {
	ci, bot := grant("ci", "acme", "one", access.Start, access.Read), grant("bot@ops", "zoo", "two", access.Decide)
	keys, err := access.Parse("tokens", []byte("# who may\n\n"+ci.Line()+" # since May\n"+bot.Line()+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]access.Grant{"one": ci, "two": bot} {
		got, ok := keys.Find(token)
		if !ok || got.Name != want.Name || got.Tenant != want.Tenant || !slices.Equal(got.Roles, want.Roles) {
			t.Errorf("%s is %+v, %v", token, got, ok)
		}
	}
	if _, ok := keys.Find(access.HashOf("one").String()); ok {
		t.Error("the hash is as good as the token")
	}
	if got := keys.Tenants(); !slices.Equal(got, []string{"acme", "zoo"}) {
		t.Error(got)
	}
	if strings.Contains(ci.Line(), "one") {
		t.Error("the line holds the token")
	}
}

func TestAWrongLineIsNamedAndNotRepeated(t *testing.T) {
	hash := access.HashOf("one").String()
	for line, want := range map[string]string{
		"dmt_secret":                                     "tokens:2: a line must be NAME TENANT ROLES",
		"ci acme start dmt_secret":                       "the last word must be sha256:",
		"ci acme start sha256:dmt_secret":                "the last word must be sha256:",
		"ci Acme start " + hash:                          `"Acme" is not a valid tenant`,
		"ci acme start,drive " + hash:                    `"drive" is not a role; the roles are start,read,decide,link,webhooks,admin`,
		"ci acme , " + hash:                              "no role is given",
		"ci/2 acme start " + hash:                        `"ci/2" is not a valid token name`,
		"first acme start " + hash:                       `the name "first" is already used on line 1`,
		"ci zoo start " + access.HashOf("zero").String(): "the token is the same as on line 1",
		"ci acme start " + hash[:len(hash)-2]:            "64 hexadecimal digits",
		"ci acme start " + hash + " secret":              "a line must be NAME",
	} {
		_, err := access.Parse("tokens", []byte("first acme read "+access.HashOf("zero").String()+"\n"+line+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAnAdminMayEverythingAndOthersWhatTheirRolesSay(t *testing.T) {
	for _, r := range access.Roles() {
		if !access.Anyone().May(r) {
			t.Errorf("who needs no token may not %s", r)
		}
	}
	reader := access.Principal{Tenant: "acme", Name: "r", Roles: []access.Role{access.Read}}
	if reader.May(access.Start, access.Decide, access.Admin) || !reader.May(access.Start, access.Read) {
		t.Error("a reader may more or less than read")
	}
}

func TestTokensAreLongAndDiffer(t *testing.T) {
	a, b := access.NewToken([access.TokenBytes]byte{1}), access.NewToken([access.TokenBytes]byte{2})
	if a == b || len(a) != 4+52 || !strings.HasPrefix(a, "dmt_") {
		t.Error(a, b)
	}
}
