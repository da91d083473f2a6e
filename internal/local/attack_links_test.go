package local

import (
	"net/http"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
)

const yes = `{"action":"resume"}`

func htmlForm(more http.Header) http.Header {
	h := http.Header{"Accept": {"text/html"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	for name, values := range more {
		h[name] = values
	}
	return h
}

// byLink sends a request to a link of the call.
func byLink(change func(q *request)) func(x *scene) string {
	return func(x *scene) string {
		q := request{path: x.makeLink(client.LinkRequest{}).Link, body: yes}
		change(&q)
		return x.sends(q)
	}
}

func linkBody(body string) func(x *scene) string {
	return byLink(func(q *request) { q.body = body })
}

func look(method string, h http.Header) func(x *scene) string {
	return byLink(func(q *request) { q.method, q.body, q.header = method, "", h })
}

// signedLink sends a link that was signed with keys but never made.
func signedLink(keys func(x *scene) access.LinkKeys, change func(*access.Link)) func(x *scene) string {
	return func(x *scene) string {
		made := x.makeLink(client.LinkRequest{})
		l := access.Link{ID: made.ID, Tenant: access.Tenant, Run: x.run, Suspension: x.sus(), Expires: made.ExpiresAt.Time}
		change(&l)
		return x.sends(request{path: access.LinkPath + keys(x).Sign(l), body: yes})
	}
}

func ourKeys(x *scene) access.LinkKeys { return x.keys }

func strangeKeys(*scene) access.LinkKeys { return access.LinkKeys{[]byte(strings.Repeat("k", 32))} }

func linkAttacks() group {
	return group{name: "links", agent: "open", control: attack{"the link as it was made", "202 accepted", linkBody(yes)}, attacks: []attack{
		{"a link with another last character", "404 not_found", byLink(func(q *request) { q.path = altered(q.path, len(q.path)-3) })},
		{"a link with another first character", "404 not_found", byLink(func(q *request) { q.path = altered(q.path, len(access.LinkPath)+2) })},
		{"a link signed with a key of another server", "404 not_found", signedLink(strangeKeys, func(*access.Link) {})},
		{"a link that was signed but never made", "404 link_not_found", signedLink(ourKeys, func(l *access.Link) { l.ID = "lnk_0000000000000000" })},
		{"a link signed for another tenant", "404 link_not_found", signedLink(ourKeys, func(l *access.Link) { l.Tenant = "zoo" })},
		{"a link signed for another suspension", "404 not_found", signedLink(ourKeys, func(l *access.Link) { l.Suspension = "sus_1_aaaaaaaaaaaaaaaa" })},
		{"a link of another run, with this call in its body", "400 unknown_field", func(x *scene) string {
			other := x.scene(x.T, "open")
			return x.sends(request{path: other.makeLink(client.LinkRequest{}).Link, body: `{"action":"resume","target":"` + x.sus() + `"}`})
		}},
		{"a mail scanner opens the link", "200 question", look("GET", nil)},
		{"a mail scanner asks for the headers of the link", "200", look("HEAD", nil)},
		{"a browser prefetches the link", "200 page", look("GET", http.Header{"Accept": {"text/html"}, "Sec-Purpose": {"prefetch"}})},
		{"a scanner opens the button's address", "200 page", byLink(func(q *request) {
			*q = request{method: "GET", path: q.path + "?answer=approve", header: http.Header{"Accept": {"text/html"}}}
		})},
		{"GET that claims to be POST", "200 question", byLink(func(q *request) { q.method, q.header = "GET", http.Header{"X-Http-Method-Override": {"POST"}} })},
		{"GET with the decision in the query", "200 question", byLink(func(q *request) { *q = request{method: "GET", path: q.path + "?action=resume"} })},
		{"PUT to the link", "401 unauthorized", look("PUT", nil)},
		{"DELETE of the link", "401 unauthorized", look("DELETE", nil)},
		{"a form on another site", "403 forbidden", byLink(func(q *request) {
			q.body, q.header = "action=resume", htmlForm(http.Header{"Sec-Fetch-Site": {"cross-site"}})
		})},
		{"a form of another origin", "403 forbidden", byLink(func(q *request) {
			q.body, q.header = "action=resume", htmlForm(http.Header{"Origin": {"https://evil.example"}})
		})},
		{"a form with two actions", "400 page", byLink(func(q *request) { q.body, q.header = "action=cancel&action=resume", htmlForm(nil) })},
		{"the text form of another site", "415 unsupported_media_type", byLink(func(q *request) { q.header = http.Header{"Content-Type": {"text/plain"}} })},
		{"the action twice", "400 malformed_body", linkBody(`{"action":"cancel","action":"resume"}`)},
		{"the action twice, once escaped", "400 malformed_body", linkBody(`{"action":"cancel","\u0061ction":"resume"}`)},
		{"an action with a look-alike letter", "400 bad_action", linkBody(`{"action":"rеsume"}`)},
		{"an action in wide letters", "400 bad_action", linkBody(`{"action":"ｒesume"}`)},
		{"an action with an invisible letter", "400 bad_action", linkBody("{\"action\":\"re\u200bsume\"}")},
		{"two bodies in one", "400 malformed_body", linkBody(yes + yes)},
		{"a body that isn't UTF-8", "400 malformed_body", linkBody("{\"action\":\"resume\",\"reason\":\"\xff\"}")},
		{"a huge body", "413 too_large", linkBody(`{"action":"resume","reason":"` + strings.Repeat("x", 2<<20) + `"}`)},
		{"a huge nesting", "400 malformed_body", linkBody(`{"action":"resume","result":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`)},
		{"other arguments by a link", "400 wrong_kind", linkBody(`{"action":"resume","arguments":{"amount":500}}`)},
		{"a grant by a link", "400 unknown_field", linkBody(`{"action":"resume","grant":"run"}`)},
		{"a result for an approval", "400 wrong_kind", linkBody(`{"action":"resume","result":"paid"}`)},
		{"the name of a caller in the body", "400 unknown_field", linkBody(`{"action":"resume","by":"token:boss"}`)},
		{"the fingerprint of another question", "409 changed", linkBody(`{"action":"resume","shown":"v1:0"}`)},
		{"an expired link", "410 link_expired", func(x *scene) string {
			l := x.makeLink(client.LinkRequest{}).Link
			return x.later(8*24*time.Hour, func() string { return x.sends(request{path: l, body: yes}) })
		}},
		{"a revoked link", "410 link_revoked", func(x *scene) string {
			l := x.makeLink(client.LinkRequest{})
			if _, err := x.as("boss").RevokeLink(x.Context(), x.run, l.ID); err != nil {
				x.Fatal(err)
			}
			return x.sends(request{path: l.Link, body: yes})
		}},
		{"a link of a caller who lost the token", "410 link_expired", func(x *scene) string {
			l, err := x.as("mailer").MakeLink(x.Context(), x.run, client.LinkRequest{Target: x.sus(), For: "eve"})
			if err != nil {
				x.Fatal(err)
			}
			x.writeTokens("mailer")
			x.clock.Set(2 * time.Second)
			defer x.clock.Set(2 * time.Second) // and the file is read again
			defer x.writeTokens("")
			return x.sends(request{path: l.Link, body: yes})
		}},
		{"the other answer by a link that was used", "409 already_decided", func(x *scene) string {
			l := x.makeLink(client.LinkRequest{}).Link
			x.good, x.runs = 1, 0
			x.sends(request{path: l, body: `{"action":"cancel"}`})
			return x.sends(request{path: l, body: yes})
		}},
		{"the answer of a link, replayed", "200 already_decided", func(x *scene) string {
			l := x.makeLink(client.LinkRequest{}).Link
			x.good, x.runs = 1, 1
			x.sends(request{path: l, body: yes})
			x.as("boss").await(x.T, x.run, "done")
			return x.sends(request{path: l, body: yes})
		}},
		{"a link after the run was cancelled", "409 run_done", func(x *scene) string {
			l := x.makeLink(client.LinkRequest{}).Link
			if _, err := x.as("boss").Cancel(x.Context(), x.run); err != nil {
				x.Fatal(err)
			}
			x.as("boss").await(x.T, x.run, "done")
			return x.sends(request{path: l, body: yes})
		}},
		{"a link that asks for a token, without one", "401 unauthorized", requires("")},
		{"a link that asks for a token, with an unknown one", "401 unauthorized", requires("nobody")},
		{"a link that asks for a token, with one of another tenant", "401 unauthorized", requires("zoo")},
		{"a link that asks for a token, with one that may only read", "403 role_required", requires("reader")},
	}}
}

func requires(who string) func(x *scene) string {
	return func(x *scene) string {
		q := request{path: x.makeLink(client.LinkRequest{Require: client.RequireToken}).Link, body: yes}
		if who != "" {
			q.header = bearer(who)
		}
		return x.sends(q)
	}
}

// altered has another character at a place.
func altered(text string, at int) string {
	c := "A"
	if text[at] == 'A' {
		c = "B"
	}
	return text[:at] + c + text[at+1:]
}
