package answer

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// sent is a member of a decision as its caller wrote it; nil if it is absent.
func sent(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func TestRead(t *testing.T) {
	tests := []struct {
		name   string
		kind   core.Kind
		action string
		result string
		error  string
		want   string // an action, or a code
		reason string
	}{
		{"C118 true on an approval resumes", core.KindApproval, "", `true`, "", "resume", ""},
		{"C118 false on an approval cancels", core.KindApproval, "", `false`, "", "cancel", ""},
		{"C119 a denial word cancels", core.KindApproval, "", `"rejected"`, "", "cancel", ""},
		{"C119 case and spaces do not matter", core.KindApproval, "", `" Denied "`, "", "cancel", ""},
		{"C119 the text false cancels", core.KindApproval, "", `"false"`, "", "cancel", ""},
		{"C120 an approval word resumes", core.KindApproval, "", `"Y"`, "", "resume", ""},
		{"C120 allowed resumes", core.KindApproval, "", `" Allowed"`, "", "resume", ""},
		{"C120 nope is unclear", core.KindApproval, "", `"nope"`, "", CodeUnclearDecision, ""},
		{"C120 not yet is unclear", core.KindApproval, "", `"not yet"`, "", CodeUnclearDecision, ""},
		{"C120 an empty text is unclear", core.KindApproval, "", `""`, "", CodeUnclearDecision, ""},
		{"C120 no is a result for a client call", core.KindClient, "", `"no"`, "", "resume", ""},
		{"C120 any text is a result for an input call", core.KindInput, "", `"not yet"`, "", "resume", ""},
		{"C120 a boolean is a result for a client call", core.KindClient, "", `false`, "", "resume", ""},
		{"C122 approved false", core.KindApproval, "", `{"approved":false}`, "", "cancel", ""},
		{"C122 denied true", core.KindApproval, "", `{"denied":true}`, "", "cancel", ""},
		{"C122 rejected true", core.KindApproval, "", `{"rejected":true}`, "", "cancel", ""},
		{"C122 status cancelled", core.KindApproval, "", `{"status":"cancelled"}`, "", "cancel", ""},
		{"C122 one no outweighs a yes", core.KindApproval, "", `{"approved":true,"status":"cancelled"}`, "", "cancel", ""},
		{"C122 approved true resumes", core.KindApproval, "", `{"approved":true}`, "", "resume", ""},
		{"denied false alone is no yes", core.KindApproval, "", `{"denied":false}`, "", CodeUnclearDecision, ""},
		{"an approval that cannot be read is unclear", core.KindApproval, "resume", `{"approved":0}`, "", CodeUnclearDecision, ""},
		{"a number is unclear", core.KindApproval, "", `1`, "", CodeUnclearDecision, ""},
		{"null without an action is unclear", core.KindApproval, "", `null`, "", CodeUnclearDecision, ""},
		{"nothing at all is unclear", core.KindApproval, "", "", "", CodeUnclearDecision, ""},
		{"C117 approved false beside resume never executes", core.KindApproval, "resume", `{"approved":false}`, "", "cancel", ""},
		{"C117 in capitals", core.KindApproval, "resume", `{"Approved":false}`, "", "cancel", ""},
		{"C117 as a word", core.KindApproval, "resume", `{"approved":"no"}`, "", "cancel", ""},
		{"C117 as text", core.KindApproval, "resume", `"{\"approved\": false}"`, "", "cancel", ""},
		{"C117 false beside resume", core.KindApproval, "resume", `false`, "", "cancel", ""},
		{"C117 without an action", core.KindApproval, "", `{"approved":false,"reason":"too much"}`, "", "cancel", "too much"},
		{"C123 the text is the reason", core.KindApproval, "cancel", `"not allowed"`, "", "cancel", "not allowed"},
		{"C123 the member is the reason", core.KindApproval, "cancel", `{"reason":"policy violation"}`, "", "cancel", "policy violation"},
		{"C123 null is no reason", core.KindApproval, "cancel", `null`, "", "cancel", ""},
		{"C125 another action", core.KindApproval, "invalid_action", `true`, "", CodeBadAction, ""},
		{"C74 an object beside resume", core.KindApproval, "resume", `{"overridden":"args"}`, "", CodeWrongKind, ""},
		{"an approval takes no word for no", core.KindApproval, "resume", `"denied"`, "", CodeContradiction, ""},
		{"an approval takes no short word for no", core.KindApproval, "resume", `"no"`, "", CodeContradiction, ""},
		{"an approval takes no false as text", core.KindApproval, "resume", `"false"`, "", CodeContradiction, ""},
		{"an approval takes no number", core.KindApproval, "resume", `42`, "", CodeWrongKind, ""},
		{"an approval takes no list", core.KindApproval, "resume", `[1]`, "", CodeWrongKind, ""},
		{"an approval takes no other text", core.KindApproval, "resume", `"done"`, "", CodeWrongKind, ""},
		{"an approval takes no object", core.KindApproval, "resume", `{"refunded":true}`, "", CodeWrongKind, ""},
		{"an approval takes no status of its own", core.KindApproval, "resume", `{"status":"refunded"}`, "", CodeWrongKind, ""},
		{"an approval takes no result beside a yes", core.KindApproval, "", `{"approved":true,"refunded":true}`, "", CodeWrongKind, ""},
		{"a yes said twice", core.KindApproval, "resume", `{"approved":true,"reason":"fine"}`, "", "resume", ""},
		{"C75 the decision is the result", core.KindInput, "", `{"color":"red"}`, "", "resume", ""},
		{"C99 resume with null", core.KindApproval, "resume", `null`, "", "resume", ""},
		{"C99 resume with an empty object", core.KindApproval, "resume", `{}`, "", "resume", ""},
		{"C99 resume with nothing", core.KindApproval, "resume", "", "", "resume", ""},
		{"HB7 an error for a client call is a result", core.KindClient, "", "", "no camera", "resume", ""},
		{"HB12 an error for an approval counts as cancel", core.KindApproval, "", "", "no", "cancel", "no"},
		{"HB12 even beside resume", core.KindApproval, "resume", "", "broken", "cancel", "broken"},
		{"HB13 an approval for a client call", core.KindClient, "", `{"approved":true}`, "", CodeWrongKind, ""},
		{"HB13 with a reason", core.KindClient, "", `{"approved":true,"reason":"fine"}`, "", CodeWrongKind, ""},
		{"HB13 a bare resume for a client call", core.KindClient, "resume", "", "", CodeWrongKind, ""},
		{"HB13 a bare resume for an input call", core.KindInput, "resume", "", "", CodeWrongKind, ""},
		{"an approval-shaped result with an action is a result", core.KindClient, "resume", `{"approved":true}`, "", "resume", ""},
		{"more than an approval is a result", core.KindClient, "", `{"approved":true,"by":"x"}`, "", "resume", ""},
		{"nothing for a client call", core.KindClient, "", "", "", CodeUnclearDecision, ""},
		{"a client call is declined", core.KindClient, "cancel", "", "", "cancel", ""},
		{"unknown outcome: it happened", core.KindUnknownOutcome, "", `{"id":7}`, "", "resume", ""},
		{"unknown outcome: it failed", core.KindUnknownOutcome, "", "", "timeout", "resume", ""},
		{"unknown outcome: run it", core.KindUnknownOutcome, "resume", "", "", "resume", ""},
		{"unknown outcome: leave it", core.KindUnknownOutcome, "cancel", "", "", "cancel", ""},
		{"unknown outcome: nothing said", core.KindUnknownOutcome, "", "", "", CodeUnclearDecision, ""},
		{"unknown outcome: null is not a word to run it", core.KindUnknownOutcome, "resume", `null`, "", CodeUnclearDecision, ""},
		{"unknown outcome: an approval does not say", core.KindUnknownOutcome, "", `{"approved":true}`, "", CodeWrongKind, ""},
		{"a result and an error", core.KindClient, "", `1`, "x", CodeContradiction, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{ID: "d1", Suspension: "sus_1_a", Action: tt.action, Result: sent(tt.result), Error: tt.error, At: 7}
			r, err := Read(Question{Kind: tt.kind}, in)
			got := actionOrCode(r, err)
			if got != tt.want || r.Reason != tt.reason {
				t.Fatalf("got %s, reason %q (%v); want %s, reason %q", got, r.Reason, err, tt.want, tt.reason)
			}
			if err == nil && (r.DecisionID != "d1" || r.UpdatedAt != 7) {
				t.Fatalf("id %q, time %d", r.DecisionID, r.UpdatedAt)
			}
		})
	}
}

// actionOrCode is what a decision was read as: its action, or the code that refuses it.
func actionOrCode(r core.Resume, err error) string {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return r.Action.String()
}

func TestAnApprovalsModeSaysWhatItsResultIs(t *testing.T) {
	tests := []struct {
		name   string
		mode   core.ResumeMode
		action string
		result string
		error  string
		want   string // an action, or a code
	}{
		{"the decision is the result: a status is data", core.UseDecisionAsToolResult, "resume", `{"status":"cancelled"}`, "", "resume"},
		{"the decision is the result: without an action, too", core.UseDecisionAsToolResult, "", `{"status":"cancelled"}`, "", "resume"},
		{"the decision is the result: approved false is data", core.UseDecisionAsToolResult, "", `{"approved":false}`, "", "resume"},
		{"the decision is the result: a word for no is data", core.UseDecisionAsToolResult, "resume", `"no"`, "", "resume"},
		{"the decision is the result: false is data", core.UseDecisionAsToolResult, "", `false`, "", "resume"},
		{"the decision is the result: a bare yes has none", core.UseDecisionAsToolResult, "resume", ``, "", CodeResultRequired},
		{"the decision is the result: null is none", core.UseDecisionAsToolResult, "resume", `null`, "", CodeResultRequired},
		{"the decision is the result: nothing said", core.UseDecisionAsToolResult, "", ``, "", CodeUnclearDecision},
		{"the decision is the result: cancel refuses", core.UseDecisionAsToolResult, "cancel", `{"amount":5}`, "", "cancel"},
		{"the decision is the result: an error refuses", core.UseDecisionAsToolResult, "", ``, "too much", "cancel"},
		{"C92 the tool is handed what a yes says beside", core.PassDecisionToTool, "", `{"approved":true,"step":2}`, "", "resume"},
		{"the tool is handed any data", core.PassDecisionToTool, "resume", `{"color":"red"}`, "", "resume"},
		{"the tool is handed a text", core.PassDecisionToTool, "resume", `"not yet"`, "", "resume"},
		{"the tool is handed no word for no", core.PassDecisionToTool, "resume", `" Denied"`, "", CodeContradiction},
		{"C117 the tool is handed no flag that says no", core.PassDecisionToTool, "resume", `{"approved":false,"step":2}`, "", "cancel"},
		{"the tool is handed nothing without a yes", core.PassDecisionToTool, "", `{"color":"red"}`, "", CodeUnclearDecision},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Read(Question{Kind: core.KindApproval, Mode: tt.mode}, Input{Action: tt.action, Result: sent(tt.result), Error: tt.error})
			if got := actionOrCode(r, err); got != tt.want {
				t.Fatalf("got %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

func TestEveryWordOfAnApproval(t *testing.T) {
	want := map[core.ResumeAction][]string{
		core.ActionCancel: {"false", "no", "denied", "deny", "reject", "rejected", "cancel", "canceled", "cancelled", "abort", "aborted"},
		core.ActionResume: {"true", "yes", "y", "ok", "approve", "approved", "allow", "allowed", "accept", "accepted", "confirm", "confirmed", "resume"},
	}
	for action, words := range want {
		for _, w := range words {
			t.Run("C119 C120 "+w, func(t *testing.T) {
				r, err := Read(Question{Kind: core.KindApproval}, Input{Result: core.Encode(w)})
				if err != nil || r.Action != action {
					t.Fatalf("got %v, %v; want %v", r.Action, err, action)
				}
			})
		}
	}
}

func TestAnExplicitReasonStands(t *testing.T) {
	r, err := Read(Question{Kind: core.KindApproval}, Input{Action: "cancel", Result: sent(`"not allowed"`), Reason: "budget"})
	if err != nil || r.Reason != "budget" {
		t.Fatalf("got %q, %v", r.Reason, err)
	}
}

func TestWhatADecisionCarriesBesideItsAnswer(t *testing.T) {
	tests := []struct {
		name string
		kind core.Kind
		in   Input
		want string // an action, or a code
	}{
		{"HB28 edited arguments beside resume", core.KindApproval, Input{Action: "resume", Arguments: sent(`{"amount":5}`)}, "resume"},
		{"HB28 beside a yes", core.KindApproval, Input{Result: sent(`true`), Arguments: sent(`{}`)}, "resume"},
		{"HB28 beside a result that says no", core.KindApproval, Input{Action: "resume", Result: sent(`{"approved":false}`), Arguments: sent(`{}`)}, CodeContradiction},
		{"HB28 beside cancel", core.KindApproval, Input{Action: "cancel", Arguments: sent(`{}`)}, CodeContradiction},
		{"HB28 beside an error", core.KindApproval, Input{Error: "no", Arguments: sent(`{}`)}, CodeContradiction},
		{"HB28 alone they say neither yes nor no", core.KindApproval, Input{Arguments: sent(`{}`)}, CodeUnclearDecision},
		{"HB28 a list", core.KindApproval, Input{Action: "resume", Arguments: sent(`[1]`)}, CodeInvalidArguments},
		{"HB28 a text", core.KindApproval, Input{Action: "resume", Arguments: sent(`"{}"`)}, CodeInvalidArguments},
		{"HB28 null is none", core.KindClient, Input{Result: sent(`1`), Arguments: sent(` null`)}, "resume"},
		{"HB28 for a client call", core.KindClient, Input{Result: sent(`1`), Arguments: sent(`{}`)}, CodeWrongKind},
		{"HB28 for a call whose outcome is unknown", core.KindUnknownOutcome, Input{Action: "resume", Arguments: sent(`{}`)}, CodeWrongKind},
		{"a grant beside resume", core.KindApproval, Input{Action: "resume", Grant: "run"}, "resume"},
		{"a grant beside cancel", core.KindApproval, Input{Action: "cancel", Grant: "run"}, CodeContradiction},
		{"a grant of everything", core.KindApproval, Input{Action: "resume", Grant: "always"}, CodeBadGrant},
		{"a grant for an input call", core.KindInput, Input{Result: sent(`1`), Grant: "run"}, CodeWrongKind},
		{"an interrupted run: resume", core.KindInterrupt, Input{Action: "resume"}, "resume"},
		{"an interrupted run: nothing said", core.KindInterrupt, Input{}, "resume"},
		{"an interrupted run: a reason alone", core.KindInterrupt, Input{Reason: "looked at it"}, "resume"},
		{"an interrupted run: cancel", core.KindInterrupt, Input{Action: "cancel"}, CodeWrongKind},
		{"an interrupted run: a result", core.KindInterrupt, Input{Result: sent(`false`)}, CodeWrongKind},
		{"an interrupted run: an error", core.KindInterrupt, Input{Error: "no"}, CodeWrongKind},
		{"an interrupted run: edited arguments", core.KindInterrupt, Input{Arguments: sent(`{}`)}, CodeWrongKind},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Read(Question{Kind: tt.kind}, tt.in)
			if got := actionOrCode(r, err); got != tt.want {
				t.Fatalf("got %s (%v), want %s", got, err, tt.want)
			}
			if err == nil && (core.IsNull(tt.in.Arguments) != (r.Arguments == nil) || string(r.Grant) != tt.in.Grant) {
				t.Fatalf("decision %+v", r)
			}
		})
	}
}

func TestEditedArgumentsAreKeptInTheirCanonicalForm(t *testing.T) {
	r, err := Read(Question{Kind: core.KindApproval}, Input{Action: "resume", Arguments: sent(`{"b": 1.50, "a": "\u003cx>"}`)})
	if err != nil || string(r.Arguments) != `{"a":"<x>","b":1.50}` {
		t.Fatalf("got %s, %v", r.Arguments, err)
	}
}

func TestEditedArgumentsThatAreAmbiguousAreRefused(t *testing.T) {
	for _, written := range []string{`{"amountCents":1,"amountcents":5}`, `{"a":1,"a":2}`, `{"to":"Ann\ud800"}`,
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)} {
		_, err := Read(Question{Kind: core.KindApproval}, Input{Action: "resume", Arguments: sent(written)})
		if refused, ok := errors.AsType[*Error](err); !ok || refused.Code != CodeInvalidArguments {
			t.Errorf("%.80s: %v", written, err)
		}
	}
}

// Stored decisions are compared with repeats by their digest, so that it must not move with the
// program.
func TestTheDigestOfAPlainDecisionStays(t *testing.T) {
	in := Input{Suspension: "sus_1_a", Action: "resume", Result: sent(`{"a":1}`), Reason: "x"}
	if got, want := in.Digest(), "5380f95f8ef79f6f5a74065b043c5b7ca3e473fffd6d08eac2f0ddb7c236b33b"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestADecisionWithoutIDNamesItself(t *testing.T) {
	base := Input{Suspension: "sus_1_a", Action: "resume", Result: sent(`{"a":1,"b":2}`)}
	same := Input{Suspension: "sus_1_a", Action: "resume", Result: sent(`{ "b": 2, "a": 1 }`), At: 99}
	id := func(in Input) string {
		r, err := Read(Question{Kind: core.KindApproval, Mode: core.PassDecisionToTool}, in)
		if err != nil {
			t.Fatal(err)
		}
		return r.DecisionID
	}
	if id(base) != id(same) {
		t.Error("C124 the same decision got two ids")
	}
	for name, change := range map[string]func(*Input){
		"suspension": func(in *Input) { in.Suspension = "sus_2_b" },
		"result":     func(in *Input) { in.Result = sent(`{"a":1}`) },
		"no result":  func(in *Input) { in.Result = nil },
		"null":       func(in *Input) { in.Result = sent(`null`) },
		"reason":     func(in *Input) { in.Reason = "x" },
		"action":     func(in *Input) { in.Action = "cancel" },
		"arguments":  func(in *Input) { in.Arguments = sent(`{}`) },
		"grant":      func(in *Input) { in.Grant = "run" },
	} {
		other := base
		change(&other)
		if id(other) == id(base) {
			t.Errorf("C124 another %s got the same id", name)
		}
	}
	edited, alike := base, base
	edited.Arguments, alike.Arguments = sent(`{"a":1,"b":2}`), sent(`{ "b":2, "a":1 }`)
	if edited.Digest() != alike.Digest() {
		t.Error("HB28 the same edited arguments are two decisions")
	}
	null, none := base, base
	null.Result, none.Result = sent(`null`), nil
	if null.Digest() == none.Digest() {
		t.Error("null and no result are one decision")
	}
}

// Whatever is sent, an approval that says no in any member never lets a call run, no text does that
// is a word for no, and reading is deterministic.
func FuzzANoNeverRuns(f *testing.F) {
	for _, seed := range []string{`{"approved":false}`, `{"approved":false,"status":"ok"}`, `{"x":[{}]}`, `"yes"`, `"denied"`, `null`, `{"approved":"nope"}`, `7`} {
		f.Add(seed, "", "")
		f.Add(seed, "resume", "")
	}
	f.Fuzz(func(t *testing.T, result, action, failure string) {
		in := Input{Suspension: "sus_1_a", Action: action, Result: sent(result), Error: failure}
		for _, mode := range []core.ResumeMode{core.ReplayToolCall, core.PassDecisionToTool} {
			r, err := Read(Question{Kind: core.KindApproval, Mode: mode}, in)
			again, errAgain := Read(Question{Kind: core.KindApproval, Mode: mode}, in)
			if r.DecisionID != again.DecisionID || r.Action != again.Action || (err == nil) != (errAgain == nil) {
				t.Fatalf("read twice: %+v, %v and %+v, %v", r, err, again, errAgain)
			}
			runs := err == nil && r.Action == core.ActionResume
			var members map[string]any
			if json.Unmarshal([]byte(result), &members) == nil && members["approved"] == false && runs {
				t.Fatalf("a no was read as %s", r.Action)
			}
			var word string
			if json.Unmarshal([]byte(result), &word) == nil && sayWord(word) == saysNo && runs {
				t.Fatalf("%s was read as %s", result, r.Action)
			}
			if mode == core.ReplayToolCall && runs && len(members) == 0 && len(result) > 0 && result[0] >= '0' && result[0] <= '9' {
				t.Fatalf("an approval took the result %s", result)
			}
		}
	})
}

func TestADeclaredSchemaDecidesWhatAClientsResultIs(t *testing.T) {
	looksLikeAVerdict := Input{Suspension: "s", Result: []byte(`{"approved":true}`)}
	for schema, taken := range map[string]bool{"": false, "null": false, "{}": false, " true ": false, `{"type":"object"}`: true,
		`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`: true} {
		call := core.SuspendedCall{Kind: core.KindClient, SuspendTicket: core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Suspension: core.Suspension{ResponseSchema: []byte(schema)}}}
		r, err := Read(QuestionOf(call), looksLikeAVerdict)
		if (err == nil) != taken || taken && (r.Action != core.ActionResume || string(r.Result) != `{"approved":true}`) {
			t.Errorf("with the schema %q: %+v, %v", schema, r, err)
		}
	}
}

func TestARunThatAsksToGoOnTakesAYesOrANo(t *testing.T) {
	asked := core.SuspendedCall{CallID: "cost:x", Kind: core.KindApproval, SuspendTicket: core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult}}
	for name, c := range map[string]struct {
		in   Input
		want core.ResumeAction
		code string
	}{
		"resume":             {Input{Action: "resume"}, core.ActionResume, ""},
		"cancel":             {Input{Action: "cancel"}, core.ActionCancel, ""},
		"true":               {Input{Result: json.RawMessage(`true`)}, core.ActionResume, ""},
		"false":              {Input{Result: json.RawMessage(`false`)}, core.ActionCancel, ""},
		"not approved":       {Input{Result: json.RawMessage(`{"approved":false}`)}, core.ActionCancel, ""},
		"resume and no":      {Input{Action: "resume", Result: json.RawMessage(`{"approved":false}`)}, core.ActionCancel, ""},
		"data":               {Input{Result: json.RawMessage(`{"amount":5}`)}, 0, CodeUnclearDecision},
		"edited arguments":   {Input{Action: "resume", Arguments: json.RawMessage(`{"limit":9}`)}, 0, CodeWrongKind},
		"a grant for a turn": {Input{Action: "resume", Grant: "run"}, 0, CodeWrongKind},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Suspension = "sus_1_x"
			got, err := Read(QuestionOf(asked), c.in)
			wrong, _ := errors.AsType[*Error](err)
			if c.code != "" && (wrong == nil || wrong.Code != c.code) || c.code == "" && (err != nil || got.Action != c.want) {
				t.Errorf("%v, %v; want %v %s", got.Action, err, c.want, c.code)
			}
		})
	}
}
