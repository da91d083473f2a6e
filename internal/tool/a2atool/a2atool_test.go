package a2atool

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// TestATaskIsSentLookedAtAndStopped tells the whole story against the server of the SDK.
func TestATaskIsSentLookedAtAndStopped(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking, a2a.NewTextPart("reading\nbooks"))
	sent := w.send(asks())
	if sent.State != peer.Working || sent.Task.ID == "" || sent.Task.Context != "ctx_1" || sent.Task.Endpoint != w.http.URL+"/a2a" || sent.Task.Pushes {
		t.Fatalf("report %+v", sent)
	}
	if looked := w.look(sent); looked.State != peer.Working || looked.Task != sent.Task || looked.Detail != "reading books" {
		t.Errorf("report %+v", looked)
	}
	if err := w.peer().Stop(t.Context(), about(sent)); err != nil {
		t.Errorf("stop: %v", err)
	}
	if looked := w.look(sent); looked.State != peer.Failed || looked.Code != peer.CodeCancelled || looked.Open {
		t.Errorf("report %+v", looked)
	}
	if err := w.peer().Stop(t.Context(), about(sent)); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	if n := len(w.requests("card")); n != 1 {
		t.Errorf("the card was fetched %d times; the endpoint is in the task", n)
	}
	got := w.requests("SendMessage")
	if len(got) != 1 || got[0].path != "/a2a" || got[0].header.Get("A2A-Version") != "1.0" || got[0].header.Get("Authorization") != "Bearer "+token {
		t.Fatalf("sent %+v", got)
	}
	for _, want := range []string{`"messageId":"run_1/c1"`, `"contextId":"ctx_1"`, `"role":"ROLE_USER"`, `"parts":[{"text":"What is the tallest tree?"}]`, `"returnImmediately":true`} {
		if !strings.Contains(got[0].body, want) {
			t.Errorf("the request lacks %s: %s", want, got[0].body)
		}
	}
	if strings.Contains(got[0].body, "taskPushNotificationConfig") {
		t.Errorf("an address for news was sent: %s", got[0].body)
	}
}

func TestAResultIsReported(t *testing.T) {
	w := newWorld(t, completes(a2a.NewTextPart("Hyperion,"), a2a.NewTextPart("a redwood.")), false)
	if r := w.send(asks()); r.State != peer.Done || r.Text != "Hyperion,\n\na redwood." || r.Value != nil || r.Task.ID == "" {
		t.Errorf("report %+v", r)
	}
}
