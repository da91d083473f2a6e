package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

func TestOnlyTheRoleWebhooksManagesThem(t *testing.T) {
	var grants []access.Grant
	for _, r := range access.Roles() {
		grants = append(grants, grant(string(r), "default", string(r), r))
	}
	s := newServer(t, settings{token: "secret", grants: grants})
	id := s.addWebhook(pager).ID
	for _, rt := range httpapi.Table() {
		if rt.Tag != "webhooks" {
			continue
		}
		for _, role := range access.Roles() {
			got := s.send(rt.Method, strings.Replace(rt.Path, "{id}", id, 1), fit(rt), bearer(string(role)))
			if may := role == access.Webhooks || role == access.Admin; may == (got.StatusCode == 403) {
				t.Errorf("%s by %s: %d %s", rt.Name, role, got.StatusCode, got.text)
			}
		}
	}
}

func TestAnotherTenantSeesAndChangesNothing(t *testing.T) {
	s := newServer(t, settings{token: "secret", grants: []access.Grant{grant("zoo", "zoo", "zoo", access.Admin)}})
	s.client = s.client.With(client.WithToken("secret"))
	made := s.addWebhook(pager)
	s.dead("thr_a", made.ID, 7)
	s.dead("thr_a", "agent/desk/pager", 7)
	dlv := s.delivery("thr_a", made.ID, 7)
	for _, r := range []struct{ method, path, body, code string }{
		{"GET", "/" + made.ID, "", "webhook_not_found"},
		{"PATCH", "/" + made.ID, `{"url":"https://evil.example/"}`, "webhook_not_found"},
		{"DELETE", "/" + made.ID, "", "webhook_not_found"},
		{"POST", "/" + made.ID + "/test", "", "webhook_not_found"},
		{"POST", "/disable", `{"endpoint":"` + made.ID + `"}`, "webhook_not_found"},
		{"POST", "/enable", `{"endpoint":"` + made.ID + `"}`, "webhook_not_found"},
		{"GET", "/deliveries/" + dlv, "", "delivery_not_found"},
		{"POST", "/deliveries/" + dlv + "/redrive", "", "delivery_not_found"},
		{"DELETE", "/deliveries/" + dlv, "", "delivery_not_found"},
	} {
		if got := s.send(r.method, webhooksPath+r.path, r.body, bearer("zoo")); got.StatusCode != 404 || got.problem(t).Code != r.code || strings.Contains(got.text, "pager.example") {
			t.Errorf("%s %s: %d %s", r.method, r.path, got.StatusCode, got.text)
		}
	}
	for path, want := range map[string]string{"": `{"items":[]}`, "/deliveries": `{"items":[]}`, "/deliveries?thread_id=thr_a": `{"items":[]}`, "/disabled": `{"items":[]}`} {
		if got := s.send("GET", webhooksPath+path, "", bearer("zoo")); got.text != want {
			t.Errorf("GET %s: %s", path, got.text)
		}
	}
	for _, endpoint := range []string{made.ID, "agent/desk/pager"} {
		if got := s.send("POST", webhooksPath+"/deliveries/redrive", `{"endpoint":"`+endpoint+`"}`, bearer("zoo")); got.text != `{"redriven":0}` {
			t.Errorf("redrive %s: %s", endpoint, got.text)
		}
	}
	s.send("POST", webhooksPath+"/disable", `{"endpoint":"agent/desk/pager"}`, bearer("zoo"))
	if got := s.send("GET", webhooksPath+"/disabled", "", bearer("secret")); got.text != `{"items":[]}` {
		t.Error(got.text)
	}
	// the same key of another tenant is another webhook
	key := header("Idempotency-Key", "k1")
	mine := decoded[wire.Webhook](t, s.send("POST", webhooksPath, pager, bearer("secret"), key).text)
	theirs := s.send("POST", webhooksPath, strings.Replace(pager, "WEBHOOK_", "WEBHOOK_ZOO__", 1), bearer("zoo"), key)
	if theirs.StatusCode != 201 || decoded[wire.Webhook](t, theirs.text).ID == mine.ID {
		t.Errorf("%d %s", theirs.StatusCode, theirs.text)
	}
	if got := decoded[wire.Webhook](t, s.send("GET", webhooksPath+"/"+made.ID, "", bearer("secret")).text); got.URL != made.URL || got.Revision != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAddressesThatNoWebhookMayHaveAreRefused(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	add := func(url, more string) answer {
		return s.send("POST", webhooksPath, `{"on":["done"],"secret":"WEBHOOK_K","url":"`+url+`"`+more+`}`, bearer("secret"))
	}
	for _, url := range []string{"https://127.0.0.1/", "https://localhost/", "https://LOCALHOST./", "https://a.localhost:8443/", "https://10.0.0.7/", "https://192.168.1.1/",
		"https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[fd00::1]/", "https://0.0.0.0/", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/",
		"https://10.0x7/", "https://169.254.169.254/latest/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://100.64.0.1/", "https://224.0.0.1/",
		"http://example.com/", "ftp://example.com/", "file:///etc/passwd", "https:///x", "//example.com/", "https://anna:key@example.com/", "https://example.com/#x",
		`https://example.com\\@10.0.0.7/`, "https://{secret:WEBHOOK_HOST}/", "https://{secret:WEBHOOK_HOST}.example.com/", "javascript:alert(1)", ""} {
		if got := add(url, ""); got.StatusCode != 400 || got.problem(t).Code != "invalid_request" {
			t.Errorf("%s: %d %s", url, got.StatusCode, got.text)
		}
	}
	for _, url := range []string{"http://169.254.169.254/", "https://[fd00:ec2::254]/", "http://169.254.170.2/", "http://0x7f000001/", "https://[fe80::1%25eth0]/"} {
		if got := add(url, `,"allow_private":true`); got.StatusCode != 400 {
			t.Errorf("%s, with allow_private: %d %s", url, got.StatusCode, got.text)
		}
	}
	for url, more := range map[string]string{"https://example.com:8443/a?b=c": "", "https://93.184.216.34/": "", "http://localhost:9000/": `,"allow_private":true`, "http://10.0.0.7/": `,"allow_private":true`,
		"https://hooks.example.com/{secret:WEBHOOK_PATH}": ""} {
		if got := add(url, more); got.StatusCode != 201 {
			t.Errorf("%s: %d %s", url, got.StatusCode, got.text)
		}
	}
	// a change can't do what the start couldn't
	id := s.addWebhook(pager).ID
	for _, change := range []string{`{"url":"https://10.0.0.7/"}`, `{"url":"https://example.com/{secret:CRM_TOKEN}"}`, `{"secret":"CRM_TOKEN"}`} {
		if got := s.send("PATCH", webhooksPath+"/"+id, change, bearer("secret")); got.StatusCode != 400 {
			t.Errorf("%s: %d %s", change, got.StatusCode, got.text)
		}
	}
}

// A tenant that could name any secret could have its value sent to itself, or sign with the key of
// another tenant.
func TestATenantNamesOnlyItsOwnSecrets(t *testing.T) {
	tenants := []string{"default", "acme", "acme_b", "acme-b", "acme__b"}
	var grants []access.Grant
	for _, tenant := range tenants {
		grants = append(grants, grant("of-"+tenant, tenant, tenant, access.Webhooks))
	}
	s := newServer(t, settings{grants: grants})
	names := map[string]string{"default": "WEBHOOK_K", "acme": "WEBHOOK_ACME__K", "acme_b": "WEBHOOK_ACME_UB__K", "acme-b": "WEBHOOK_ACME_DB__K", "acme__b": "WEBHOOK_ACME_U_UB__K",
		"nobody": "CRM_TOKEN", "none": "WEBHOOK_", "wide": "WEBHOOK_ACME__"}
	for _, tenant := range tenants {
		for owner, name := range names {
			for what, body := range map[string]string{
				"signs":       `{"on":["done"],"url":"https://a.example/","secret":"` + name + `"}`,
				"in the URL":  `{"on":["done"],"url":"https://a.example/{secret:` + name + `}","format":"slack"}`,
				"in the body": `{"on":["done"],"url":"https://a.example/","format":"template","template":{"x":"{secret:` + name + `}"}}`,
				"escaped":     `{"on":["done"],"url":"https://a.example/","format":"template","template":{"x":["\u007bsecret:` + name + `}"]}}`,
			} {
				want := 400
				if owner == tenant {
					want = 201
				}
				if got := s.send("POST", webhooksPath, body, bearer(tenant)); got.StatusCode != want {
					t.Errorf("%s %s of %s: %d %s", tenant, what, owner, got.StatusCode, got.text)
				}
			}
		}
	}
	for range 10 { // the same mistake is reported each time
		got := s.send("POST", webhooksPath, `{"on":["done"],"url":"https://a.example/{secret:A}","secret":"B","format":"template","template":"{secret:C}"}`, bearer("acme"))
		if detail := got.problem(t).Detail; !strings.HasPrefix(detail, "secret: ") {
			t.Error(detail)
		}
	}
	const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	if got := s.send("POST", webhooksPath, `{"on":["done"],"url":"https://a.example/","secret":"`+key+`"}`, bearer("default")); got.StatusCode != 400 || strings.Contains(got.text, "whsec_M") {
		t.Errorf("a key in place of a name: %d %s", got.StatusCode, got.text)
	}
}

func TestIDsOfDeliveriesLeadNowhereElse(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	s.client = s.client.With(client.WithToken("secret"))
	s.end("zoo", "thr_z", "wh_z", 7, notice.StateDead)
	s.dead("thr_a", "wh_a", 7)
	id := s.delivery("thr_a", "wh_a", 7)
	// the last ones: of zoo, 07, -7
	for _, bad := range []string{id + "A", id[:len(id)-1], strings.ToUpper(id), "dlv_", "dlv_" + strings.Repeat("A", 3000), "wh_a", id + "=", "dlv_AAAA",
		"dlv_dGhyX3oANwB3aF96", "dlv_dGhyX2EAMDcAd2hfYQ", "dlv_dGhyX2EALTcAd2hfYQ"} {
		for _, r := range [][2]string{{"GET", ""}, {"POST", "/redrive"}, {"DELETE", ""}} {
			if got := s.send(r[0], webhooksPath+"/deliveries/"+bad+r[1], "", bearer("secret")); got.StatusCode != 404 {
				t.Errorf("%s %s: %d %s", r[0], bad, got.StatusCode, got.text)
			}
		}
	}
}

func TestListsOfAWebhookAreBounded(t *testing.T) {
	s := newServer(t, settings{token: "secret"})
	many := strings.TrimSuffix(strings.Repeat(`"a",`, 51), ",")
	for _, more := range []string{`"format":"template","template":{"a":"{run"}`, `"format":"template","template":["{a b}"]`, `"format":"template","template":{"a":"{secret:key}"}`, `"agents":[` + many + `]`, `"agents":["a","a"]`, `"agents":[""]`, `"agents":["` + strings.Repeat("a", 300) + `"]`, `"name":"../x"`, `"on":[]`, `"on":["test"]`,
		`"template":{"a":1}`, `"mail":["ops@example.com"]`, `"format":"discord"`} {
		body := `{"on":["done"],"secret":"WEBHOOK_K","url":"https://a.example/",` + more + `}`
		if strings.HasPrefix(more, `"on"`) {
			body = strings.Replace(body, `"on":["done"],`, "", 1)
		}
		if got := s.send("POST", webhooksPath, body, bearer("secret")); got.StatusCode != 400 {
			t.Errorf("%s: %d %s", more, got.StatusCode, got.text)
		}
	}
}

func TestWebhooksAreAddedAndTestedAtTheTenantsRate(t *testing.T) {
	s := newServer(t, settings{token: "secret", options: func(o *httpapi.Options) { o.Limits.StartsPerSecond = 0.1 }})
	id := s.addWebhook(pager).ID
	for _, path := range []string{webhooksPath, webhooksPath + "/" + id + "/test"} {
		body := ""
		if path == webhooksPath {
			body = pager
		}
		if got := s.send("POST", path, body, bearer("secret")); got.StatusCode != 429 || got.problem(t).Code != "rate_limited" {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.text)
		}
	}
}

func TestAServerWithoutWebhooksSaysSo(t *testing.T) {
	s := newServer(t, settings{options: func(o *httpapi.Options) { o.Webhooks = nil }})
	for _, rt := range httpapi.Table() {
		if rt.Tag != "webhooks" {
			continue
		}
		if got := s.send(rt.Method, at(rt, "", ""), fit(rt)); got.StatusCode != 404 || got.problem(t).Code != "not_found" {
			t.Errorf("%s: %s", rt.Name, fmt.Sprint(got.StatusCode, got.text))
		}
	}
}
