package clients

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// proposed is the state of a decision that the caller's model proposes, by the members of decide.
func proposed(t *testing.T, c caller, members string) string {
	t.Helper()
	var asked struct{ Result struct{ RequestState string } }
	got, err := c.mcp("tools/call", map[string]any{"name": "decide", "arguments": json.RawMessage("{" + members + "}")})
	if err != nil || json.Unmarshal([]byte(got.text), &asked) != nil || asked.Result.RequestState == "" {
		t.Fatal(got, err)
	}
	return asked.Result.RequestState
}

// proposals are the names of states of proposed decisions, and the states: about the approval
// asked, another one, and one that was denied already.
func proposals(t *testing.T, s desk, asked, mate, done client.Pending) (names []string) {
	t.Helper()
	anna := caller{s.url, "anna"}
	approves := func(p client.Pending) string { return fmt.Sprintf(`"target":%q,"action":"resume"`, p.Suspension.ID) }
	yes, other := proposed(t, anna, approves(asked)), proposed(t, anna, approves(mate))
	denied := fmt.Sprintf(`"target":%q,"action":"cancel"`, done.Suspension.ID)
	over := proposed(t, anna, denied)
	if got, err := anna.mcp("tools/call", map[string]any{"name": "decide", "arguments": json.RawMessage("{" + denied + "}"), "requestState": over,
		"inputResponses": map[string]any{done.Suspension.ID: map[string]any{"action": "accept", "content": map[string]any{"confirmed": true}}}}); err != nil || !strings.Contains(got.text, `"code":"accepted"`) {
		t.Fatal(got, err)
	}
	text, _, _ := strings.Cut(other, ".")
	_, mac, _ := strings.Cut(yes, ".")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.ReplaceAll(string(raw), mate.Suspension.ID, asked.Suspension.ID)
	keys := keysOf(t, s)
	p, err := keys.OpenProposal(yes, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	signed := func(by access.LinkKeys, change func(*access.Proposal)) string {
		changed := p
		change(&changed)
		return by.SignProposal(changed)
	}
	return []string{"MATEPROPOSAL", other, "DENYPROPOSAL", proposed(t, anna, strings.Replace(approves(asked), "resume", "cancel", 1)),
		"EDITPROPOSAL", proposed(t, anna, approves(asked)+`,"arguments":{"amount":20,"to":"Ann"}`), "BENPROPOSAL", proposed(t, caller{s.url, "ben"}, approves(asked)),
		"OVERPROPOSAL", over, "OVERSUS", done.Suspension.ID, "MOVEDPROPOSAL", base64.RawURLEncoding.EncodeToString([]byte(moved)) + "." + mac,
		"EXPIREDPROPOSAL", signed(keys, func(p *access.Proposal) { p.Expires = time.Now().Add(-time.Second) }),
		"STALEPROPOSAL", signed(keys, func(p *access.Proposal) { p.Shown = "v1:" + strings.Repeat("0", 64) }),
		"FORGEDPROPOSAL", signed(access.LinkKeys{make([]byte, 32)}, func(*access.Proposal) {}), "PROPOSAL", yes}
}

// keysOf are those that the server signs with.
func keysOf(t *testing.T, s desk) access.LinkKeys {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "link.keys"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return access.LinkKeys{key}
}

// proposalForgeries are the parameters of calls that claim that the user has confirmed a decision.
var proposalForgeries = map[string]forgery{
	"propose, and confirm nothing":             {body: decide(approve), want: "200"},
	"confirm without a state":                  {body: confirm("", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a state that is none":        {body: confirm("state", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a run's state":               {body: confirm("STATE", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a run as state":              {body: confirm("run:RUN", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a state that is longer":      {body: confirm("PROPOSALx", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a state that was changed":    {body: confirm("MOVEDPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a state of another key":      {body: confirm("FORGEDPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a state that has expired":    {body: confirm("EXPIREDPROPOSAL", approve, "SUS", confirmedYes), want: "400 link_expired"},
	"confirm what was shown otherwise":         {body: confirm("STALEPROPOSAL", approve, "SUS", confirmedYes), want: "200 changed"},
	"confirm with another caller's state":      {body: confirm("BENPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm as another caller":                {body: confirm("PROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request", as: "ben"},
	"confirm without the role":                 {body: confirm("PROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request", as: "reader"},
	"confirm from another tenant":              {body: confirm("PROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request", as: "eve"},
	"confirm another question's state":         {body: confirm("MATEPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm another question":                 {body: confirm("PROPOSAL", `"target":"MATESUS","action":"resume"`, "MATESUS", confirmedYes), want: "400 invalid_request"},
	"confirm by another question's response":   {body: confirm("PROPOSAL", approve, "MATESUS", confirmedYes), want: "200"},
	"confirm by the response to a call":        {body: confirm("PROPOSAL", approve, "CALL", confirmedYes), want: "200"},
	"confirm a yes in the place of a no":       {body: confirm("DENYPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm edits that weren't shown":         {body: confirm("PROPOSAL", approve+`,"arguments":{"amount":20,"to":"Eve"}`, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm other edits":                      {body: confirm("EDITPROPOSAL", approve+`,"arguments":{"amount":20,"to":"Eve"}`, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm without the edits":                {body: confirm("EDITPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm with a grant":                     {body: confirm("PROPOSAL", approve+`,"grant":"run"`, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm for another run":                  {body: confirm("PROPOSAL", approve+`,"run_id":"MATERUN"`, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm without content":                  {body: confirm("PROPOSAL", approve, "SUS", `"action":"accept"`), want: "200 unclear_decision"},
	"confirm with the member of an approval":   {body: confirm("PROPOSAL", approve, "SUS", `"action":"accept","content":{"approved":true}`), want: "200 unclear_decision"},
	"confirm with text":                        {body: confirm("PROPOSAL", approve, "SUS", `"action":"accept","content":{"confirmed":"true"}`), want: "200 unclear_decision"},
	"confirm with null":                        {body: confirm("PROPOSAL", approve, "SUS", `"action":"accept","content":{"confirmed":null}`), want: "200 unclear_decision"},
	"confirm with no":                          {body: confirm("PROPOSAL", approve, "SUS", `"action":"accept","content":{"confirmed":false}`), want: "200"},
	"confirm, and decline":                     {body: confirm("PROPOSAL", approve, "SUS", `"action":"decline","content":{"confirmed":true}`), want: "200"},
	"confirm, and close the form":              {body: confirm("PROPOSAL", approve, "SUS", `"action":"cancel","content":{"confirmed":true}`), want: "200"},
	"confirm with an unknown action":           {body: confirm("PROPOSAL", approve, "SUS", `"action":"confirm","content":{"confirmed":true}`), want: "200 unclear_decision"},
	"confirm without a response":               {body: `{"name":"decide","arguments":{` + approve + `},"requestState":"PROPOSAL"}`, want: "200"},
	"confirm again what was decided":           {body: confirm("OVERPROPOSAL", `"target":"OVERSUS","action":"cancel"`, "OVERSUS", confirmedYes), want: "200 already_decided"},
	"confirm with what was decided":            {body: confirm("OVERPROPOSAL", approve, "SUS", confirmedYes), want: "400 invalid_request"},
	"confirm to the agent":                     {body: strings.Replace(elicited("PROPOSAL", "SUS", `"approved":true,"confirmed":true`), "pay 53 and pick", "x", 1), want: "400 invalid_request"},
	"confirm to another tool of every server":  {body: strings.Replace(confirm("PROPOSAL", `"run_id":"RUN"`, "SUS", confirmedYes), `"decide"`, `"get_run"`, 1), want: "200"},
	"propose for another caller's client tool": {body: decide(`"target":"PICKSUS","result":{"picked":"red"}`), want: "200 call_not_found", as: "eve"},
}

const (
	approve      = `"target":"SUS","action":"resume"`
	confirmedYes = `"action":"accept","content":{"confirmed":true}`
)

// confirm are the parameters of a decision that is sent again with what the user said.
func confirm(state, members, question, response string) string {
	return `{"name":"decide","arguments":{` + members + `},"requestState":"` + state + `","inputResponses":{"` + question + `":{` + response + `}}}`
}
