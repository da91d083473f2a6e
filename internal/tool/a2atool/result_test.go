package a2atool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// looks answers a look at a task with the JSON of its members.
func (w *world) looks(members string) (peer.Report, error) {
	w.t.Helper()
	w.between(answering("GetTask", 200, `{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","contextId":"ctx_1",`+members+`}}`))
	return w.peer().Look(w.t.Context(), about(w.known()))
}

func TestTheResultOfATask(t *testing.T) {
	const done = `"status":{"state":"TASK_STATE_COMPLETED"}`
	artifacts := func(parts ...string) string {
		return `"artifacts":[{"artifactId":"1","parts":[` + strings.Join(parts, `]},{"artifactId":"2","parts":[`) + `]}],` + done
	}
	said := `"status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"said"}]}}`
	history := `"history":[{"messageId":"1","role":"ROLE_USER","parts":[{"text":"q"}]},{"messageId":"2","role":"ROLE_AGENT","parts":[{"text":"first"}]},
		{"messageId":"3","role":"ROLE_AGENT","parts":[{"text":"last"}]},null,{"messageId":"4","role":"ROLE_USER","parts":[{"text":"thanks"}]},{"messageId":"5","role":"ROLE_AGENT","parts":[]}],`
	for name, tt := range map[string]struct{ members, text, value string }{
		"texts in order":             {artifacts(`{"text":"a"},{"text":""},{"text":"b\nc"}`, `{"text":"d"}`), "a\n\nb\nc\n\nd", ""},
		"artifacts before the rest":  {artifacts(`{"text":"a"}`) + "," + strings.TrimSuffix(history, ","), "a", ""},
		"one value":                  {artifacts(`{"data":{"total":12345678901234567890.10,"a":"<b>"}}`), `{"a":"<b>","total":12345678901234567890.10}`, `{"a":"<b>","total":12345678901234567890.10}`},
		"one value and no text":      {artifacts(`{"text":""}`, `{"data":[1,2]}`), "[1,2]", "[1,2]"},
		"a word":                     {artifacts(`{"data":"yes"}`), `"yes"`, `"yes"`},
		"a value and a text":         {artifacts(`{"text":"Here:"},{"data":{"a":1}}`), "Here:\n\n{\"a\":1}", ""},
		"two values":                 {artifacts(`{"data":{"a":1}},{"data":2}`), "{\"a\":1}\n\n2", ""},
		"a value and a file":         {artifacts(`{"data":{"a":1}},{"url":"https://x.example/r.pdf"}`), "{\"a\":1}\n\n[a file of the agent, which was not fetched: without a name at https://x.example/r.pdf]", ""},
		"a file elsewhere":           {artifacts(`{"url":"https://x.example/r.pdf","filename":"r.pdf","mediaType":"application/pdf"}`), "[a file of the agent, which was not fetched: r.pdf (application/pdf) at https://x.example/r.pdf]", ""},
		"a file of bytes":            {artifacts(`{"raw":"SGVsbG8=","filename":"a\nb","mediaType":"image/png"}`), "[a file of the agent, which is not included: a b (image/png)]", ""},
		"the message of the status":  {said, "said", ""},
		"the history":                {history + done, "last", ""},
		"the message, not history":   {history + said, "said", ""},
		"artifacts without parts":    {`"artifacts":[{"artifactId":"1","parts":[]},null],` + said, "said", ""},
		"nothing":                    {done, "", ""},
		"a null part":                {artifacts(`null,{"text":"a"}`), "a", ""},
		"the last of equal members":  {artifacts(`{"data":{"a":1,"a":2}}`), `{"a":2}`, `{"a":2}`},
		"half of a surrogate":        {artifacts(`{"text":"a\ud800b"}`), "a\uFFFDb", ""},
		"a half in a value":          {artifacts(`{"data":"a\ud800b"}`), "\"a\uFFFDb\"", "\"a\uFFFDb\""},
		"values that look like text": {artifacts(`{"text":"{\"a\":1}"}`), `{"a":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, false)
			r, err := w.looks(tt.members)
			if err != nil || r.State != peer.Done || r.Text != tt.text || string(r.Value) != tt.value {
				t.Errorf("report %+v, value %s, %v", r, r.Value, err)
			}
			if r.Task != w.known().Task {
				t.Errorf("task %+v", r.Task)
			}
		})
	}
}

// TestTheHistoryIsFetchedOnlyIfItIsNeeded: its first message is as long as the input.
func TestTheHistoryIsFetchedOnlyIfItIsNeeded(t *testing.T) {
	w := newWorld(t, completes(a2a.NewTextPart("ok")), false)
	sent := w.send(asks())
	w.look(sent)
	if got := w.requests("GetTask"); len(got) != 1 || !strings.Contains(got[0].body, `"historyLength":0`) {
		t.Errorf("asked %+v", got)
	}
	w = newWorld(t, completes(), false)
	if sent = w.send(asks()); sent.State != peer.Working || sent.Task.ID == "" {
		t.Fatalf("report %+v; the look fetches the result", sent)
	}
	if r := w.look(sent); r.State != peer.Done || r.Text != "" {
		t.Errorf("report %+v", r)
	}
	if got := w.requests("GetTask"); len(got) != 2 || !strings.Contains(got[1].body, `"historyLength":4`) {
		t.Errorf("asked %+v", got)
	}
}

// TestAnAnswerOfAnotherShapeIsABadAnswer: the agent may work on the task, unless it says otherwise.
func TestAnAnswerOfAnotherShapeIsABadAnswer(t *testing.T) {
	for _, body := range []string{`7`, `null`, `[]`, `{}`, `"x"`, `<html>`, `{"jsonrpc":"2.0","id":ID}`, `{"jsonrpc":"2.0","id":ID,"result":null}`, `{"jsonrpc":"2.0","id":ID,"result":[]}`,
		`{"jsonrpc":"2.0","id":ID,"result":"x"}`, `{"jsonrpc":"2.0","id":ID,"result":{}}`, `{"jsonrpc":"2.0","id":ID,"error":7}`, `{"jsonrpc":"2.0","id":ID,"error":{"code":"x"}}`,
		`{"jsonrpc":"2.0","id":7,"result":TASK}`, `{"jsonrpc":"2.0","id":ID,"result":TASK} {}`, `{"jsonrpc":"2.0","id":ID,"result":{"statusUpdate":TASK}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"task":{"id":""}}}`, `{"jsonrpc":"2.0","id":ID,"result":{"id":"task-2","task":{"id":7}}}`, `{"jsonrpc":"2.0","id":ID,"result":{"message":{},"task":{}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","status":"x","task":{"id":"1","status":7}}}`, `{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","history":[7],"message":{"parts":[{}]}}}`,
		strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), `data: {"jsonrpc":"2.0"}`,
	} {
		body = strings.ReplaceAll(body, "TASK", `{"id":"task-2","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`)
		for _, method := range []string{"SendMessage", "GetTask"} {
			w := newWorld(t, nil, false)
			w.between(answering(method, 200, body))
			r, err := w.peer().Send(t.Context(), asks())
			if method == "GetTask" {
				r, err = w.peer().Look(t.Context(), about(w.known()))
			}
			if err != nil || r.State != peer.Failed || r.Code != peer.CodeBadAnswer || !r.Open {
				t.Errorf("%s %.100s: %+v, %v", method, body, r, err)
			}
		}
	}
}

func TestAnEndThatCannotBeReadIsAnEnd(t *testing.T) {
	const rest = `,"artifacts":[{"artifactId":"1","parts":[{"hologram":1}]}]`
	for state, open := range map[string]bool{"COMPLETED": false, "FAILED": false, "REJECTED": false, "CANCELED": false, "WORKING": true, "INPUT_REQUIRED": true, "OTHER": true} {
		w := newWorld(t, nil, false)
		if r, err := w.looks(`"status":{"state":"TASK_STATE_` + state + `"}` + rest); err != nil || r.Code != peer.CodeBadAnswer || r.Open != open {
			t.Errorf("look %s: %+v, %v", state, r, err)
		}
		w.between(answering("SendMessage", 200, `{"jsonrpc":"2.0","id":ID,"result":{"task":{"id":"1","status":{"state":"TASK_STATE_`+state+`"}`+rest+`}}}`))
		if r := w.send(asks()); r.Code != peer.CodeBadAnswer || r.Open != open {
			t.Errorf("send %s: %+v", state, r)
		}
	}
}

func TestNamesOfTheAgentAreLimited(t *testing.T) {
	long := strings.Repeat("x", mostID+1)
	for name, body := range map[string]string{"a long id": one(long, "c"), "a long context": one("task-1", long), "a secret id": one(token, "c"), "a secret context": one("task-1", "a "+token)} {
		w := newWorld(t, nil, false)
		w.between(answering("SendMessage", 200, `{"jsonrpc":"2.0","id":ID,"result":{"task":`+body+`}}`))
		r := w.send(asks())
		if r.State != peer.Failed || r.Code != peer.CodeBadAnswer || !r.Open || r.Task.ID != "" || r.Task.Context != "" || strings.Contains(fmt.Sprint(r), token) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	w := newWorld(t, nil, false)
	w.between(answering("SendMessage", 200, `{"jsonrpc":"2.0","id":ID,"result":{"message":{"messageId":"1","role":"ROLE_AGENT","contextId":"`+token+`","parts":[]}}}`))
	if r := w.send(asks()); r.Code != peer.CodeBadAnswer {
		t.Errorf("report %+v", r)
	}
}

// TestAQuotedSentenceEndsOnce: what the agent says has its own full stop, or none.
func TestAQuotedSentenceEndsOnce(t *testing.T) {
	for said, want := range map[string]string{"I only do plumbing.": ": I only do plumbing.", "Which colour? ": ": Which colour?", "No luck": ": No luck.", "無理。": ": 無理。", "": "the task failed."} {
		w := newWorld(t, nil, false)
		r, err := w.looks(`"status":{"state":"TASK_STATE_FAILED","message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"` + said + `"}]}}`)
		if err != nil || !strings.HasSuffix(r.Detail, want) {
			t.Errorf("%q: %q, %v", said, r.Detail, err)
		}
	}
}

// TestAReportIsLimited: texts may grow when secrets in them get their names.
func TestAReportIsLimited(t *testing.T) {
	secrets := strings.Repeat(token+" ", 500)
	for name, text := range map[string]string{"secrets": secrets, "control characters": strings.Repeat(`\u0000`, 2000), "long": strings.Repeat("x", 15_000), "wide": strings.Repeat("\U0001F600", 4000)} {
		w := newWorld(t, nil, false)
		w.def.MaxBytes = 20_000
		r, err := w.looks(`"status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"` + text + `"}]}}`)
		if err != nil || r.State != peer.Done || len(r.Text) > 20_000 || strings.Contains(r.Text, token) {
			t.Errorf("%s: %d bytes, %v", name, len(r.Text), err)
		}
		for _, state := range []string{"WORKING", "FAILED", "INPUT_REQUIRED"} {
			r, err := w.looks(`"status":{"state":"TASK_STATE_` + state + `","message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"` + text + `"}]}}`)
			if err != nil || len(r.Detail) > mostDetail || !strings.HasSuffix(r.Detail, "...") || strings.Contains(r.Detail, token[:8]) {
				t.Errorf("%s %s: %q, %v", name, state, r.Detail, err)
			}
		}
	}
	w := newWorld(t, nil, false)
	file := `{"url":"https://x.example/"},`
	r, err := w.looks(`"artifacts":[{"parts":[` + strings.Repeat(file, 499) + strings.TrimSuffix(file, ",") + `]}],"status":{"state":"TASK_STATE_COMPLETED"}`)
	if err != nil || !strings.HasSuffix(r.Text, "\n\n[and 480 more files]") || strings.Count(r.Text, "https://") != mostFiles {
		t.Errorf("text %s, %v", r.Text, err)
	}
}

// TestAValueWithASecretStaysAValueOnlyIfItIsJSON: the name of a secret is longer than a short one.
func TestAValueWithASecretStaysAValueOnlyIfItIsJSON(t *testing.T) {
	for data, want := range map[string]string{
		`{"key":"` + token + `"}`: `{"key":"[secret TOKEN]"}`,
		`{"pin":9}`:               ``,
		`["` + strings.Repeat(`9","`, 4000) + `"]`:      ``,
		`["` + strings.Repeat(`\u0039","`, 1000) + `"]`: `["` + strings.Repeat(`[secret PIN]","`, 1000) + `"]`,
	} {
		w := newWorld(t, nil, false)
		w.def.MaxBytes = 20_000
		w.def.Headers["X-Pin"] = "{secret:PIN}"
		r, err := w.looks(`"artifacts":[{"parts":[{"data":` + data + `}]}],"status":{"state":"TASK_STATE_COMPLETED"}`)
		if err != nil || r.State != peer.Done || string(r.Value) != want || len(r.Text) > 20_000 || r.Text == "" || strings.Contains(r.Text, `"9"`) {
			t.Errorf("%.50s: %.200s and %.200s, %v", data, r.Text, r.Value, err)
		}
	}
}
