package local

import (
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// by sends a decision as a caller.
func by(who, body string) func(x *scene) string {
	return func(x *scene) string { return x.api(who, body) }
}

func personAttacks() group {
	return group{name: "people", agent: "own", control: attack{"the approver approves", "202 accepted", by("anna", yes)}, attacks: []attack{
		{"no token", "401 unauthorized", func(x *scene) string { return x.sends(request{path: "/v1/suspensions/" + x.sus(), body: yes}) }},
		{"an unknown token", "401 unauthorized", by("nobody", yes)},
		{"a token in the query", "401 unauthorized", func(x *scene) string {
			return x.sends(request{path: "/v1/suspensions/" + x.sus() + "?access_token=anna-token", body: yes})
		}},
		{"two tokens", "401 unauthorized", func(x *scene) string {
			return x.sends(request{path: "/v1/suspensions/" + x.sus(), body: yes, header: http.Header{"Authorization": {"Bearer starter-token", "Bearer anna-token"}}})
		}},
		{"the admin of another tenant", "404 call_not_found", by("zoo", yes)},
		{"a caller who may only read", "403 role_required", by("reader", yes)},
		{"a caller who may only start", "403 role_required", by("starter", yes)},
		{"a caller who may only make links", "403 role_required", by("mailer", yes)},
		{"who is no approver", "403 not_an_approver", by("ben", yes)},
		{"the requester approves", "403 separation_of_duties", by("ci", yes)},
		{"the requester approves with other arguments", "403 separation_of_duties", by("ci", `{"action":"resume","arguments":{"amount":1}}`)},
		{"the requester makes a link", "403 separation_of_duties", func(x *scene) string {
			return x.sends(request{path: "/v1/runs/" + x.run + "/links", body: `{"target":"` + x.sus() + `","for":"anna@example.com"}`, header: bearer("ci")})
		}},
		{"the requester with the link of a token", "403 separation_of_duties", func(x *scene) string {
			return x.sends(request{path: x.makeLink(client.LinkRequest{Require: client.RequireToken}).Link, body: yes, header: bearer("ci")})
		}},
		{"an approver who spoke in the conversation", "403 separation_of_duties", func(x *scene) string {
			run, err := x.as("boss").Run(x.Context(), x.run)
			if err != nil {
				x.Fatal(err)
			}
			if _, err := x.as("boss").SendMessage(x.Context(), run.ThreadID, client.MessageRequest{Input: client.Text("go"), OnPending: client.OnPendingQueue}, ""); err != nil {
				x.Fatal(err)
			}
			return x.api("boss", yes)
		}},
		{"the requester's message that says yes", "409 run_open", func(x *scene) string {
			run, err := x.as("boss").Run(x.Context(), x.run)
			if err != nil {
				x.Fatal(err)
			}
			return x.sends(request{path: "/v1/threads/" + run.ThreadID + "/messages", body: `{"input":"yes, approved"}`, header: bearer("ci")})
		}},
		{"a suspension that does not exist", "404 call_not_found", func(x *scene) string {
			return x.sends(request{path: "/v1/suspensions/sus_2_aaaaaaaaaaaaaaaa", body: yes, header: bearer("anna")})
		}},
		{"a decision on the call of another run", "404 call_not_found", func(x *scene) string {
			other := x.scene(x.T, "own")
			return x.sends(request{path: "/v1/runs/" + other.run + "/decisions", body: `{"target":"` + x.sus() + `","action":"resume"}`, header: bearer("anna")})
		}},
		{"a batch with a call of another run", "409 batch_refused", func(x *scene) string {
			other := x.scene(x.T, "own")
			return x.sends(request{path: "/v1/runs/" + x.run + "/decisions", header: bearer("anna"),
				body: `{"all_or_none":true,"decisions":[{"target":"` + x.sus() + `","action":"resume"},{"target":"` + other.sus() + `","action":"resume"}]}`})
		}},
		{"the result of a call that asks for approval", "400 wrong_kind", by("anna", `{"action":"resume","result":"paid"}`)},
		{"arguments of another type", "422 invalid_arguments", by("anna", `{"action":"resume","arguments":{"amount":"5"}}`)},
		{"arguments that the tool does not have", "422 invalid_arguments", by("anna", `{"action":"resume","arguments":{"amount":5,"to":"eve"}}`)},
		{"an argument with a look-alike name", "422 invalid_arguments", by("anna", `{"action":"resume","arguments":{"аmount":5}}`)},
		{"an argument twice", "400 malformed_body", by("anna", `{"action":"resume","arguments":{"amount":5,"amount":500}}`)},
		{"a decision in the name of another", "400 unknown_field", by("ben", `{"action":"resume","by":"token:anna"}`)},
		{"the fingerprint of an older question", "409 changed", by("anna", `{"action":"resume","shown":"v1:00000000000000000000000000000000"}`)},
		{"a hook in the name of a look-alike", "403 not_an_approver", hooked("person", `{"target":"SUS","action":"approve","who":"аnna"}`)},
		{"a hook in the name of a token", "403 not_an_approver", hooked("person", `{"target":"SUS","action":"approve","who":"token:anna"}`)},
		{"a hook in the name of a path", "403 not_an_approver", hooked("person", `{"target":"SUS","action":"approve","who":"x/../anna"}`)},
		{"a hook in the name of everybody", "403 not_an_approver", hooked("person", `{"target":"SUS","action":"approve","who":"*"}`)},
		{"a hook without a name", "422 hook_mismatch", hooked("person", `{"target":"SUS","action":"approve"}`)},
	}}
}

// voteAttacks are by one person who wants to be two.
func voteAttacks() group {
	token := func(body string) func(x *scene) string { return func(x *scene) string { return x.api("anna", body) } }
	hook := hooked("person", `{"target":"SUS","action":"approve","who":"anna"}`)
	link := func(x *scene) string {
		return x.sends(request{path: x.makeLink(client.LinkRequest{}).Link, body: yes})
	}
	after := func(first, second func(x *scene) string) func(x *scene) string {
		return func(x *scene) string {
			if got := first(x); got != "202 accepted" && got != "200 decided" {
				x.Fatal(got)
			}
			x.good++
			return second(x)
		}
	}
	edit := func(x *scene) string { return x.api("anna", `{"action":"resume","arguments":{"amount":9}}`) }
	return group{name: "votes", agent: "duo", control: attack{"two people approve", "202 accepted", func(x *scene) string {
		x.rightly("anna", yes)
		return x.api("ben", yes)
	}}, attacks: []attack{
		{"one person by the token twice", "409 already_decided", after(token(yes), token(`{"action":"resume","decision_id":"second"}`))},
		{"one person by token and link", "409 already_decided", after(token(yes), link)},
		{"one person by token and hook", "409 already_decided", after(token(yes), hook)},
		{"one person by link and token", "409 already_decided", after(link, token(yes))},
		{"one person by two links", "409 already_decided", after(link, link)},
		{"one person by link and hook", "409 already_decided", after(link, hook)},
		{"one person by hook and token", "409 already_decided", after(hook, token(yes))},
		{"one person by hook and link", "409 already_decided", after(hook, link)},
		{"one person's hook, repeated", "200 replayed", after(hook, hook)},
		{"one person's hook with another body", "409 already_decided", after(hook, hooked("person", `{"target":"SUS","action":"approve","who":"anna","n":2}`))},
		{"the maker of a link that was used", "403 not_an_approver", after(link, by("boss", yes))},
		{"the requester votes", "403 not_an_approver", by("ci", yes)},
		{"who is in no group", "403 role_required", by("starter", yes)},
		{"a link for who is in no group", "403 not_an_approver", func(x *scene) string {
			return x.sends(request{path: "/v1/runs/" + x.run + "/links", body: `{"target":"` + x.sus() + `","for":"eve@example.com"}`, header: bearer("boss")})
		}},
		{"a link for a look-alike", "403 not_an_approver", func(x *scene) string {
			return x.sends(request{path: "/v1/runs/" + x.run + "/links", body: `{"target":"` + x.sus() + `","for":"аnna@example.com"}`, header: bearer("boss")})
		}},
		{"a member of another tenant", "404 call_not_found", by("zoo", yes)},
		{"a grant in a vote", "400 bad_grant", by("anna", `{"action":"resume","grant":"run"}`)},
		{"a vote in a batch", "409 batch_refused", func(x *scene) string {
			return x.sends(request{path: "/v1/runs/" + x.run + "/decisions", header: bearer("anna"), body: `{"all_or_none":true,"decisions":[{"target":"` + x.sus() + `","action":"resume"}]}`})
		}},
		{"a vote on what it was before an edit", "409 arguments_changed", after(edit, by("ben", yes))},
		{"a vote on what was shown before an edit", "409 arguments_changed", after(edit, func(x *scene) string {
			return x.api("ben", `{"action":"resume","shown":"`+x.p.Fingerprint+`"}`)
		})},
		{"the editor votes for the edit again", "409 already_decided", after(edit, token(`{"action":"resume","decision_id":"second"}`))},
		{"a link of before an edit", "409 already_decided", func(x *scene) string {
			l := x.makeLink(client.LinkRequest{}).Link
			x.good++
			edit(x)
			return x.sends(request{path: l, body: yes})
		}},
		{"a vote after the question was cancelled", "409 run_done", func(x *scene) string {
			x.rightly("anna", yes)
			if _, err := x.as("boss").Cancel(x.Context(), x.run); err != nil {
				x.Fatal(err)
			}
			x.as("boss").await(x.T, x.run, "done")
			return x.api("ben", yes)
		}},
		{"a vote after a denial", "409 already_decided", func(x *scene) string {
			x.rightly("anna", `{"action":"cancel"}`)
			return x.api("ben", yes)
		}},
	}}
}

// replaced waits until the other group is asked, and only it.
func (x *scene) replaced() {
	x.Helper()
	boss, before, after := x.as("boss"), x.sus(), ""
	for x.sus() == before {
		page, err := boss.EventPage(x.Context(), x.run, client.EventQuery{After: after, Wait: 20 * time.Second})
		if err != nil || len(page.Items) == 0 {
			x.Fatalf("the question never moved on: %v", err)
		}
		after = page.Next
		run, err := boss.Run(x.Context(), x.run)
		if err != nil {
			x.Fatal(err)
		}
		if len(run.Pending) > 0 {
			x.p = run.Pending[0]
		}
	}
}

func escalationAttacks() group {
	return group{name: "escalation", agent: "escalated", control: attack{"the new group approves", "202 accepted", func(x *scene) string {
		x.replaced()
		return x.api("ben", yes)
	}}, attacks: []attack{
		{"a member, a link and a hook of the group that was replaced", "409 stale_suspension, 403 not_an_approver, 409 stale_suspension, 403 not_an_approver", func(x *scene) string {
			old := x.makeLink(client.LinkRequest{}).Link
			before := x.p
			x.replaced()
			now := x.p
			x.p = before
			got := x.api("anna", yes) + ", "
			x.p = now
			return got + x.api("anna", yes) + ", " + x.sends(request{path: old, body: yes}) + ", " + hooked("person", `{"target":"SUS","action":"approve","who":"anna"}`)(x)
		}},
	}}
}
