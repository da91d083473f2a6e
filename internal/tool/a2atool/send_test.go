package a2atool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// again is the request of a process that does not know whether an earlier one sent the task.
func again(once bool) engine.PeerRequest {
	q := asks()
	q.Again, q.Once = true, once
	return q
}

// losing lets a method arrive, and loses its answer.
func (w *world) losing(method string) {
	w.between(func(rw http.ResponseWriter, r *http.Request, at request) bool {
		if at.method != method {
			return false
		}
		w.rpc.ServeHTTP(httptest.NewRecorder(), r)
		breakOff(rw)
		return true
	})
}

// breakOff closes a connection without an answer.
func breakOff(rw http.ResponseWriter) {
	conn, _, _ := rw.(http.Hijacker).Hijack()
	_ = conn.Close()
}

func TestATaskWhoseAnswerWasLostIsFoundByItsContext(t *testing.T) {
	for _, once := range []bool{false, true} {
		w := newWorld(t, nil, false)
		w.act = w.stays(a2a.TaskStateWorking, a2a.NewTextPart("reading"))
		w.losing("SendMessage")
		if r, err := w.peer().Send(t.Context(), asks()); err == nil {
			t.Fatalf("report %+v", r)
		}
		w.between(nil)
		r := w.send(again(once))
		if r.State != peer.Working || r.Task.ID == "" || r.Task.Context != "ctx_1" || r.Detail != "reading" {
			t.Errorf("report %+v", r)
		}
		if n := len(w.requests("SendMessage")); n != 1 {
			t.Errorf("it was sent %d times", n)
		}
		if looked := w.look(r); looked.Task != r.Task {
			t.Errorf("looked at %+v, found %+v", looked.Task, r.Task)
		}
	}
}

func TestATaskThatEndedMeanwhileIsFoundWithItsResult(t *testing.T) {
	w := newWorld(t, completes(a2a.NewTextPart("Hyperion")), false)
	w.losing("SendMessage")
	_, _ = w.peer().Send(t.Context(), asks())
	w.between(nil)
	if r := w.send(again(true)); r.State != peer.Done || r.Text != "Hyperion" {
		t.Errorf("report %+v", r)
	}
}

func TestATaskThatNeverArrivedIsSentAgainUnlessOnce(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking)
	w.between(func(rw http.ResponseWriter, _ *http.Request, at request) bool {
		if at.method == "SendMessage" {
			breakOff(rw)
		}
		return at.method == "SendMessage"
	})
	_, _ = w.peer().Send(t.Context(), asks())
	w.between(nil)
	r := w.send(again(true))
	if r.State != peer.Unclear || r.Task.ID != "" || r.Detail != "The agent at "+strings.TrimPrefix(w.http.URL, "http://")+" may have received the task, and does not say so." {
		t.Errorf("report %+v", r)
	}
	if n := len(w.requests("SendMessage")); n != 1 {
		t.Fatalf("it was sent %d times", n)
	}
	if r := w.send(again(false)); r.State != peer.Working || r.Task.ID == "" {
		t.Errorf("report %+v", r)
	}
	for _, got := range w.requests("SendMessage") {
		if !strings.Contains(got.body, `"messageId":"run_1/c1"`) {
			t.Errorf("sent %s", got.body)
		}
	}
}

// TestAnAgentThatDoesNotListItsTasks: what it does not say is not known.
func TestAnAgentThatDoesNotListItsTasks(t *testing.T) {
	for name, body := range map[string]string{
		"an unknown method": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`,
		"unsupported":       `{"jsonrpc":"2.0","id":ID,"error":{"code":-32004,"message":"unsupported"}}`,
		"anonymous":         `{"jsonrpc":"2.0","id":ID,"error":{"code":-31401,"message":"who are you"}}`,
		"null":              `{"jsonrpc":"2.0","id":ID,"result":null}`,
		"a list":            `{"jsonrpc":"2.0","id":ID,"result":[]}`,
		"too much":          `{"jsonrpc":"2.0","id":ID,"result":{"tasks":[{"id":"` + strings.Repeat("x", 300<<10) + `"}]}}`,
		"pages without end": `{"jsonrpc":"2.0","id":ID,"result":{"tasks":[],"nextPageToken":"more"}}`,
		"a page of many":    `{"jsonrpc":"2.0","id":ID,"result":{"tasks":[{"id":"1","contextId":"ctx_1"}],"nextPageToken":"more"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, false)
			w.act = w.stays(a2a.TaskStateWorking)
			w.between(answering("ListTasks", 200, body))
			if r := w.send(again(true)); r.State != peer.Unclear || len(w.requests("SendMessage")) != 0 {
				t.Errorf("report %+v", r)
			}
			if r := w.send(again(false)); r.State != peer.Working || len(w.requests("SendMessage")) != 1 {
				t.Errorf("report %+v", r)
			}
			if n := len(w.requests("ListTasks")); n > 2*mostPages {
				t.Errorf("%d pages were read", n)
			}
			if err := w.peer().Stop(t.Context(), asks()); err == nil {
				t.Error("a task was stopped that may be there")
			}
		})
	}
}

// TestAListThatCannotBeHadIsAskedForAgain: only the agent's own answer says what it has.
func TestAListThatCannotBeHadIsAskedForAgain(t *testing.T) {
	for status, refuses := range map[int]bool{500: false, 502: false, 503: false, 429: false, 408: false, 401: true, 403: true, 400: true, 405: true, 307: true} {
		w := newWorld(t, completes(), false)
		w.between(answering("ListTasks", status, ""))
		r, err := w.peer().Send(t.Context(), again(true))
		if refuses && (err != nil || r.State != peer.Failed || r.Code != peer.CodeRefused || !r.Open) || !refuses && err == nil {
			t.Errorf("%d: %+v, %v", status, r, err)
		}
		if n := len(w.requests("SendMessage")); n > 0 {
			t.Errorf("%d: it was sent", status)
		}
	}
}

// listed are tasks as an agent lists them.
func listedTasks(tasks ...string) string {
	return `{"jsonrpc":"2.0","id":ID,"result":{"tasks":[` + strings.Join(tasks, ",") + `],"totalSize":9,"pageSize":20,"nextPageToken":""}}`
}

func one(id, in string, messages ...string) string {
	var history []string
	for _, m := range messages {
		history = append(history, fmt.Sprintf(`{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"x"}]}`, m))
	}
	return fmt.Sprintf(`{"id":%q,"contextId":%q,"status":{"state":"TASK_STATE_WORKING"},"history":[%s]}`, id, in, strings.Join(history, ","))
}

// TestTheTaskIsChosenFromTheList: an agent may ignore the context, and list the tasks of others.
func TestTheTaskIsChosenFromTheList(t *testing.T) {
	const ours, other = "run_1/c1", "run_2/c1"
	for name, tt := range map[string]struct{ list, want string }{
		"none":                         {listedTasks(), ""},
		"no member":                    {`{"jsonrpc":"2.0","id":ID,"result":{}}`, ""},
		"null":                         {listedTasks("null"), ""},
		"of the context":               {listedTasks(one("1", "ctx_1")), "1"},
		"of the context, and others":   {listedTasks(one("0", "ctx_0"), one("1", "ctx_1"), one("2", "ctx_2")), "1"},
		"one of another context":       {listedTasks(one("0", "ctx_0")), ""},
		"one of another message":       {listedTasks(one("0", "ctx_0", other)), ""},
		"with the message":             {listedTasks(one("1", "ctx_1", other), one("2", "ctx_1", ours)), "2"},
		"in a context of the agent's":  {listedTasks(one("1", "own", other), one("2", "own", "a", ours, "b")), "2"},
		"several of the context":       {listedTasks(one("1", "ctx_1"), one("2", "ctx_1")), ""},
		"several with other messages":  {listedTasks(one("1", "ctx_1", other), one("2", "ctx_1", other)), ""},
		"the only one, without ours":   {listedTasks(one("1", "ctx_1", other)), "1"},
		"a history with null messages": {listedTasks(strings.Replace(one("1", "ctx_1"), "[]", "[null]", 1)), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, false)
			list := answering("ListTasks", 200, tt.list)
			w.between(func(rw http.ResponseWriter, r *http.Request, at request) bool {
				if at.method == "GetTask" {
					var q struct{ Params struct{ ID string } }
					_ = json.Unmarshal([]byte(at.body), &q)
					return answering("GetTask", 200, `{"jsonrpc":"2.0","id":ID,"result":`+one(q.Params.ID, "own")+`}`)(rw, r, at)
				}
				return list(rw, r, at)
			})
			r := w.send(again(true))
			if tt.want == "" && r.State != peer.Unclear || tt.want != "" && (r.State != peer.Working || r.Task.ID != tt.want || r.Task.Context != "own") {
				t.Errorf("report %+v", r)
			}
			if got := w.requests("ListTasks"); len(got) != 1 || !strings.Contains(got[0].body, `"contextId":"ctx_1"`) {
				t.Errorf("asked %+v", got)
			}
		})
	}
}

func TestATaskIsFoundOnALaterPage(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking)
	first := w.send(asks())
	w.between(func(rw http.ResponseWriter, r *http.Request, at request) bool {
		if strings.Contains(at.body, `"pageToken":"p2"`) {
			return answering("ListTasks", 200, listedTasks(one(first.Task.ID, "ctx_1", "run_1/c1")))(rw, r, at)
		}
		return answering("ListTasks", 200, strings.Replace(listedTasks(one("0", "ctx_0")), `"nextPageToken":""`, `"nextPageToken":"p2"`, 1))(rw, r, at)
	})
	if r := w.send(again(true)); r.State != peer.Working || r.Task.ID != first.Task.ID {
		t.Errorf("report %+v", r)
	}
}

func TestWithoutAContextNoListIsAskedFor(t *testing.T) {
	w := newWorld(t, nil, false)
	q := again(true)
	q.Context = ""
	if r := w.send(q); r.State != peer.Unclear || len(w.requests("ListTasks")) != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestTheAgentMayChooseAnotherContext(t *testing.T) {
	w := newWorld(t, nil, false)
	w.between(answering("SendMessage", 200, `{"jsonrpc":"2.0","id":ID,"result":{"task":`+one("task-1", "theirs")+`}}`))
	r := w.send(asks())
	if r.State != peer.Working || r.Task.Context != "theirs" {
		t.Errorf("report %+v", r)
	}
	w.between(answering("SendMessage", 200, `{"jsonrpc":"2.0","id":ID,"result":{"task":`+one("task-1", "")+`}}`))
	if r := w.send(asks()); r.Task.Context != "ctx_1" {
		t.Errorf("report %+v", r)
	}
	w.between(answering("ListTasks", 200, listedTasks()))
	q := again(true)
	q.Task.Context = "theirs"
	w.send(q)
	if got := w.requests("ListTasks"); !strings.Contains(got[0].body, `"contextId":"theirs"`) {
		t.Errorf("asked %+v", got)
	}
}

func TestAnAgentMayAnswerWithAMessage(t *testing.T) {
	w := newWorld(t, func(_ context.Context, x *a2asrv.ExecutorContext, say func(a2a.Event) bool) {
		say(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Hyperion,"), a2a.NewTextPart("a redwood.")))
	}, true)
	q := asks()
	q.Push = "https://dormouse.example/news"
	if r := w.send(q); r.State != peer.Done || r.Text != "Hyperion,\n\na redwood." || r.Task.ID != "" || r.Task.Context != "ctx_1" || r.Task.Pushes {
		t.Errorf("report %+v", r)
	}
}

const news = "https://dormouse.example/news/abc"

func TestNewsArePushedIfTheAgentCanAndAnAddressIsGiven(t *testing.T) {
	for name, tt := range map[string]struct {
		can, card bool
		push      string
		sent      int // messages
		pushes    bool
	}{
		"it can":              {true, true, news, 1, true},
		"no address is given": {true, true, "", 1, false},
		"not in its card":     {true, false, news, 1, false},
		"it refuses":          {false, true, news, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, tt.can)
			w.act = w.stays(a2a.TaskStateWorking)
			w.card.Capabilities.PushNotifications = tt.card
			q := asks()
			q.Push = tt.push
			r := w.send(q)
			if r.State != peer.Working || r.Task.Pushes != tt.pushes {
				t.Errorf("report %+v", r)
			}
			got := w.requests("SendMessage")
			if len(got) != tt.sent {
				t.Fatalf("it was sent %d times", len(got))
			}
			if last := got[len(got)-1].body; strings.Contains(last, `"url":"`+news) != tt.pushes {
				t.Errorf("sent %s", last)
			}
			if looked := w.look(r); looked.Task != r.Task {
				t.Errorf("looked at %+v", looked.Task)
			}
		})
	}
}

// TestATaskThatWasFoundIsLookedAt: it is not known whether the agent took the address for news.
func TestATaskThatWasFoundIsLookedAt(t *testing.T) {
	w := newWorld(t, nil, true)
	w.act = w.stays(a2a.TaskStateWorking)
	w.losing("SendMessage")
	q := again(false)
	q.Again, q.Push = false, news
	_, _ = w.peer().Send(t.Context(), q)
	q.Again = true
	w.between(nil)
	if r := w.send(q); r.State != peer.Working || r.Task.Pushes {
		t.Errorf("report %+v", r)
	}
}

// guardedAway refuses every connection, as the guard of addresses does.
type guardedAway struct{}

func (guardedAway) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, netguard.ErrForbidden
}

func TestAnAddressThatMayNotBeCalledFailsAtOnce(t *testing.T) {
	w := newWorld(t, nil, false)
	w.http.Client().Transport = guardedAway{}
	p := w.peer()
	report, err := p.Send(t.Context(), asks())
	if err != nil || report.State != peer.Failed || report.Code != peer.CodeRefused || report.Open || !strings.Contains(report.Detail, "only public addresses") {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := p.Send(t.Context(), again(false)); err == nil {
		t.Error("an earlier message may have arrived, and the task is given up")
	}
}
