package core

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func rawJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func TestReadDecision(t *testing.T) {
	tests := []struct {
		name   string
		kind   Kind
		action string
		result string
		error  string
		want   string // an action, or a code
		reason string
	}{
		{"C118 true on an approval resumes", KindApproval, "", `true`, "", "resume", ""},
		{"C118 false on an approval cancels", KindApproval, "", `false`, "", "cancel", ""},
		{"C119 a denial word cancels", KindApproval, "", `"rejected"`, "", "cancel", ""},
		{"C119 case and spaces do not matter", KindApproval, "", `" Denied "`, "", "cancel", ""},
		{"C119 the text false cancels", KindApproval, "", `"false"`, "", "cancel", ""},
		{"C120 an approval word resumes", KindApproval, "", `"Y"`, "", "resume", ""},
		{"C120 allowed resumes", KindApproval, "", `" Allowed"`, "", "resume", ""},
		{"C120 nope is unclear", KindApproval, "", `"nope"`, "", CodeUnclearDecision, ""},
		{"C120 not yet is unclear", KindApproval, "", `"not yet"`, "", CodeUnclearDecision, ""},
		{"C120 an empty text is unclear", KindApproval, "", `""`, "", CodeUnclearDecision, ""},
		{"C120 no is a result for a client call", KindClient, "", `"no"`, "", "resume", ""},
		{"C120 any text is a result for an input call", KindInput, "", `"not yet"`, "", "resume", ""},
		{"C120 a boolean is a result for a client call", KindClient, "", `false`, "", "resume", ""},
		{"C122 approved false", KindApproval, "", `{"approved":false}`, "", "cancel", ""},
		{"C122 denied true", KindApproval, "", `{"denied":true}`, "", "cancel", ""},
		{"C122 rejected true", KindApproval, "", `{"rejected":true}`, "", "cancel", ""},
		{"C122 status cancelled", KindApproval, "", `{"status":"cancelled"}`, "", "cancel", ""},
		{"C122 one no outweighs a yes", KindApproval, "", `{"approved":true,"status":"cancelled"}`, "", "cancel", ""},
		{"C122 approved true resumes", KindApproval, "", `{"approved":true}`, "", "resume", ""},
		{"denied false alone is no yes", KindApproval, "", `{"denied":false}`, "", CodeUnclearDecision, ""},
		{"an approval that cannot be read is unclear", KindApproval, "resume", `{"approved":0}`, "", CodeUnclearDecision, ""},
		{"a number is unclear", KindApproval, "", `1`, "", CodeUnclearDecision, ""},
		{"null without an action is unclear", KindApproval, "", `null`, "", CodeUnclearDecision, ""},
		{"nothing at all is unclear", KindApproval, "", "", "", CodeUnclearDecision, ""},
		{"C117 approved false beside resume never executes", KindApproval, "resume", `{"approved":false}`, "", "cancel", ""},
		{"C117 in capitals", KindApproval, "resume", `{"Approved":false}`, "", "cancel", ""},
		{"C117 as a word", KindApproval, "resume", `{"approved":"no"}`, "", "cancel", ""},
		{"C117 as text", KindApproval, "resume", `"{\"approved\": false}"`, "", "cancel", ""},
		{"C117 false beside resume", KindApproval, "resume", `false`, "", "cancel", ""},
		{"C117 without an action", KindApproval, "", `{"approved":false,"reason":"too much"}`, "", "cancel", "too much"},
		{"C123 the text is the reason", KindApproval, "cancel", `"not allowed"`, "", "cancel", "not allowed"},
		{"C123 the member is the reason", KindApproval, "cancel", `{"reason":"policy violation"}`, "", "cancel", "policy violation"},
		{"C123 null is no reason", KindApproval, "cancel", `null`, "", "cancel", ""},
		{"C125 another action", KindApproval, "invalid_action", `true`, "", CodeBadAction, ""},
		{"C74 an object beside resume", KindApproval, "resume", `{"overridden":"args"}`, "", CodeWrongKind, ""},
		{"an approval takes no word for no", KindApproval, "resume", `"denied"`, "", CodeContradiction, ""},
		{"an approval takes no short word for no", KindApproval, "resume", `"no"`, "", CodeContradiction, ""},
		{"an approval takes no false as text", KindApproval, "resume", `"false"`, "", CodeContradiction, ""},
		{"an approval takes no number", KindApproval, "resume", `42`, "", CodeWrongKind, ""},
		{"an approval takes no list", KindApproval, "resume", `[1]`, "", CodeWrongKind, ""},
		{"an approval takes no other text", KindApproval, "resume", `"done"`, "", CodeWrongKind, ""},
		{"an approval takes no object", KindApproval, "resume", `{"refunded":true}`, "", CodeWrongKind, ""},
		{"an approval takes no status of its own", KindApproval, "resume", `{"status":"refunded"}`, "", CodeWrongKind, ""},
		{"an approval takes no result beside a yes", KindApproval, "", `{"approved":true,"refunded":true}`, "", CodeWrongKind, ""},
		{"a yes said twice", KindApproval, "resume", `{"approved":true,"reason":"fine"}`, "", "resume", ""},
		{"C75 the decision is the result", KindInput, "", `{"color":"red"}`, "", "resume", ""},
		{"C99 resume with null", KindApproval, "resume", `null`, "", "resume", ""},
		{"C99 resume with an empty object", KindApproval, "resume", `{}`, "", "resume", ""},
		{"C99 resume with nothing", KindApproval, "resume", "", "", "resume", ""},
		{"HB7 an error for a client call is a result", KindClient, "", "", "no camera", "resume", ""},
		{"HB12 an error for an approval counts as cancel", KindApproval, "", "", "no", "cancel", "no"},
		{"HB12 even beside resume", KindApproval, "resume", "", "broken", "cancel", "broken"},
		{"HB13 an approval for a client call", KindClient, "", `{"approved":true}`, "", CodeWrongKind, ""},
		{"HB13 with a reason", KindClient, "", `{"approved":true,"reason":"fine"}`, "", CodeWrongKind, ""},
		{"HB13 a bare resume for a client call", KindClient, "resume", "", "", CodeWrongKind, ""},
		{"HB13 a bare resume for an input call", KindInput, "resume", "", "", CodeWrongKind, ""},
		{"an approval-shaped result with an action is a result", KindClient, "resume", `{"approved":true}`, "", "resume", ""},
		{"more than an approval is a result", KindClient, "", `{"approved":true,"by":"x"}`, "", "resume", ""},
		{"nothing for a client call", KindClient, "", "", "", CodeUnclearDecision, ""},
		{"a client call is declined", KindClient, "cancel", "", "", "cancel", ""},
		{"unknown outcome: it happened", KindUnknownOutcome, "", `{"id":7}`, "", "resume", ""},
		{"unknown outcome: it failed", KindUnknownOutcome, "", "", "timeout", "resume", ""},
		{"unknown outcome: run it", KindUnknownOutcome, "resume", "", "", "resume", ""},
		{"unknown outcome: leave it", KindUnknownOutcome, "cancel", "", "", "cancel", ""},
		{"unknown outcome: nothing said", KindUnknownOutcome, "", "", "", CodeUnclearDecision, ""},
		{"unknown outcome: null is not a word to run it", KindUnknownOutcome, "resume", `null`, "", CodeUnclearDecision, ""},
		{"unknown outcome: an approval does not say", KindUnknownOutcome, "", `{"approved":true}`, "", CodeWrongKind, ""},
		{"a result and an error", KindClient, "", `1`, "x", CodeContradiction, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := DecisionInput{ID: "d1", Suspension: "sus_1_a", Action: tt.action, Result: rawJSON(tt.result), Error: tt.error, At: 7}
			r, err := ReadDecision(Question{Kind: tt.kind}, in)
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
func actionOrCode(r Resume, err error) string {
	var refused *DecisionError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return r.Action.String()
}

func TestAnApprovalsModeSaysWhatItsResultIs(t *testing.T) {
	tests := []struct {
		name   string
		mode   ResumeMode
		action string
		result string
		error  string
		want   string // an action, or a code
	}{
		{"the decision is the result: a status is data", UseDecisionAsToolResult, "resume", `{"status":"cancelled"}`, "", "resume"},
		{"the decision is the result: without an action, too", UseDecisionAsToolResult, "", `{"status":"cancelled"}`, "", "resume"},
		{"the decision is the result: approved false is data", UseDecisionAsToolResult, "", `{"approved":false}`, "", "resume"},
		{"the decision is the result: a word for no is data", UseDecisionAsToolResult, "resume", `"no"`, "", "resume"},
		{"the decision is the result: false is data", UseDecisionAsToolResult, "", `false`, "", "resume"},
		{"the decision is the result: a bare yes has none", UseDecisionAsToolResult, "resume", ``, "", CodeResultRequired},
		{"the decision is the result: null is none", UseDecisionAsToolResult, "resume", `null`, "", CodeResultRequired},
		{"the decision is the result: nothing said", UseDecisionAsToolResult, "", ``, "", CodeUnclearDecision},
		{"the decision is the result: cancel refuses", UseDecisionAsToolResult, "cancel", `{"amount":5}`, "", "cancel"},
		{"the decision is the result: an error refuses", UseDecisionAsToolResult, "", ``, "too much", "cancel"},
		{"C92 the tool is handed what a yes says beside", PassDecisionToTool, "", `{"approved":true,"step":2}`, "", "resume"},
		{"the tool is handed any data", PassDecisionToTool, "resume", `{"color":"red"}`, "", "resume"},
		{"the tool is handed a text", PassDecisionToTool, "resume", `"not yet"`, "", "resume"},
		{"the tool is handed no word for no", PassDecisionToTool, "resume", `" Denied"`, "", CodeContradiction},
		{"C117 the tool is handed no flag that says no", PassDecisionToTool, "resume", `{"approved":false,"step":2}`, "", "cancel"},
		{"the tool is handed nothing without a yes", PassDecisionToTool, "", `{"color":"red"}`, "", CodeUnclearDecision},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ReadDecision(Question{Kind: KindApproval, Mode: tt.mode}, DecisionInput{Action: tt.action, Result: rawJSON(tt.result), Error: tt.error})
			if got := actionOrCode(r, err); got != tt.want {
				t.Fatalf("got %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

func TestEveryWordOfAnApproval(t *testing.T) {
	want := map[ResumeAction][]string{
		ActionCancel: {"false", "no", "denied", "deny", "reject", "rejected", "cancel", "canceled", "cancelled", "abort", "aborted"},
		ActionResume: {"true", "yes", "y", "ok", "approve", "approved", "allow", "allowed", "accept", "accepted", "confirm", "confirmed", "resume"},
	}
	for action, words := range want {
		for _, w := range words {
			t.Run("C119 C120 "+w, func(t *testing.T) {
				r, err := ReadDecision(Question{Kind: KindApproval}, DecisionInput{Result: Encode(w)})
				if err != nil || r.Action != action {
					t.Fatalf("got %v, %v; want %v", r.Action, err, action)
				}
			})
		}
	}
}

func TestAnExplicitReasonStands(t *testing.T) {
	r, err := ReadDecision(Question{Kind: KindApproval}, DecisionInput{Action: "cancel", Result: rawJSON(`"not allowed"`), Reason: "budget"})
	if err != nil || r.Reason != "budget" {
		t.Fatalf("got %q, %v", r.Reason, err)
	}
}

func TestWhatADecisionCarriesBesideItsAnswer(t *testing.T) {
	tests := []struct {
		name string
		kind Kind
		in   DecisionInput
		want string // an action, or a code
	}{
		{"HB28 edited arguments beside resume", KindApproval, DecisionInput{Action: "resume", Arguments: rawJSON(`{"amount":5}`)}, "resume"},
		{"HB28 beside a yes", KindApproval, DecisionInput{Result: rawJSON(`true`), Arguments: rawJSON(`{}`)}, "resume"},
		{"HB28 beside a result that says no", KindApproval, DecisionInput{Action: "resume", Result: rawJSON(`{"approved":false}`), Arguments: rawJSON(`{}`)}, CodeContradiction},
		{"HB28 beside cancel", KindApproval, DecisionInput{Action: "cancel", Arguments: rawJSON(`{}`)}, CodeContradiction},
		{"HB28 beside an error", KindApproval, DecisionInput{Error: "no", Arguments: rawJSON(`{}`)}, CodeContradiction},
		{"HB28 alone they say neither yes nor no", KindApproval, DecisionInput{Arguments: rawJSON(`{}`)}, CodeUnclearDecision},
		{"HB28 a list", KindApproval, DecisionInput{Action: "resume", Arguments: rawJSON(`[1]`)}, CodeInvalidArguments},
		{"HB28 a text", KindApproval, DecisionInput{Action: "resume", Arguments: rawJSON(`"{}"`)}, CodeInvalidArguments},
		{"HB28 null is none", KindClient, DecisionInput{Result: rawJSON(`1`), Arguments: rawJSON(` null`)}, "resume"},
		{"HB28 for a client call", KindClient, DecisionInput{Result: rawJSON(`1`), Arguments: rawJSON(`{}`)}, CodeWrongKind},
		{"HB28 for a call whose outcome is unknown", KindUnknownOutcome, DecisionInput{Action: "resume", Arguments: rawJSON(`{}`)}, CodeWrongKind},
		{"a grant beside resume", KindApproval, DecisionInput{Action: "resume", Grant: "run"}, "resume"},
		{"a grant beside cancel", KindApproval, DecisionInput{Action: "cancel", Grant: "run"}, CodeContradiction},
		{"a grant of everything", KindApproval, DecisionInput{Action: "resume", Grant: "always"}, CodeBadGrant},
		{"a grant for an input call", KindInput, DecisionInput{Result: rawJSON(`1`), Grant: "run"}, CodeWrongKind},
		{"an interrupted run: resume", KindInterrupt, DecisionInput{Action: "resume"}, "resume"},
		{"an interrupted run: nothing said", KindInterrupt, DecisionInput{}, "resume"},
		{"an interrupted run: a reason alone", KindInterrupt, DecisionInput{Reason: "looked at it"}, "resume"},
		{"an interrupted run: cancel", KindInterrupt, DecisionInput{Action: "cancel"}, CodeWrongKind},
		{"an interrupted run: a result", KindInterrupt, DecisionInput{Result: rawJSON(`false`)}, CodeWrongKind},
		{"an interrupted run: an error", KindInterrupt, DecisionInput{Error: "no"}, CodeWrongKind},
		{"an interrupted run: edited arguments", KindInterrupt, DecisionInput{Arguments: rawJSON(`{}`)}, CodeWrongKind},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ReadDecision(Question{Kind: tt.kind}, tt.in)
			if got := actionOrCode(r, err); got != tt.want {
				t.Fatalf("got %s (%v), want %s", got, err, tt.want)
			}
			if err == nil && (IsNull(tt.in.Arguments) != (r.Arguments == nil) || string(r.Grant) != tt.in.Grant) {
				t.Fatalf("decision %+v", r)
			}
		})
	}
}

func TestEditedArgumentsAreKeptInTheirCanonicalForm(t *testing.T) {
	r, err := ReadDecision(Question{Kind: KindApproval}, DecisionInput{Action: "resume", Arguments: rawJSON(`{"b": 1.50, "a": "\u003cx>"}`)})
	if err != nil || string(r.Arguments) != `{"a":"<x>","b":1.50}` {
		t.Fatalf("got %s, %v", r.Arguments, err)
	}
}

func TestEditedArgumentsThatAreAmbiguousAreRefused(t *testing.T) {
	for _, written := range []string{`{"amountCents":1,"amountcents":5}`, `{"a":1,"a":2}`, `{"to":"Ann\ud800"}`,
		strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)} {
		_, err := ReadDecision(Question{Kind: KindApproval}, DecisionInput{Action: "resume", Arguments: rawJSON(written)})
		if refused, ok := errors.AsType[*DecisionError](err); !ok || refused.Code != CodeInvalidArguments {
			t.Errorf("%.80s: %v", written, err)
		}
	}
}

// Stored decisions are compared with repeats by their digest, so that it must not move with the
// program.
func TestTheDigestOfAPlainDecisionStays(t *testing.T) {
	in := DecisionInput{Suspension: "sus_1_a", Action: "resume", Result: rawJSON(`{"a":1}`), Reason: "x"}
	if got, want := in.Digest(), "5380f95f8ef79f6f5a74065b043c5b7ca3e473fffd6d08eac2f0ddb7c236b33b"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestADecisionWithoutIDNamesItself(t *testing.T) {
	base := DecisionInput{Suspension: "sus_1_a", Action: "resume", Result: rawJSON(`{"a":1,"b":2}`)}
	same := DecisionInput{Suspension: "sus_1_a", Action: "resume", Result: rawJSON(`{ "b": 2, "a": 1 }`), At: 99}
	id := func(in DecisionInput) string {
		r, err := ReadDecision(Question{Kind: KindApproval, Mode: PassDecisionToTool}, in)
		if err != nil {
			t.Fatal(err)
		}
		return r.DecisionID
	}
	if id(base) != id(same) {
		t.Error("C124 the same decision got two ids")
	}
	for name, change := range map[string]func(*DecisionInput){
		"suspension": func(in *DecisionInput) { in.Suspension = "sus_2_b" },
		"result":     func(in *DecisionInput) { in.Result = rawJSON(`{"a":1}`) },
		"no result":  func(in *DecisionInput) { in.Result = nil },
		"null":       func(in *DecisionInput) { in.Result = rawJSON(`null`) },
		"reason":     func(in *DecisionInput) { in.Reason = "x" },
		"action":     func(in *DecisionInput) { in.Action = "cancel" },
		"arguments":  func(in *DecisionInput) { in.Arguments = rawJSON(`{}`) },
		"grant":      func(in *DecisionInput) { in.Grant = "run" },
	} {
		other := base
		change(&other)
		if id(other) == id(base) {
			t.Errorf("C124 another %s got the same id", name)
		}
	}
	edited, alike := base, base
	edited.Arguments, alike.Arguments = rawJSON(`{"a":1,"b":2}`), rawJSON(`{ "b":2, "a":1 }`)
	if edited.Digest() != alike.Digest() {
		t.Error("HB28 the same edited arguments are two decisions")
	}
	null, none := base, base
	null.Result, none.Result = rawJSON(`null`), nil
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
		in := DecisionInput{Suspension: "sus_1_a", Action: action, Result: rawJSON(result), Error: failure}
		for _, mode := range []ResumeMode{ReplayToolCall, PassDecisionToTool} {
			r, err := ReadDecision(Question{Kind: KindApproval, Mode: mode}, in)
			again, errAgain := ReadDecision(Question{Kind: KindApproval, Mode: mode}, in)
			if r.DecisionID != again.DecisionID || r.Action != again.Action || (err == nil) != (errAgain == nil) {
				t.Fatalf("read twice: %+v, %v and %+v, %v", r, err, again, errAgain)
			}
			runs := err == nil && r.Action == ActionResume
			var members map[string]any
			if json.Unmarshal([]byte(result), &members) == nil && members["approved"] == false && runs {
				t.Fatalf("a no was read as %s", r.Action)
			}
			var word string
			if json.Unmarshal([]byte(result), &word) == nil && sayWord(word) == saysNo && runs {
				t.Fatalf("%s was read as %s", result, r.Action)
			}
			if mode == ReplayToolCall && runs && len(members) == 0 && len(result) > 0 && result[0] >= '0' && result[0] <= '9' {
				t.Fatalf("an approval took the result %s", result)
			}
		}
	})
}

func TestADeclaredSchemaDecidesWhatAClientsResultIs(t *testing.T) {
	looksLikeAVerdict := DecisionInput{Suspension: "s", Result: []byte(`{"approved":true}`)}
	for schema, taken := range map[string]bool{"": false, "null": false, "{}": false, " true ": false, `{"type":"object"}`: true,
		`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`: true} {
		call := SuspendedCall{Kind: KindClient, SuspendTicket: SuspendTicket{ResumeMode: UseDecisionAsToolResult, Suspension: Suspension{ResponseSchema: []byte(schema)}}}
		r, err := ReadDecision(call.Question(), looksLikeAVerdict)
		if (err == nil) != taken || taken && (r.Action != ActionResume || string(r.Result) != `{"approved":true}`) {
			t.Errorf("with the schema %q: %+v, %v", schema, r, err)
		}
	}
}
