package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

func TestFormsAreFlat(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"none", ``, `{"properties":{"answer":{"type":"string"}},"required":["answer"],"type":"object"}`},
		{"text", `{"type":"string","maxLength":5}`, `{"properties":{"answer":{"type":"string","maxLength":5}},"required":["answer"],"type":"object"}`},
		{"yes or no", `{"type":"boolean"}`, `{"properties":{"answer":{"type":"boolean"}},"required":["answer"],"type":"object"}`},
		{"a flat object", `{"type":"object","properties":{"a":{"type":"string","format":"email"},"b":{"type":"integer","minimum":1}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string","format":"email"},"b":{"type":"integer","minimum":1}},"required":["a"]}`},
		{"a choice", `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}}}`},
		{"a nested object", `{"type":"object","properties":{"a":{"type":"object"}}}`, ``},
		{"a list", `{"type":"array","items":{"type":"string"}}`, ``},
		{"no members", `{"type":"object"}`, ``},
		{"several types", `{"type":["string","null"]}`, ``},
		{"a pattern, which forms don't have", `{"type":"string","pattern":"^a"}`, ``},
		{"a format that forms don't have", `{"type":"string","format":"uuid"}`, ``},
		{"a condition over the members", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`, ``},
		{"anything", `true`, ``},
		{"not a schema", `"x"`, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			form, ok := answerForm(json.RawMessage(test.schema))
			if ok != (test.want != "") || ok && string(form) != test.want {
				t.Errorf("got %s, %t", form, ok)
			}
		})
	}
}

func TestWhatAResponseDecides(t *testing.T) {
	approval := &wire.Pending{Kind: "approval"}
	input := &wire.Pending{Kind: "input"}
	address := &wire.Pending{Kind: "input", Suspension: wire.Suspension{ResponseSchema: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}}}`)}}
	tests := []struct {
		name, response string
		p              *wire.Pending
		want           string // a decision, or "none", or a code
	}{
		{"yes", `{"action":"accept","content":{"approved":true}}`, approval, `{"target":"","action":"resume"}`},
		{"no", `{"action":"accept","content":{"approved":false,"reason":"why"}}`, approval, `{"target":"","action":"cancel","reason":"why"}`},
		{"no reason", `{"action":"accept","content":{"approved":true,"reason":null}}`, approval, `{"target":"","action":"resume"}`},
		{"declined", `{"action":"decline"}`, approval, `{"target":"","action":"cancel","reason":"declined"}`},
		{"declined, whatever the form says", `{"action":"decline","content":{"approved":true}}`, approval, `{"target":"","action":"cancel","reason":"declined"}`},
		{"put off", `{"action":"cancel","content":{"approved":true}}`, approval, `none`},
		{"neither", `{"action":"accept","content":{"approved":null}}`, approval, `unclear_decision`},
		{"a word", `{"action":"accept","content":{"approved":"yes"}}`, approval, `unclear_decision`},
		{"nothing", `{}`, approval, `unclear_decision`},
		{"a reason that is no text", `{"action":"accept","content":{"approved":true,"reason":1}}`, approval, `invalid_request`},
		{"an answer", `{"action":"accept","content":{"answer":"green"}}`, input, `{"target":"","result":"green"}`},
		{"an answer with a name of the form", `{"action":"accept","content":{"answer":"green"}}`, address, `{"target":"","result":{"answer":"green"}}`},
		{"an answer to what takes yes or no", `{"action":"accept","content":{"approved":true}}`, input, `{"target":"","result":{"approved":true}}`},
		{"no answer", `{"action":"accept"}`, input, `unclear_decision`},
		{"not answered", `{"action":"decline"}`, input, `{"target":"","action":"cancel","reason":"declined"}`},
		{"yes, again", `{"action":"accept","content":{"approved":true}}`, nil, `{"target":"","action":"resume"}`},
		{"an answer, again", `{"action":"accept","content":{"answer":"green"}}`, nil, `{"target":"","result":"green"}`},
		{"an object, again", `{"action":"accept","content":{"answer":"green","b":1}}`, nil, `{"target":"","result":{"answer":"green","b":1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r response
			if err := json.Unmarshal([]byte(test.response), &r); err != nil {
				t.Fatal(err)
			}
			d, answered, err := r.decision(test.p)
			raw, _ := json.Marshal(d)
			got := string(raw)
			switch p, refused := (&exchange{}).known(err); {
			case err != nil && refused:
				got = p.Code
			case !answered:
				got = "none"
			}
			if got != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestTheQuestionShowsWhatWouldRun(t *testing.T) {
	p := wire.Pending{Kind: "approval", Tool: "pay\u202e", Arguments: json.RawMessage("{\"to\":\"Ann\u202e\",\"amount\":1}"), Suspension: wire.Suspension{Message: "Above\nthe limit."},
		Preview: &wire.Preview{Text: "Pays $1."}, Warnings: []wire.Warning{{Path: "/to", Text: "It has U+202E."}}, Votes: &wire.Votes{Yes: 1, Need: 2},
		Path: []wire.PathStep{{Agent: "desk"}}}
	got := question(wire.Run{ID: "run_1", Agent: "planner"}, p)
	want := []string{"Approve pay", `Arguments: {"to":"Ann\u202e","amount":1}`, "Why you are asked: Above", "Preview: Pays $1.", "Warning: /to: It has U+202E.", "Approvals: 1 of 2", "Asked by: planner > desk, run run_1"}
	for _, line := range want {
		if !strings.Contains(got, line) {
			t.Errorf("%s\nlacks %s", got, line)
		}
	}
	if strings.Contains(got, "\u202e") {
		t.Errorf("%q has a hidden character", got)
	}
}

func TestWhoIsAsked(t *testing.T) {
	anna := frontend.Caller{By: "token:anna", Roles: []access.Role{access.Decide}, Claims: map[string]string{"team": "office"}}
	mine := wire.Run{StartedBy: &wire.Actor{By: "token:anna"}}
	tests := []struct {
		name   string
		caller frontend.Caller
		run    wire.Run
		p      wire.Pending
		want   bool
	}{
		{"an approver", anna, mine, wire.Pending{Kind: "approval"}, true},
		{"who may not decide", frontend.Caller{By: "token:anna", Roles: []access.Role{access.Read}}, mine, wire.Pending{Kind: "input"}, false},
		{"one of the approvers", anna, mine, wire.Pending{Kind: "approval", Approvers: []string{"token:a*"}}, true},
		{"one by a claim", anna, mine, wire.Pending{Kind: "approval", Approvers: []string{"claim:team=office"}}, true},
		{"none of the approvers", anna, mine, wire.Pending{Kind: "approval", Approvers: []string{"token:boss"}}, false},
		{"who started it", anna, mine, wire.Pending{Kind: "approval", NotBy: "starter"}, false},
		{"another than who started it", anna, wire.Run{StartedBy: &wire.Actor{By: "token:ben"}}, wire.Pending{Kind: "approval", NotBy: "starter"}, true},
		{"someone without a name", frontend.Caller{Roles: anna.Roles}, mine, wire.Pending{Kind: "approval", NotBy: "starter"}, false},
		{"who has voted", anna, mine, wire.Pending{Kind: "approval", Votes: &wire.Votes{Voters: []wire.Voter{{By: "token:anna"}}}}, false},
		{"who has yet to vote", anna, mine, wire.Pending{Kind: "approval", Votes: &wire.Votes{Voters: []wire.Voter{{By: "token:ben"}}}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := &exchange{Server: Server{Caller: test.caller}}
			if got := x.mayAnswer(test.run, test.p); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
	x := &exchange{Server: Server{Caller: anna}}
	cut := wire.Run{Pending: []wire.Pending{{Kind: "approval", Tool: "pay", Arguments: json.RawMessage(`"{\"a\":{\"a\":"`)}, {Kind: "approval", Tool: "pay", Arguments: json.RawMessage(`{}`), ResumeMode: "use_decision_as_tool_result"}, {Kind: "client"}}}
	if asked := x.questions(cut, &replies{}); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}
