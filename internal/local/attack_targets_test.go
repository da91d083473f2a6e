package local

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// adds sends a webhook as the caller boss.
func adds(url, more string) func(x *scene) string {
	return func(x *scene) string {
		return x.sends(request{path: "/v1/webhooks", header: bearer("boss"), body: `{"on":["suspended"],"secret":"WEBHOOK_OPS","url":"` + url + `"` + more + `}`})
	}
}

// notified is a webhook that is told of the call, and the notice.
func (x *scene) notified() (client.Webhook, client.Notice) {
	x.Helper()
	w, err := x.as("boss").AddWebhook(x.Context(), client.WebhookRequest{Name: "ops", On: []string{"suspended"}, URL: x.in.URL, Secret: "WEBHOOK_OPS", AllowPrivate: true}, "")
	if err != nil {
		x.Fatal(err)
	}
	fresh := x.scene(x.T, "open")
	x.run, x.p = fresh.run, fresh.p
	return w, x.told()
}

// told is the notice of the call.
func (x *scene) told() client.Notice {
	x.Helper()
	for {
		select {
		case n := <-x.in.got:
			<-x.in.ids
			if n.Event.RunID == x.run && n.Links != nil {
				return n
			}
		case <-time.After(20 * time.Second):
			x.Fatal("no notice came")
		}
	}
}

// path is that of a link of a notice.
func (x *scene) path(n client.Notice) string {
	return strings.TrimPrefix(n.Links.Show, "http://"+x.Addr())
}

func (x *scene) remove(w client.Webhook) {
	x.Helper()
	if err := x.as("boss").RemoveWebhook(x.Context(), w.ID); err != nil {
		x.Fatal(err)
	}
}

// tests adds a webhook and tests it: what became of it.
func (x *scene) tests(url string) string {
	x.Helper()
	w, err := x.as("boss").AddWebhook(x.Context(), client.WebhookRequest{On: []string{"suspended"}, URL: url, Secret: "WEBHOOK_OPS", AllowPrivate: true}, "")
	if err != nil {
		return codeOf(err)
	}
	defer x.remove(w)
	got, err := x.as("boss").TestWebhook(x.Context(), w.ID)
	switch {
	case err != nil:
		return codeOf(err)
	case got.Delivered:
		return "delivered"
	}
	return "not delivered"
}

// reached counts the connections to a service that no target may reach.
func (x *scene) reached(do func(url string) string) string {
	var hits atomic.Int64
	closed := httptest.NewUnstartedServer(http.NotFoundHandler())
	closed.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			hits.Add(1)
		}
	}
	closed.Start()
	defer closed.Close()
	got := do(closed.URL)
	if n := hits.Load(); n > 0 {
		x.Errorf("it was reached %d times", n)
	}
	return got
}

func targetAttacks() group {
	forged := func(change func(h http.Header, body *string)) func(x *scene) string {
		return func(x *scene) string {
			body := `{"type":"decided","id":"run_1:1","event":{}}`
			h := signers["standard"](otherKey, time.Now(), body)
			change(h, &body)
			return x.sends(request{path: "/v1/hooks/standard", body: body, header: h})
		}
	}
	all := []attack{
		{"a link of a tenant's webhook approves", "403 not_an_approver", func(x *scene) string {
			w, n := x.notified()
			defer x.remove(w)
			return x.sends(request{path: x.path(n), body: yes})
		}},
		{"the link of a webhook that was removed", "410 link_revoked, 410 link_revoked", func(x *scene) string {
			w, n := x.notified()
			x.remove(w)
			return x.sends(request{path: x.path(n), body: yes}) + ", " + x.sends(request{method: "GET", path: x.path(n)})
		}},
		{"the link of a webhook that was pointed elsewhere", "410 link_revoked, 410 link_revoked", func(x *scene) string {
			w, n := x.notified()
			defer x.remove(w)
			elsewhere := x.in.URL + "/elsewhere"
			if _, err := x.as("boss").ChangeWebhook(x.Context(), w.ID, client.WebhookChange{URL: &elsewhere}); err != nil {
				x.Fatal(err)
			}
			return x.sends(request{path: x.path(n), body: yes}) + ", " + x.sends(request{method: "GET", path: x.path(n)})
		}},
		{"a scanner opens the link of a notice", "200 question", func(x *scene) string {
			return x.sends(request{method: "GET", path: x.path(x.told())})
		}},
		{"a link of a notice with other arguments", "400 wrong_kind", func(x *scene) string {
			return x.sends(request{path: x.path(x.told()), body: `{"action":"resume","arguments":{"amount":500}}`})
		}},
		{"a redirect to a private address", "not delivered", func(x *scene) string {
			return x.reached(func(url string) string {
				x.in.redirect.Store(url)
				defer x.in.redirect.Store("")
				return x.tests(x.in.URL)
			})
		}},
		{"a private address that the operator doesn't allow", "not delivered", func(x *scene) string { return x.reached(x.tests) }},
		{"a name that resolves to a private address", "not delivered", func(x *scene) string {
			return x.reached(func(url string) string { return x.tests(strings.Replace(url, "127.0.0.1", "localhost", 1)) })
		}},
		{"a name whose address changes once it was checked", "not delivered", func(x *scene) string {
			return x.reached(func(url string) string { return x.rebound(url) })
		}},
		{"a name with a public and a private address", "not delivered", func(x *scene) string {
			return x.reached(func(url string) string { return x.alsoPublic(url) })
		}},
		{"a callback of an ask to a private address", "400 invalid_request", func(x *scene) string {
			return x.sends(request{path: "/v1/asks", header: bearer("ci"), body: `{"title":"x","callback":{"url":"https://10.0.0.7/","secret":"CALLBACK_K"}}`})
		}},
		{"a callback of an ask that names another secret", "400 invalid_request", func(x *scene) string {
			return x.sends(request{path: "/v1/asks", header: bearer("ci"), body: `{"title":"x","callback":{"url":"https://example.com/","secret":"KEY"}}`})
		}},
		{"a callback of an ask in clear text", "400 invalid_request", func(x *scene) string {
			return x.sends(request{path: "/v1/asks", header: bearer("ci"), body: `{"title":"x","callback":{"url":"http://example.com/","secret":"CALLBACK_K"}}`})
		}},
		{"a forged callback, sent to the server", "401 invalid_signature", forged(func(http.Header, *string) {})},
		{"a webhook that names the secret of another", "400 invalid_request", func(x *scene) string {
			return x.sends(request{path: "/v1/webhooks", header: bearer("boss"), body: `{"on":["suspended"],"secret":"KEY","url":"https://example.com/"}`})
		}},
		{"a webhook by who may only start", "403 role_required", func(x *scene) string {
			return x.sends(request{path: "/v1/webhooks", header: bearer("starter"), body: `{"on":["suspended"],"secret":"WEBHOOK_OPS","url":"https://example.com/"}`})
		}},
		{"a secret in the host of a webhook", "400 invalid_request", adds("https://{secret:WEBHOOK_OPS}.example.com/", "")},
		{"the metadata service, with allow_private", "400 invalid_request", adds("http://169.254.169.254/", `,"allow_private":true`)},
	}
	for _, to := range privateURLs {
		all = append(all, attack{"a webhook to " + to[0], "400 invalid_request", adds(to[1], "")},
			attack{"a start that notifies " + to[0], "400 invalid_request", starts(to[1])},
			attack{"an ask that calls back " + to[0], "400 invalid_request", asks(to[1])})
	}
	return group{name: "targets", agent: "told", control: attack{"the link of a notice", "202 accepted", func(x *scene) string {
		return x.sends(request{path: x.path(x.told()), body: yes})
	}}, attacks: all}
}

// privateURLs are addresses that no target has, however they are written.
var privateURLs = [][2]string{
	{"this machine", "https://127.0.0.1/"},
	{"this machine with a dot", "https://127.0.0.1./"},
	{"this machine by name", "https://localhost/"},
	{"this machine by name, with a dot", "https://localhost./"},
	{"a name under this machine's", "https://x.localhost./"},
	{"a private network", "https://10.0.0.7/"},
	{"this machine in IPv6", "https://[::1]/"},
	{"IPv4 in IPv6", "https://[::ffff:127.0.0.1]/"},
	{"IPv4 in IPv6, in hexadecimal", "https://[::ffff:7f00:1]/"},
	{"one number", "https://2130706433/"},
	{"one number with a dot", "https://2130706433./"},
	{"a hexadecimal number", "https://0x7f000001/"},
	{"hexadecimal parts", "https://0x7f.0.0.1/"},
	{"an octal number", "https://0177.0.0.1/"},
	{"a short address", "https://127.1/"},
	{"wide digits", "https://１２７.０.０.１/"},
	{"the metadata service", "https://169.254.169.254/latest/"},
	{"NAT64", "https://[64:ff9b::7f00:1]/"},
	{"a carrier's network", "https://100.64.0.1/"},
	{"user and password", "https://anna:key@example.com/"},
	{"a file", "file:///etc/passwd"},
	{"clear text", "http://example.com/"},
}

// starts starts a run that notifies an address.
func starts(url string) func(x *scene) string {
	return func(x *scene) string {
		return x.sends(request{path: "/v1/runs", header: bearer("ci"), body: `{"agent":"open","input":"pay","notify":[{"name":"ci","on":["done"],"secret":"CALLBACK_K","url":"` + url + `"}]}`})
	}
}

// asks asks a question whose answer is sent to an address.
func asks(url string) func(x *scene) string {
	return func(x *scene) string {
		return x.sends(request{path: "/v1/asks", header: bearer("ci"), body: `{"title":"x","callback":{"secret":"CALLBACK_K","url":"` + url + `"}}`})
	}
}
