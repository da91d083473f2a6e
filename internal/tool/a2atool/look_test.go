package a2atool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// known is a report about a task that the agent has acknowledged.
func (w *world) known() peer.Report {
	return peer.Report{Task: peer.Task{ID: "task-1", Context: "ctx_1", Endpoint: w.http.URL + "/a2a", Pushes: true}}
}

func TestEachStateIsReported(t *testing.T) {
	for state, want := range map[a2a.TaskState]peer.Report{
		a2a.TaskStateSubmitted:     {State: peer.Working, Detail: "in Kew"},
		a2a.TaskStateWorking:       {State: peer.Working, Detail: "in Kew"},
		a2a.TaskStateCompleted:     {State: peer.Done, Text: "in\nKew"},
		a2a.TaskStateFailed:        {State: peer.Failed, Code: peer.CodeFailed, Detail: "HOST reported that the task failed: in Kew."},
		a2a.TaskStateCanceled:      {State: peer.Failed, Code: peer.CodeCancelled, Detail: "HOST reported that the task was cancelled: in Kew."},
		a2a.TaskStateRejected:      {State: peer.Failed, Code: peer.CodeRefused, Detail: "HOST rejected the task: in Kew."},
		a2a.TaskStateInputRequired: {State: peer.Failed, Code: peer.CodeAsks, Open: true, Detail: "HOST asked for input, which it can't be given: in Kew."},
		a2a.TaskStateAuthRequired:  {State: peer.Failed, Code: peer.CodeAsks, Open: true, Detail: "HOST asked for credentials, which it can't be given: in Kew."},
	} {
		t.Run(string(state), func(t *testing.T) {
			w := newWorld(t, nil, false)
			w.act = w.stays(state, a2a.NewTextPart("in\nKew"))
			want.Detail = strings.Replace(want.Detail, "HOST", "The agent at "+strings.TrimPrefix(w.http.URL, "http://"), 1)
			sent := w.send(asks())
			for what, got := range map[string]peer.Report{"send": sent, "look": w.look(sent)} {
				if got.State != want.State || got.Code != want.Code || got.Detail != want.Detail || got.Open != want.Open || got.Text != want.Text || got.Task.ID == "" {
					t.Errorf("%s: %+v", what, got)
				}
			}
		})
	}
}

// TestAStateOfANewerVersionIsLookedAtAgain: it says neither that the task failed nor that it ended.
func TestAStateOfANewerVersionIsLookedAtAgain(t *testing.T) {
	for _, state := range []string{`"TASK_STATE_PAUSED"`, `"TASK_STATE_UNSPECIFIED"`, `""`} {
		w := newWorld(t, nil, false)
		body := `{"id":"task-1","contextId":"ctx_1","status":{"state":` + state + `}}`
		w.between(answering("GetTask", 200, `{"jsonrpc":"2.0","id":ID,"result":`+body+`}`))
		if r, err := w.peer().Look(t.Context(), about(w.known())); err == nil || !strings.Contains(err.Error(), "does not know") {
			t.Errorf("%s: %+v, %v", state, r, err)
		}
		w.between(answering("SendMessage", 200, `{"jsonrpc":"2.0","id":ID,"result":{"task":`+body+`}}`))
		if r, err := w.peer().Send(t.Context(), asks()); err == nil {
			t.Errorf("%s: %+v", state, r)
		}
	}
}

// finals are the HTTP statuses with their codes; those without one are errors, after which the
// engine asks again.
var finals = map[int]string{
	400: peer.CodeRefused, 401: peer.CodeRefused, 402: peer.CodeRefused, 403: peer.CodeRefused, 404: peer.CodeNotFound, 405: peer.CodeRefused, 406: peer.CodeRefused,
	407: peer.CodeRefused, 408: "", 409: peer.CodeRefused, 410: peer.CodeRefused, 411: peer.CodeRefused, 413: peer.CodeRefused, 414: peer.CodeRefused, 415: peer.CodeRefused,
	422: peer.CodeRefused, 423: peer.CodeRefused, 425: "", 426: peer.CodeRefused, 428: peer.CodeRefused, 429: "", 431: peer.CodeRefused, 451: peer.CodeRefused,
	500: "", 501: "", 502: "", 503: "", 504: "", 520: "", 599: "",
	201: peer.CodeBadAnswer, 202: peer.CodeBadAnswer, 204: peer.CodeBadAnswer, 206: peer.CodeBadAnswer,
	300: peer.CodeRefused, 302: peer.CodeRefused, 304: peer.CodeRefused, 307: peer.CodeRefused,
}

func TestEachHTTPStatus(t *testing.T) {
	w := newWorld(t, completes(), false)
	check := func(method string, status int, r peer.Report, err error, open bool) {
		t.Helper()
		switch code := finals[status]; {
		case code == "" && (err == nil || !strings.Contains(err.Error(), fmt.Sprint(status))):
			t.Errorf("%s %d: %+v, %v", method, status, r, err)
		case code != "" && (err != nil || r.State != peer.Failed || r.Code != code || !strings.Contains(r.Detail, fmt.Sprint(status)) || r.Open != open):
			t.Errorf("%s %d: %+v, %v", method, status, r, err)
		}
	}
	for status, code := range finals {
		w.between(answering("SendMessage", status, ""))
		r, err := w.peer().Send(t.Context(), asks())
		check("send", status, r, err, code == peer.CodeBadAnswer)
		w.between(answering("GetTask", status, ""))
		r, err = w.peer().Look(t.Context(), about(w.known()))
		check("look", status, r, err, code != peer.CodeNotFound)
		w.between(answering("CancelTask", status, ""))
		if err := w.peer().Stop(t.Context(), about(w.known())); (err == nil) != (status == 404 || code == peer.CodeBadAnswer) {
			t.Errorf("stop %d: %v", status, err)
		}
	}
}

// HK5: the report names the agent's code. The SDK takes codes that it doesn't know for internal
// errors.
func TestEachErrorOfTheProtocol(t *testing.T) {
	for code, want := range map[int]string{-32700: peer.CodeRefused, -32600: peer.CodeRefused, -32601: peer.CodeRefused, -32602: peer.CodeRefused, -32603: "", -32000: peer.CodeRefused,
		-32001: peer.CodeNotFound, -32002: peer.CodeRefused, -32003: peer.CodeRefused, -32004: peer.CodeRefused, -32005: peer.CodeRefused, -32006: peer.CodeRefused, -32007: peer.CodeRefused,
		-32008: peer.CodeRefused, -32009: peer.CodeRefused, -32099: peer.CodeRefused, -31401: peer.CodeRefused, -31403: peer.CodeRefused, 7: peer.CodeRefused} {
		w := newWorld(t, nil, false)
		for _, data := range []string{``, `,"data":null`, `,"data":{"a":1}`, `,"data":"why"`, `,"data":[{"@type":"x","a":1}]`, `,"data":[null]`} {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":"because of the weather"%s}}`, code, data)
			for _, status := range []int{200, 400, 404, 500} {
				w.between(answering("GetTask", status, body))
				r, err := w.peer().Look(t.Context(), about(w.known()))
				if want == "" && err == nil || want != "" && (err != nil || r.State != peer.Failed || r.Code != want || !strings.Contains(r.Detail, fmt.Sprint(code)) ||
					!strings.Contains(r.Detail, "because of the weather")) {
					t.Errorf("%d with HTTP %d: %+v, %v", code, status, r, err)
				}
			}
		}
	}
}

// TestAGatewaySpeaksForItself: what looks like an error of the agent in its answer is none.
func TestAGatewaySpeaksForItself(t *testing.T) {
	for _, status := range []int{408, 429, 502, 503, 504} {
		w := newWorld(t, nil, false)
		w.between(answering("GetTask", status, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"x"}}`))
		if r, err := w.peer().Look(t.Context(), about(w.known())); err == nil {
			t.Errorf("%d: %+v", status, r)
		}
	}
	for _, body := range []string{`{"error":{"code":404,"message":"no such page"}}`, `{"error":"x"}`, `<html>`, ``} {
		w := newWorld(t, nil, false)
		w.between(answering("GetTask", 500, body))
		if r, err := w.peer().Look(t.Context(), about(w.known())); err == nil {
			t.Errorf("%s: %+v", body, r)
		}
	}
}

// HK4: it may be forgotten, or was another agent's.
func TestATaskThatIsGoneIsNotFound(t *testing.T) {
	w := newWorld(t, nil, false)
	if r := w.look(w.known()); r.State != peer.Failed || r.Code != peer.CodeNotFound || r.Open || !strings.Contains(r.Detail, "-32001") {
		t.Errorf("report %+v", r)
	}
}

func TestALookNeedsATask(t *testing.T) {
	w := newWorld(t, nil, false)
	if r, err := w.peer().Look(t.Context(), asks()); err == nil || len(w.requests("")) > 0 {
		t.Errorf("report %+v", r)
	}
}

// TestALookWithoutAnEndpointFetchesTheCard: an older task may have none.
func TestALookWithoutAnEndpointFetchesTheCard(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking)
	sent := w.send(asks())
	q := about(sent)
	q.Task.Endpoint = ""
	if r, err := w.peer().Look(t.Context(), q); err != nil || r.Task != sent.Task {
		t.Errorf("report %+v, %v", r, err)
	}
}

func TestAStopIsConfirmedByTheAgent(t *testing.T) {
	get := func(state string) string {
		return `{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
	}
	fails := func(code int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d}}`, code) }
	for name, tt := range map[string]struct {
		cancel, look string
		ok           bool
	}{
		"cancelled":                      {get("CANCELED"), "", true},
		"completed meanwhile":            {get("COMPLETED"), "", true},
		"not yet":                        {get("WORKING"), "", false},
		"another task":                   {strings.Replace(get("CANCELED"), "task-1", "task-2", 1), "", false},
		"unknown":                        {fails(-32001), "", true},
		"not cancelable, it has ended":   {fails(-32002), get("FAILED"), true},
		"not cancelable, it works":       {fails(-32002), get("WORKING"), false},
		"not cancelable, and then gone":  {fails(-32002), fails(-32001), true},
		"not cancelable, and no look":    {fails(-32002), fails(-32603), false},
		"not cancelable, another's look": {fails(-32002), strings.Replace(get("FAILED"), "task-1", "task-2", 1), false},
		"can't cancel, it has ended":     {fails(-32004), get("COMPLETED"), true},
		"can't cancel, it works":         {fails(-32004), get("WORKING"), false},
		"no such method":                 {fails(-32601), get("REJECTED"), true},
		"internal":                       {fails(-32603), get("COMPLETED"), false},
		"nonsense, it has ended":         {`{"result":7}`, get("CANCELED"), true},
		"nonsense, it works":             {`{"result":7}`, get("WORKING"), false},
		"nonsense twice":                 {`7`, `7`, false},
		"an unreadable end":              {fails(-32002), strings.Replace(get("COMPLETED"), `"contextId":"c"`, `"artifacts":[{"parts":[{"hologram":1}]}]`, 1), true},
		"an unreadable middle":           {fails(-32002), strings.Replace(get("WORKING"), `"contextId":"c"`, `"artifacts":[{"parts":[{"hologram":1}]}]`, 1), false},
		"cut":                            {`{"result":{"id":"task-1"`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, false)
			w.between(func(rw http.ResponseWriter, r *http.Request, at request) bool {
				return answering("CancelTask", 200, tt.cancel)(rw, r, at) || answering("GetTask", 200, tt.look)(rw, r, at)
			})
			if err := w.peer().Stop(t.Context(), about(w.known())); (err == nil) != tt.ok {
				t.Errorf("stop: %v", err)
			}
			if n := len(w.requests("GetTask")); n > 0 != (tt.look != "" && name != "internal") {
				t.Errorf("%d looks", n)
			}
		})
	}
}

func TestATaskThatWasNotAcknowledgedIsStopped(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking)
	// the message may be on its way: that the agent doesn't know the task yet confirms nothing
	if err := w.peer().Stop(t.Context(), asks()); err == nil {
		t.Error("the first attempt finds no task, and is confirmed")
	}
	late := asks()
	late.Stops = 8
	if err := w.peer().Stop(t.Context(), late); err != nil {
		t.Errorf("there is no task after minutes: %v", err)
	}
	w.losing("SendMessage")
	_, _ = w.peer().Send(t.Context(), asks())
	w.between(nil)
	if err := w.peer().Stop(t.Context(), asks()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.requests("CancelTask")); n != 1 {
		t.Errorf("cancelled %d times", n)
	}
	if r := w.send(again(true)); r.State != peer.Failed || r.Code != peer.CodeCancelled {
		t.Errorf("report %+v", r)
	}
}

func TestAStopThatIsNotConfirmedIsAnError(t *testing.T) {
	for name, between := range map[string]front{
		"no card":      answering("card", 503, ""),
		"no list":      answering("ListTasks", 403, ""),
		"no right":     answering("CancelTask", 403, ""),
		"no login":     answering("CancelTask", 401, ""),
		"several":      answering("ListTasks", 200, listedTasks(one("1", "ctx_1"), one("2", "ctx_1"))),
		"no such list": answering("ListTasks", 200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601}}`),
	} {
		w := newWorld(t, nil, false)
		w.act = w.stays(a2a.TaskStateWorking)
		w.send(asks())
		w.between(between)
		if err := w.peer().Stop(t.Context(), asks()); err == nil {
			t.Errorf("%s: it was stopped", name)
		}
	}
	w := newWorld(t, nil, false)
	w.between(answering("card", 404, ""))
	if err := w.peer().Stop(t.Context(), asks()); err != nil {
		t.Errorf("there is no agent: %v", err)
	}
}

// TestACallEndsWithItsContext: the engine needs to know that it was its own end.
func TestACallEndsWithItsContext(t *testing.T) {
	w := newWorld(t, nil, false)
	ctx, cancel := context.WithCancel(t.Context())
	w.between(func(_ http.ResponseWriter, r *http.Request, _ request) bool {
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := w.peer().Send(ctx, asks()); !errors.Is(err, context.Canceled) {
		t.Errorf("send: %v", err)
	}
	if _, err := w.peer().Look(ctx, about(w.known())); !errors.Is(err, context.Canceled) {
		t.Errorf("look: %v", err)
	}
	if err := w.peer().Stop(ctx, about(w.known())); !errors.Is(err, context.Canceled) {
		t.Errorf("stop: %v", err)
	}
}

var _ a2asrv.AgentExecutor = (*world)(nil)

// TestAnAgentWhosePeopleDecideIsAtWork: it waits for what is answered where it runs. Any other
// question would have to be answered from here.
func TestAnAgentWhosePeopleDecideIsAtWork(t *testing.T) {
	question := func(kind string) *a2a.Part {
		return a2a.NewDataPart(map[string]any{"decisionId": "sus_1", "kind": kind})
	}
	for _, c := range []struct {
		parts []*a2a.Part
		want  peer.State
	}{
		{[]*a2a.Part{question("approval")}, peer.Working},
		{[]*a2a.Part{question("approval"), question("unknown_outcome"), question("interrupt")}, peer.Working},
		{[]*a2a.Part{question("approval"), question("input")}, peer.Failed},
		{[]*a2a.Part{question("client")}, peer.Failed},
		{[]*a2a.Part{question("approval"), a2a.NewDataPart(map[string]any{"kind": "approval"})}, peer.Failed},
		{[]*a2a.Part{a2a.NewDataPart("approval")}, peer.Failed},
	} {
		w := newWorld(t, nil, false)
		w.act = w.stays(a2a.TaskStateInputRequired, append([]*a2a.Part{a2a.NewTextPart("May I?")}, c.parts...)...)
		if got := w.look(w.send(asks())); got.State != c.want || !strings.Contains(got.Detail, "May I?") {
			t.Errorf("%v: %+v", c.parts, got)
		}
	}
}
