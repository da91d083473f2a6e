package access_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

var door = access.Admission{TenantClaim: "custom:tenant", RolesClaim: "groups", Tenant: "acme"}

func claims(changes ...string) map[string]string {
	c := map[string]string{"iss": "https://issuer.example", "sub": "ann", "custom:tenant": "acme", "groups": "read"}
	for i := 0; i < len(changes); i += 2 {
		c[changes[i]] = changes[i+1]
	}
	return c
}

func TestRolesAreReadInEveryFormThatIssuersAndGatewaysWrite(t *testing.T) {
	for claim, want := range map[string][]access.Role{
		"read":                          {access.Read},
		"read decide":                   {access.Read, access.Decide},
		"start,read, decide":            {access.Start, access.Read, access.Decide},
		"[read decide]":                 {access.Read, access.Decide},
		`["admin","eu-west-1_x"]`:       {access.Admin},
		"staff read":                    nil,
		"[site admin]":                  nil,
		"[HR read only]":                nil,
		`["not admin"]`:                 nil,
		`["not admin","read"]`:          {access.Read},
		"map[a:x admin]":                nil,
		"[staff dormouse:read]":         {access.Read},
		"openid dormouse:decide":        {access.Decide},
		"[dormouse:read decide]":        {access.Read, access.Decide},
		`["dormouse:start"]`:            {access.Start},
		"read read":                     {access.Read},
		"Admin administrator admins":    nil,
		"":                              nil,
		"[]":                            nil,
		"read-only not/read dormouse:a": nil,
	} {
		p, err := door.JWT(claims("groups", claim))
		if (err != nil) != (want == nil) || !slices.Equal(p.Roles, want) {
			t.Errorf("%q: %v, %v; want %v", claim, p.Roles, err, want)
		}
	}
}

func TestWhoIsNobodyHereIsToldWhatToSet(t *testing.T) {
	for name, tt := range map[string]struct {
		claims map[string]string
		says   string
	}{
		"no tenant":            {claims("custom:tenant", ""), "TenantClaim"},
		"a tenant in capitals": {claims("custom:tenant", "Acme"), "lower-case letters"},
		"two tenants":          {claims("custom:tenant", "[acme zoo]"), "lower-case letters"},
		"no role":              {claims("groups", "staff"), "RolesClaim"},
		"no subject":           {claims("sub", ""), "sub or client_id"},
	} {
		p, err := door.JWT(tt.claims)
		if refused, ok := errors.AsType[access.NotAdmittedError](err); !ok || !strings.Contains(refused.Why, tt.says) || len(p.Roles) > 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if _, err := (access.Admission{}).IAM("arn:aws:iam::123456789012:user/ann"); !errors.As(err, new(access.NotAdmittedError)) {
		t.Errorf("a stack without a tenant: %v", err)
	}
	if _, err := door.IAM(""); !errors.As(err, new(access.NotAdmittedError)) {
		t.Errorf("nobody signed: %v", err)
	}
}

func TestNamesAreThoseATokenMayHaveAndDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, sub := range []string{"ann", "auth0|5f1", "auth0-5f1", "google-oauth2|5f1", strings.Repeat("a", 80), strings.Repeat("a", 81), "日本", "|||", "a b", "a\x00b", "-x", "_"} {
		p, err := door.JWT(claims("sub", sub))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); err != nil {
			t.Errorf("%q: %v", sub, err)
		}
		if was, twice := seen[p.Name]; twice {
			t.Errorf("%q and %q are both called %s", was, sub, p.Name)
		}
		seen[p.Name] = sub
	}
	if p, _ := door.JWT(claims()); p.Name != "ann" {
		t.Errorf("a name that fits is %s", p.Name)
	}
	if p, _ := door.JWT(claims("sub", "", "client_id", "nightly")); p.Name != "nightly" {
		t.Errorf("a program is %s", p.Name)
	}
}

func TestTheSameSubjectOfAnotherIssuerIsSomebodyElse(t *testing.T) {
	one, _ := door.JWT(claims())
	other, _ := door.JWT(claims("iss", "https://other.example"))
	if one.Fingerprint == other.Fingerprint || len(one.Fingerprint) != 12 {
		t.Error(one.Fingerprint, other.Fingerprint)
	}
}

func iamRoles(t *testing.T, text string) access.IAMRoles {
	t.Helper()
	roles, err := access.ParseIAMRoles(text)
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

func TestACallerOfIAMIsNamedByItsARN(t *testing.T) {
	user, err := door.IAM("arn:aws:iam::123456789012:user/ann")
	if err != nil || user.Tenant != "acme" || user.Check() != nil || !strings.HasPrefix(user.Name, "user-ann-") {
		t.Errorf("%+v, %v, %v", user, err, user.Check())
	}
	elsewhere, _ := door.IAM("arn:aws:iam::210987654321:user/ann")
	if elsewhere.Name == user.Name || elsewhere.Fingerprint == user.Fingerprint {
		t.Error("the user of another account has the same name")
	}
	role, err := door.IAM("arn:aws:sts::123456789012:assumed-role/Desk/session@example.com")
	if err != nil || role.Check() != nil || !strings.HasPrefix(role.Name, "assumed-role-Desk-session@example.com-") {
		t.Errorf("%+v, %v", role, err)
	}
}

func TestACallerOfIAMHasTheRolesThatTheOperatorSaysAndElseReadsAlone(t *testing.T) {
	listed := door
	listed.IAMRoles = iamRoles(t, `
		arn:aws:sts::123456789012:assumed-role/approver/* = decide, read;
		arn:aws:sts::123456789012:assumed-role/app*/*=start;
		arn:aws:iam::123456789012:user/ops/ann=admin;
		arn:aws-us-gov:sts::123456789012:assumed-role/x/a=b=link;`)
	for arn, want := range map[string][]access.Role{
		"arn:aws:sts::123456789012:assumed-role/approver/anna":              {access.Decide, access.Read, access.Start},
		"arn:aws:sts::123456789012:assumed-role/app-1/i-0abc":               {access.Start},
		"arn:aws:iam::123456789012:user/ops/ann":                            {access.Admin},
		"arn:aws-us-gov:sts::123456789012:assumed-role/x/a=b":               {access.Links},
		"arn:aws:sts::123456789012:assumed-role/inbox-dashboard-readonly/x": {access.Read},
		// another account
		"arn:aws:sts::210987654321:assumed-role/approver/anna":   {access.Read},
		"arn:aws:sts::123456789012:assumed-role/approver/anna/x": {access.Read},
		// a session can be given any name
		"arn:aws:sts::123456789012:assumed-role/x/approver":    {access.Read},
		"arn:aws:sts::123456789012:assumed-role/Approver/anna": {access.Read},
		"arn:aws:iam::123456789012:user/ops/anna":              {access.Read},
		"arn:aws:iam::123456789012:user/x/ops/ann":             {access.Read},
		"arn:aws:iam::123456789012:root":                       {access.Read},
		"xarn:aws:iam::123456789012:user/ops/ann":              {access.Read},
	} {
		if p, err := listed.IAM(arn); err != nil || !slices.Equal(p.Roles, want) {
			t.Errorf("%s: %v, %v; want %v", arn, p.Roles, err, want)
		}
	}
	if p, err := door.IAM("arn:aws:iam::123456789012:user/ann"); err != nil || !slices.Equal(p.Roles, []access.Role{access.Read}) || p.May(access.Decide, access.Links, access.Start) {
		t.Errorf("without a list: %+v, %v", p, err)
	}
}

func TestARuleOfIAMThatSaysLessThanItsWriterThinksIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"arn:aws:iam::123456789012:user/ann":             "no roles",
		"arn:aws:iam::123456789012:user/ann=":            "no roles",
		"arn:aws:iam::123456789012:user/ann=approve":     `"approve" is not a role`,
		"arn:aws:iam::123456789012:user/ann=read decide": "is not a role",
		"*=admin": "the full account number",
		"arn:aws:sts::*:assumed-role/approver/*=decide":             "the full account number",
		"arn:aws:sts::12345:assumed-role/approver/*=decide":         "the full account number",
		"arn:aws:iam::123456789012:role/approver=decide":            "assumed-role",
		"arn:aws:iam::123456789012:user/ann=read;;user/bob=decide":  "is not the ARN of",
		"arn:aws:iam::123456789012:user/(ann|bob)=decide":           "is not the ARN of",
		"arn:aws:sts::123456789012:assumed-role/approver/*=decide,": "",
		"": "",
	} {
		_, err := access.ParseIAMRoles(text)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}
