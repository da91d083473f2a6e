package local

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
)

// message is Slack's message about the call.
func (x *scene) message() slackdouble.Message {
	x.Helper()
	var found slackdouble.Message
	_, ok := x.slack.Await(func(s slackdouble.State) bool {
		for _, m := range s.Messages {
			if strings.Contains(string(m.Raw), x.sus()) {
				found = m
				return true
			}
		}
		return false
	})
	if !ok {
		x.Fatal("nothing was posted")
	}
	return found
}

// pressed sends a press of the button that approves: signed is changed before it is signed, sent
// afterwards.
func pressed(user string, signed func(x *scene, body string) string, sent func(q *request)) func(x *scene) string {
	return func(x *scene) string {
		m := x.message()
		body := x.slack.Press(user, m, m.Button("dormouse_approve"))
		if signed != nil {
			was := body
			if body = signed(x, body); body == was {
				x.Fatal("nothing was changed")
			}
		}
		q := request{path: "/v1/hooks/slack", body: body, header: slackdouble.Sign(slackdouble.Key, time.Now(), body)}
		if sent != nil {
			sent(&q)
		}
		return x.sends(q)
	}
}

func resigned(key string, by time.Duration) func(q *request) {
	return func(q *request) { q.header = slackdouble.Sign(key, time.Now().Add(by), q.body) }
}

// swapped changes the form that Slack sends.
func swapped(old, now string) func(*scene, string) string {
	return func(_ *scene, body string) string {
		return strings.ReplaceAll(body, url.QueryEscape(old), url.QueryEscape(now))
	}
}

func slackAttacks() group {
	// a value inside of the value of a button
	inner := func(old, now string) func(*scene, string) string {
		return swapped(strings.ReplaceAll(old, `"`, `\"`), strings.ReplaceAll(now, `"`, `\"`))
	}
	return group{name: "slack", agent: "chat", control: attack{"the approver presses the button", "200", pressed("U0ANNA", nil, nil)}, attacks: []attack{
		{"a press that isn't signed", "401 invalid_signature", pressed("U0ANNA", nil, func(q *request) { q.header = nil })},
		{"a press signed with another key", "401 invalid_signature", pressed("U0ANNA", nil, resigned("another", 0))},
		{"a press signed ten minutes ago", "401 invalid_signature", pressed("U0ANNA", nil, resigned(slackdouble.Key, -10*time.Minute))},
		{"a press signed in ten minutes", "401 invalid_signature", pressed("U0ANNA", nil, resigned(slackdouble.Key, 10*time.Minute))},
		{"a press with another member under the signature", "401 invalid_signature", pressed("U0EVE", nil, func(q *request) { q.body = strings.ReplaceAll(q.body, "U0EVE", "U0ANNA") })},
		{"a press with the signature of Discord", "401 invalid_signature", pressed("U0ANNA", nil, func(q *request) { q.header = signers["discord"](goodKey, time.Now(), q.body) })},
		{"a press sent to another hook", "401 invalid_signature", pressed("U0ANNA", nil, func(q *request) { q.path = "/v1/hooks/github" })},
		{"a member of another workspace", "422 hook_mismatch", pressed("U0ANNA", swapped(`"team_id":"`+slackdouble.Team, `"team_id":"T0OTHER`), nil)},
		{"another workspace", "422 hook_mismatch", pressed("U0ANNA", swapped(`"id":"`+slackdouble.Team, `"id":"T0OTHER`), nil)},
		{"a member who is no approver", "200", pressed("U0EVE", nil, nil)},
		{"a member whose id is a pattern", "422 hook_mismatch", pressed("U0*", nil, nil)},
		{"a member with a look-alike id", "422 hook_mismatch", pressed("U0АNNA", nil, nil)},
		{"a button without a fingerprint", "422 hook_mismatch", pressed("U0ANNA", inner(`,"f":"`, `,"g":"`), nil)},
		{"a button with the fingerprint of another question", "200", pressed("U0ANNA", inner(`,"f":"v1:`, `,"f":"v1:0`), nil)},
		{"a button with a suspension that isn't there", "200", pressed("U0ANNA", inner(`"s":"sus_`, `"s":"sus_0`), nil)},
		{"a button of another app", "200", pressed("U0ANNA", swapped("dormouse_approve", "evil_approve"), nil)},
		{"a dialog that approves", "200", pressed("U0ANNA", swapped("block_actions", "view_submission"), nil)},
		{"a press with the member in the query", "400 unknown_field", func(x *scene) string {
			m := x.message()
			body := x.slack.Press("U0EVE", m, m.Button("dormouse_approve"))
			return x.sends(request{path: "/v1/hooks/slack?user=U0ANNA", body: body, header: slackdouble.Sign(slackdouble.Key, time.Now(), body)})
		}},
		{"a press with the member in a header", "200", pressed("U0EVE", nil, func(q *request) { q.header["X-Slack-User"] = []string{"U0ANNA"} })},
		{"GET of the app's address", "401 unauthorized", pressed("U0ANNA", nil, func(q *request) { q.method = http.MethodGet })},
	}}
}
