package protocols_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// narrow is an API on the store of a desk that lets one stream be open.
func (d *desk) narrow() *desk {
	d.Helper()
	front := d.front()
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: machine.Clock{}, Limits: httpapi.Limits{Streams: 1},
		Protocols: protocols.All(protocols.Server{Runs: front, Reads: query.New(front)})})
	if err != nil {
		d.Fatal(err)
	}
	server := httptest.NewServer(api)
	d.Cleanup(server.Close)
	return &desk{T: d.T, served: &served{url: server.URL, data: d.data}, agent: "desk"}
}

// watch opens a stream that stays open until the test ends it.
func (d *desk) watch(run string) (end func()) {
	d.Helper()
	resp, err := http.Get(d.url + "/v1/runs/" + run + "/events?follow=true")
	if err != nil || resp.StatusCode != http.StatusOK {
		d.Fatal(resp, err)
	}
	return func() { resp.Body.Close() }
}

// asked is what a request asks for: a message, or the yes to a payment.
var asked = map[string]func(chat, run string, pay client.Pending) (path, body string){
	"ai-sdk, a message": func(chat, _ string, _ client.Pending) (path, body string) {
		return "/ai-sdk/desk", fmt.Sprintf(`{"id":"new-%s","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hello"}]}]}`, chat)
	},
	"ai-sdk, an answer": func(chat, _ string, pay client.Pending) (path, body string) {
		return "/ai-sdk/desk", fmt.Sprintf(`{"id":%q,"messages":[{"id":"a","role":"assistant","parts":[{"type":"tool-pay","toolCallId":%q,"state":"approval-responded","approval":{"id":%q,"approved":true}}]}]}`,
			chat, pay.CallID, pay.Suspension.ID)
	},
	"ag-ui, a message": func(chat, _ string, _ client.Pending) (path, body string) {
		return "/ag-ui/desk", fmt.Sprintf(`{"threadId":"new-%s","runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}`, chat)
	},
	"a2a, an answer": func(_, run string, pay client.Pending) (path, body string) {
		return "/a2a/desk", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + answers("m", run, `{"decisionId":"`+pay.Suspension.ID+`","approved":true}`) + `}`
	},
	"copilotkit, an answer": func(chat, _ string, pay client.Pending) (path, body string) {
		return "/copilotkit/agent/desk/run", fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":true}]}`, chat, pay.Suspension.ID)
	},
}

// untouched says that nothing was done that a refused request has asked for.
func (d *desk) untouched(chat, name string) {
	d.Helper()
	if paid := d.ledger(); paid != "" {
		d.Errorf("%s: paid %s", name, paid)
	}
	if t, err := d.api().FindThread(d.Context(), chat); err != nil || t.Status != client.StatusWaiting {
		d.Errorf("%s: the conversation is %+v, %v", name, t, err)
	}
	if t, err := d.api().FindThread(d.Context(), "new-"+chat); err == nil {
		d.Errorf("%s: it has begun %+v", name, t)
	}
}

// TestARequestWithoutRoomForItsStreamDoesNothing: its sender is told to send it again.
func TestARequestWithoutRoomForItsStreamDoesNothing(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	for name, request := range asked {
		d.agui(d.url, name, `"messages":[{"id":"u1","role":"user","content":"pay 50"}]`)
		pay := d.pending(name, "pay")[0]
		run, err := d.api().FindThread(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		narrow := d.narrow()
		end := narrow.watch(run.RunID)
		path, body := request(name, run.RunID, pay)
		if got := narrow.send("POST", path, body); got.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
		d.untouched(name, name)
		end()
	}
}

// TestAnUnknownVersionDoesNothing: the header is read before anything is done.
func TestAnUnknownVersionDoesNothing(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	d.agui(d.url, "t", `"messages":[{"id":"u1","role":"user","content":"pay 50"}]`)
	pay := d.pending("t", "pay")[0]
	for _, name := range []string{"ai-sdk, a message", "ai-sdk, an answer"} {
		for _, version := range []string{"99", "4", "0", "-6", "x", "6.0"} {
			path, body := asked[name]("t", "", pay)
			if got := d.send("POST", path, body, "X-AI-SDK-Version", version); got.status != http.StatusBadRequest {
				t.Errorf("%s, version %s: %d %s", name, version, got.status, got.text)
			}
			d.untouched("t", name)
		}
	}
}

// TestMoreMessagesThanAClientLosesDoNothing: each that the conversation lacks is sent to it, and a
// thousand of them would keep a server busy.
func TestMoreMessagesThanAClientLosesDoNothing(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	for path, request := range map[string]struct{ body, message string }{
		"/ai-sdk/desk": {`{"id":"many-sdk","messages":[%s]}`, `{"id":"m%d","role":"user","parts":[{"type":"text","text":"hello"}]}`},
		"/ag-ui/desk":  {`{"threadId":"many-ag-ui","runId":"r","messages":[%s]}`, `{"id":"m%d","role":"user","content":"hello"}`},
	} {
		var messages []string
		for i := range 102 {
			messages = append(messages, fmt.Sprintf(request.message, i))
		}
		got := d.send("POST", path, fmt.Sprintf(request.body, strings.Join(messages, ",")))
		if got.status != http.StatusBadRequest || !strings.Contains(got.text, "101 messages that the conversation lacks") {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
	for _, chat := range []string{"many-sdk", "many-ag-ui"} {
		if found, err := d.api().FindThread(t.Context(), chat); err == nil {
			t.Errorf("it has begun %+v", found)
		}
	}
}
