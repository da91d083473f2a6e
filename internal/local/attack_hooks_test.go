package local

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

const (
	goodKey  = "the key that all hooks of the attacks have"
	otherKey = "the key of another hook"
)

var (
	discordSigner = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	strangeSigner = ed25519.NewKeyFromSeed([]byte("fedcba9876543210fedcba9876543210"))
)

const decides = "decision: {target: '{target}', action: {path: action, values: {approve: resume, deny: cancel}}}"

// attackHooks are the hook files, by name. Those that are named for a scheme verify it.
var attackHooks = map[string]string{
	"github":   "verify: {scheme: github, secret: KEY}\n" + decides,
	"standard": "verify: {scheme: standard, secret: KEY}\n" + decides,
	"stripe":   "verify: {scheme: stripe, secret: KEY}\n" + decides,
	"button":   "verify: {scheme: slack, secret: KEY}\n" + decides,
	"discord":  "verify: {scheme: discord, public_key: " + hex.EncodeToString(discordSigner.Public().(ed25519.PublicKey)) + "}\n" + decides,
	"person":   "verify: {scheme: github, secret: KEY}\nby: who\n" + decides,
	"shown":    "verify: {scheme: github, secret: KEY}\ndecision: {target: '{target}', action: resume, shown: '{shown}'}",
	"edits":    "verify: {scheme: github, secret: KEY}\ndecision: {target: '{target}', action: resume, arguments: arguments}",
	"other":    "verify: {scheme: github, secret: OTHER_KEY}\n" + decides,
	"zoo":      "tenant: zoo\nverify: {scheme: github, secret: KEY}\n" + decides,
	"limited":  "agents: [chat]\nverify: {scheme: github, secret: KEY}\n" + decides,
	"closed":   "when: [{path: open, equals: true}]\nverify: {scheme: github, secret: KEY}\n" + decides,
	"keyless":  "verify: {scheme: github, secret: NOT_SET}\n" + decides,
	"mistake":  "verify: {scheme: github}\n" + decides,
	"start":    "verify: {scheme: github, secret: KEY}\nstart: {agent: nowhere, input: '{target}'}",
	"rotating": "verify: {scheme: github, secret: ROTATING}\n" + decides,
	"slack":    slackHook,
}

func macOf(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// signers sign as the hooks of these names want it.
var signers = map[string]func(key string, at time.Time, body string) http.Header{
	"github": func(key string, _ time.Time, body string) http.Header {
		return http.Header{"X-Hub-Signature-256": {"sha256=" + macOf(key, body)}}
	},
	"standard": func(key string, at time.Time, body string) http.Header {
		return http.Header{signature.HeaderID: {"msg_1"}, signature.HeaderTimestamp: {fmt.Sprint(at.Unix())}, signature.HeaderSignature: {signature.Sign("msg_1", at, []byte(body), []byte(key))}}
	},
	"stripe": func(key string, at time.Time, body string) http.Header {
		return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s", at.Unix(), macOf(key, fmt.Sprintf("%d.%s", at.Unix(), body)))}}
	},
	"button": func(key string, at time.Time, body string) http.Header {
		return http.Header{"X-Slack-Request-Timestamp": {fmt.Sprint(at.Unix())}, "X-Slack-Signature": {"v0=" + macOf(key, fmt.Sprintf("v0:%d:%s", at.Unix(), body))}}
	},
	"discord": func(key string, at time.Time, body string) http.Header {
		signer := discordSigner
		if key != goodKey {
			signer = strangeSigner
		}
		return http.Header{"X-Signature-Timestamp": {fmt.Sprint(at.Unix())}, "X-Signature-Ed25519": {hex.EncodeToString(ed25519.Sign(signer, fmt.Appendf(nil, "%d%s", at.Unix(), body)))}}
	},
}

var hookSchemes = []string{"github", "standard", "stripe", "button", "discord"}

// delivery is what a sender has signed.
type hookDelivery struct {
	request
	hook string
}

// scheme sends a delivery of a scheme, with a change.
func scheme(name string, change func(q *hookDelivery)) func(x *scene) string {
	return func(x *scene) string {
		body := `{"target":"` + x.sus() + `","action":"approve"}`
		q := hookDelivery{request{body: body, header: signers[name](goodKey, time.Now(), body)}, name}
		change(&q)
		q.path = "/v1/hooks/" + q.hook
		return x.sends(q.request)
	}
}

// hooked sends a body with the right signature of GitHub. SUS stands for the suspension.
func hooked(hook, body string) func(x *scene) string {
	return func(x *scene) string {
		text := strings.ReplaceAll(body, "SUS", x.sus())
		return x.sends(request{path: "/v1/hooks/" + hook, body: text, header: signers["github"](goodKey, time.Now(), text)})
	}
}

// hookAttacks are those on each scheme, and on what the body of a signed one may say.
func hookAttacks() group {
	signedAt := func(name string, by time.Duration) func(q *hookDelivery) {
		return func(q *hookDelivery) { q.header = signers[name](goodKey, time.Now().Add(by), q.body) }
	}
	var all []attack
	for i, name := range hookSchemes {
		next := hookSchemes[(i+1)%len(hookSchemes)]
		refused := func(what string, change func(q *hookDelivery)) {
			all = append(all, attack{name + ", " + what, "401 invalid_signature", scheme(name, change)})
		}
		refused("not signed", func(q *hookDelivery) { q.header = nil })
		refused("the body swapped under the signature", func(q *hookDelivery) { q.body = strings.Replace(q.body, "sus_", "sus_0", 1) })
		refused("signed with another key", func(q *hookDelivery) { q.header = signers[name](otherKey, time.Now(), q.body) })
		refused("signed by another scheme", func(q *hookDelivery) { q.header = signers[next](goodKey, time.Now(), q.body) })
		refused("its headers twice", func(q *hookDelivery) {
			for n, values := range q.header {
				q.header[n] = append(values, values[0])
			}
		})
		if name != "github" { // which signs no time
			refused("signed ten minutes ago", signedAt(name, -10*time.Minute))
			refused("signed in ten minutes", signedAt(name, 10*time.Minute))
			refused("the time moved under the signature", func(q *hookDelivery) {
				was, now := fmt.Sprint(time.Now().Unix()/100), fmt.Sprint(time.Now().Unix()/100+1)
				for n, values := range q.header {
					q.header[n] = []string{strings.Replace(values[0], was, now, 1)}
				}
			})
		}
		all = append(all, attack{name + ", replayed after it decided", replayedAs[name], func(x *scene) string {
			good := scheme(name, func(*hookDelivery) {})
			good(x)
			x.good, x.runs = 1, 1
			x.as("boss").await(x.T, x.run, "done")
			return good(x)
		}})
	}
	all = append(all, hookBodies()...)
	return group{name: "hooks", agent: "open", control: attack{"a signed delivery", "200 decided", scheme("github", func(*hookDelivery) {})}, attacks: all}
}

// replayedAs are the neutral answers that senders of a scheme take. Slack wants an empty one.
var replayedAs = map[string]string{"github": "200 replayed", "standard": "200 replayed", "stripe": "200 replayed", "button": "200", "discord": "200 replayed"}

func hookBodies() []attack {
	to := func(hook string) func(x *scene) string {
		return scheme("github", func(q *hookDelivery) { q.hook = hook })
	}
	method := func(m string) func(x *scene) string {
		return scheme("github", func(q *hookDelivery) { q.method = m })
	}
	signedBody := func(name, body string) func(x *scene) string {
		return scheme(name, func(q *hookDelivery) { q.body, q.header = body, signers[name](goodKey, time.Now(), body) })
	}
	return []attack{
		{"GET of a hook", "401 unauthorized", method("GET")},
		{"HEAD of a hook", "401", method("HEAD")},
		{"PUT to a hook", "401 unauthorized", method("PUT")},
		{"a hook that isn't there", "404 hook_not_found", to("nothing")},
		{"a hook whose name is a path", "404 hook_not_found", to("..%2Fhooks%2Fgithub")},
		{"a hook whose name has a look-alike", "404 hook_not_found", to("g%D1%96thub")},
		{"a hook in capitals", "404 hook_not_found", to("GitHub")},
		{"a hook with another key", "401 invalid_signature", to("other")},
		{"a hook without its secret", "503 hook_unavailable", to("keyless")},
		{"a hook with a mistake", "503 hook_unavailable", to("mistake")},
		{"a hook of another tenant", "404 call_not_found", to("zoo")},
		{"a hook that may not reach the agent", "404 call_not_found", to("limited")},
		{"a hook whose condition doesn't hold", "200 ignored", to("closed")},
		{"a hook that starts an agent that isn't there", "404 agent_not_found", to("start")},
		{"the right hook, with a token in place of the signature", "401 invalid_signature", scheme("github", func(q *hookDelivery) { q.header = bearer("boss") })},
		{"a key that was changed", "401 invalid_signature", func(x *scene) string {
			x.secrets.Store("KEY", "a key that is new since today")
			defer x.secrets.Store("KEY", goodKey)
			return scheme("github", func(*hookDelivery) {})(x)
		}},
		{"a word of the key as the key", "401 invalid_signature", scheme("github", func(q *hookDelivery) { q.header = signers["github"]("key", time.Now(), q.body) })},
		{"the empty key", "401 invalid_signature", scheme("github", func(q *hookDelivery) { q.header = signers["github"]("", time.Now(), q.body) })},
		{"Discord's ping, not signed", "401 invalid_signature", scheme("discord", func(q *hookDelivery) { q.body, q.header = `{"type":1}`, nil })},
		{"Discord's ping with a decision", "200 pong", func(x *scene) string {
			return signedBody("discord", `{"type":1,"target":"`+x.sus()+`","action":"approve"}`)(x)
		}},
		{"Discord's ping to another scheme", "422 hook_mismatch", signedBody("github", `{"type":1}`)},
		{"Slack's challenge with a decision", "200 challenge", func(x *scene) string {
			return signedBody("button", `{"type":"url_verification","challenge":"x","target":"`+x.sus()+`","action":"approve"}`)(x)
		}},
		{"a huge delivery", "413 too_large", hooked("github", `{"target":"SUS","action":"approve","x":"`+strings.Repeat("x", 1<<20)+`"}`)},
		{"the target twice", "400 malformed_body", hooked("github", `{"target":"sus_1_x","target":"SUS","action":"approve"}`)},
		{"a decision twice, once escaped", "400 malformed_body", hooked("github", `{"target":"SUS","action":"deny","\u0061ction":"approve"}`)},
		{"two deliveries in one", "400 malformed_body", hooked("github", `{"target":"SUS","action":"approve"}{"target":"SUS","action":"approve"}`)},
		{"members in capitals", "422 hook_mismatch", hooked("github", `{"TARGET":"SUS","Action":"approve"}`)},
		{"a decision with a look-alike letter", "422 hook_mismatch", hooked("github", `{"target":"SUS","action":"аpprove"}`)},
		{"a decision that is a list", "422 hook_mismatch", hooked("github", `{"target":"SUS","action":["approve"]}`)},
		{"a decision with a space", "422 hook_mismatch", hooked("github", `{"target":"SUS","action":"approve "}`)},
		{"a placeholder as the target", "404 call_not_found", hooked("github", `{"target":"{secret:KEY}","action":"approve"}`)},
		{"a call's id as the target", "404 call_not_found", hooked("github", `{"target":"pay","action":"approve"}`)},
		{"a form with two payloads", "400 malformed_body", hooked("github", "payload=%7B%7D&payload="+url.QueryEscape(`{"target":"x","action":"approve"}`))},
		{"an older question, by a hook that shows one", "409 changed", hooked("shown", `{"target":"SUS","shown":"v1:0"}`)},
		{"arguments of another type, by a hook", "422 invalid_arguments", hooked("edits", `{"target":"SUS","arguments":{"amount":"5"}}`)},
		{"a delivery after the run was cancelled", "409 run_done", func(x *scene) string {
			if _, err := x.as("boss").Cancel(x.Context(), x.run); err != nil {
				x.Fatal(err)
			}
			x.as("boss").await(x.T, x.run, "done")
			return scheme("github", func(*hookDelivery) {})(x)
		}},
		{"a delivery after a denial", "409 already_decided", func(x *scene) string {
			x.rightly("boss", `{"action":"cancel"}`)
			return scheme("github", func(*hookDelivery) {})(x)
		}},
	}
}
