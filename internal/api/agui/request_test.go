package agui_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// waiting is the run of a journal as it was when it first waited.
func waiting(t *testing.T, name string) *project.Run {
	t.Helper()
	run := &project.Run{}
	for _, e := range projecttest.Journals(t)[name].Stored() {
		if err := run.Push(e); err != nil {
			t.Fatal(err)
		}
		if run.Ended != nil {
			break
		}
	}
	return run
}

// TestReadReply: SUS and CALL in the requests are those of the first call that waits.
func TestReadReply(t *testing.T) {
	for name, tt := range map[string]struct{ journal, input, want string }{
		"yes":                       {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":{"approved":true,"reason":"ok"}}]`, `{"target":"SUS","result":{"approved":true,"reason":"ok"},"reason":"ok"}`},
		"a bare yes":                {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":true}]`, `{"target":"SUS","result":true}`},
		"edited":                    {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":{"approved":true,"editedArgs":{"amount":1}}}]`, `{"target":"SUS","result":{"approved":true},"arguments":{"amount":1}}`},
		"edited by null":            {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":{"approved":true,"editedArgs":null}}]`, `{"target":"SUS","result":{"approved":true}}`},
		"denied, the form edited":   {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":{"approved":false,"editedArgs":{"amount":1}}}]`, `{"target":"SUS","result":{"approved":false}}`},
		"cancelled":                 {"approved", `"resume":[{"interruptId":"SUS","status":"cancelled","payload":{"approved":true}}]`, `{"target":"SUS","action":"cancel"}`},
		"answered twice: the first": {"approved", `"resume":[{"interruptId":"SUS","status":"cancelled"},{"interruptId":"SUS","status":"resolved","payload":true}]`, `{"target":"SUS","action":"cancel"}`},
		"ambiguous":                 {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":{"approved":false,"approved":true,"editedArgs":{}}}]`, `{"target":"SUS","result":{"approved":false,"approved":true,"editedArgs":{}}}`},
		"an unknown question":       {"approved", `"resume":[{"interruptId":"sus_x","status":"resolved","payload":true}]`, ``},
		"a client's call":           {"client-tool", `"resume":[{"interruptId":"SUS","status":"resolved","payload":true}]`, ``},
		"a question":                {"question-by-decision", `"resume":[{"interruptId":"SUS","status":"resolved","payload":"blue"}]`, `{"target":"SUS","result":"blue"}`},
		"a result":                  {"client-tool", `"messages":[{"id":"t","role":"tool","toolCallId":"CALL","content":"{\"picked\":\"red\"}"}]`, `{"decision_id":"ag-ui:t","target":"SUS","action":"resume","result":{"picked":"red"}}`},
		"a result that is text":     {"client-tool", `"messages":[{"id":"t","role":"tool","toolCallId":"CALL","content":"red"}]`, `{"decision_id":"ag-ui:t","target":"SUS","action":"resume","result":"red"}`},
		"an error":                  {"client-tool", `"messages":[{"id":"t","role":"tool","toolCallId":"CALL","content":"","error":"closed"}]`, `{"decision_id":"ag-ui:t","target":"SUS","error":"closed"}`},
		"a result in the past":      {"client-tool", `"messages":[{"id":"t","role":"tool","toolCallId":"CALL","content":"red"},{"id":"a","role":"assistant","content":"so"}]`, ``},
		"cancelled, in letters":     {"approved", `"resume":[{"interruptId":"SUS","status":"cancelled","Status":"resolved","payload":true}]`, `{"target":"SUS","action":"cancel"}`},
		"no, in letters":            {"approved", `"resume":[{"interruptId":"SUS","status":"resolved","payload":false,"Payload":true}]`, `{"target":"SUS","result":false}`},
		"a result of the server's":  {"approved", `"messages":[{"id":"t","role":"tool","toolCallId":"CALL","content":"{\"approved\":true}"}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			run := waiting(t, tt.journal)
			q := run.Waiting()[0]
			input := replaced("{"+tt.input+"}", "SUS", q.Suspension.ID, "CALL", q.CallID)
			var in agui.Input
			if err := json.Unmarshal([]byte(input), &in); err != nil {
				t.Fatal(err)
			}
			reply := agui.ReadReply(in, run)
			got := ""
			for _, d := range reply.Decisions {
				got += string(core.Encode(d))
			}
			if want := replaced(tt.want, "SUS", q.Suspension.ID); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if reply.Known != (tt.want != "") || len(reply.Hold) != len(reply.Decisions) {
				t.Errorf("got %+v", reply)
			}
		})
	}
}

// TestAPausedRunGoesOnByAYes: a payload that says anything else is handed on, to be refused.
func TestAPausedRunGoesOnByAYes(t *testing.T) {
	run := &project.Run{}
	pending := wire.Pending{CallID: "c", Kind: core.KindInterrupt.String(), Suspension: wire.Suspension{ID: "s"}}
	if err := run.Push(wire.Event{Seq: 1, RunID: "r", ThreadID: "t", Type: string(core.EventCallSuspended), Data: core.Encode(pending)}); err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{
		`null`:                            `{"target":"s","action":"resume"}`,
		`{}`:                              `{"target":"s","action":"resume"}`,
		`{"approved":true}`:               `{"target":"s","action":"resume"}`,
		`{"approved":false}`:              `{"target":"s","result":{"approved":false}}`,
		`{"approved":true,"denied":true}`: `{"target":"s","result":{"approved":true,"denied":true}}`,
		`"no"`:                            `{"target":"s","result":"no"}`,
		`"later"`:                         `{"target":"s","result":"later"}`,
	} {
		reply := agui.ReadReply(agui.Input{Resume: []agui.Resume{{InterruptID: "s", Status: "resolved", Payload: json.RawMessage(payload)}}}, run)
		if got := string(core.Encode(reply.Decisions[0])); len(reply.Decisions) != 1 || got != want {
			t.Errorf("%s: got %s, want %s", payload, got, want)
		}
	}
}

// TestClear: what the protocol doesn't define is no answer.
func TestClear(t *testing.T) {
	for status, want := range map[string]bool{"resolved": true, "cancelled": true, "": false, "canceled": false, "rejected": false, "Resolved": false} {
		if got := (agui.Resume{Status: status}).Clear(); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}

// TestVersioned: a client that says no version is one from before 1.0.
func TestVersioned(t *testing.T) {
	for version, want := range map[string]bool{"1.0": true, "1.7": true, "2.0": true, "10.1": true, "0.9": false, "": false, "1": false, "x.1": false, "-1.0": false, ".5": false} {
		if got := (agui.Input{ProtocolVersion: version}).Versioned(); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

// TestInput reads what a user sends: what isn't in the message is left out.
func TestInput(t *testing.T) {
	for content, want := range map[string]string{
		`"hello"`:                      `"hello"`,
		`""`:                           ``,
		`null`:                         ``,
		`7`:                            ``,
		`[]`:                           ``,
		`[{"type":"text","text":"a"}]`: `[{"type":"text","text":"a"}]`,
		`[{"type":"text","text":""}]`:  ``,
		`[{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]`:                                              `[{"type":"image","media_type":"image/png","data":"aGk="}]`,
		`[{"type":"image","source":{"type":"url","value":"http://169.254.169.254/"}},{"type":"text","text":"a"}]`:                        `[{"type":"text","text":"a"}]`,
		`[{"type":"document","source":{"type":"data","value":"!","mimeType":"application/pdf"}}]`:                                        ``,
		`[{"type":"binary","mimeType":"application/pdf","data":"aGk=","filename":"a.pdf"},{"type":"binary","url":"file:///etc/passwd"}]`: `[{"type":"document","media_type":"application/pdf","name":"a.pdf","data":"aGk="}]`,
	} {
		if got := string((agui.InputMessage{Content: json.RawMessage(content)}).Input()); got != want {
			t.Errorf("%s is %s", content, got)
		}
	}
}

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
