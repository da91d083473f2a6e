package local

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// lateAttacks answer after the deadline of the call.
func lateAttacks() group {
	return group{name: "late answers", agent: "late", control: attack{"an answer in time", "202 accepted", by("anna", yes)}, attacks: []attack{
		{"a token, a batch, a link, a code, a hook and a button after the deadline", "409 late_decision, 409 batch_refused, 409 late_decision, 409 late_decision, 409 late_decision, 200", func(x *scene) string {
			link, code := x.makeLink(client.LinkRequest{}).Link, x.codeLink("anna@example.com")
			withCode := withCode(x.code(code, "anna@example.com"))
			m := x.message()
			x.clock.Set(90 * time.Second)
			defer x.clock.Set(-90 * time.Second)
			x.as("boss").await(x.T, x.run, "done")
			x.good = 1 // that of the deadline
			press := x.slack.Press("U0ANNA", m, m.Button("dormouse_approve"))
			return strings.Join([]string{
				x.api("anna", yes),
				x.sends(request{path: "/v1/runs/" + x.run + "/decisions", header: bearer("anna"), body: `{"all_or_none":true,"decisions":[{"target":"` + x.sus() + `","action":"resume"}]}`}),
				x.sends(request{path: link, body: yes}),
				x.sends(request{path: code, body: withCode}),
				hooked("github", `{"target":"SUS","action":"approve"}`)(x),
				x.sends(request{path: "/v1/hooks/slack", body: press, header: slackdouble.Sign(slackdouble.Key, time.Now(), press)}),
			}, ", ")
		}},
	}}
}

const (
	firstKey  = "the first of two keys that are valid"
	secondKey = "the second of two keys that are valid"
)

// noSpaces makes a key of words that can stand beside another.
func noSpaces(key string) string { return strings.ReplaceAll(key, " ", "-") }

// rotationAttacks are sent while two keys of a hook are valid, or after one was.
func rotationAttacks() group {
	signed := func(key string) func(x *scene) string {
		return scheme("github", func(q *hookDelivery) { q.hook, q.header = "rotating", signers["github"](key, time.Now(), q.body) })
	}
	first, second := noSpaces(firstKey), noSpaces(secondKey)
	return group{name: "changes of keys", agent: "open", control: attack{"either of two keys", "200 decided, 200 decided", func(x *scene) string {
		other := x.scene(x.T, "open")
		got := signed(first)(other)
		other.as("boss").await(x.T, other.run, "done")
		x.runs = 2
		return got + ", " + signed(second)(x)
	}}, attacks: []attack{
		{"a third key while two are valid", "401 invalid_signature", signed("the-third-of-two-keys-that-are-valid")},
		{"both keys as one", "401 invalid_signature", signed(first + " " + second)},
		{"the first key after the change", "401 invalid_signature", func(x *scene) string {
			x.secrets.Store("ROTATING", second)
			defer x.secrets.Store("ROTATING", first+" "+second)
			return signed(first)(x)
		}},
	}}
}

// verifying is a service that acts on notices whose signature it has verified: it approves what
// they are about.
func (x *scene) verifying(send func(url string) string) string {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			var keys [][]byte
			if keys, err = signature.Keys(signature.Standard, hookKey); err == nil {
				_, err = signature.Verify(signature.Standard, r.Header.Get, body, time.Now(), keys...)
			}
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		x.rightly("boss", yes)
	}))
	defer service.Close()
	return send(service.URL)
}

// callback sends the service what a server would, with a change.
func callback(change func(h http.Header, body *string)) func(x *scene) string {
	return func(x *scene) string {
		return x.verifying(func(url string) string {
			keys, err := signature.Keys(signature.Standard, hookKey)
			if err != nil {
				x.Fatal(err)
			}
			body, at := `{"type":"decided","id":"`+x.run+`:1"}`, time.Now()
			h := signers["standard"](string(keys[0]), at, body)
			change(h, &body)
			req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				x.Fatal(err)
			}
			req.Header = h
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				x.Fatal(err)
			}
			defer resp.Body.Close()
			return resp.Status
		})
	}
}

// callbackAttacks are on a service that is told of decisions.
func callbackAttacks() group {
	const refused = "401 Unauthorized"
	return group{name: "callbacks", agent: "open", control: attack{"a callback as the server signs it", "200 OK", func(x *scene) string {
		x.good = 0
		return callback(func(http.Header, *string) {})(x)
	}}, attacks: []attack{
		{"a callback that isn't signed", refused, callback(func(h http.Header, _ *string) { clear(h) })},
		{"a callback signed with another key", refused, callback(func(h http.Header, body *string) {
			h.Set(signature.HeaderSignature, signers["standard"](otherKey, time.Now(), *body).Get(signature.HeaderSignature))
		})},
		{"a callback with another body under the signature", refused, callback(func(_ http.Header, body *string) { *body = strings.Replace(*body, "decided", "done", 1) })},
		{"a callback under another id", refused, callback(func(h http.Header, _ *string) { h.Set(signature.HeaderID, "msg_2") })},
		{"a callback of ten minutes ago", refused, callback(func(h http.Header, body *string) {
			keys, _ := signature.Keys(signature.Standard, hookKey)
			for name, values := range signers["standard"](string(keys[0]), time.Now().Add(-10*time.Minute), *body) {
				h[name] = values
			}
		})},
	}}
}
