package protocols_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// TestAStreamForARequestWithoutAnIDHasNone: such a request is answered like any other.
func TestAStreamForARequestWithoutAnIDHasNone(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	got := d.send("POST", "/a2a/desk", `{"jsonrpc":"2.0","method":"SendStreamingMessage","params":`+says("m1", "hello", "")+`}`)
	if !strings.Contains(got.text, `"id":null`) || !strings.Contains(got.text, "TASK_STATE_COMPLETED") || strings.Contains(got.text, "internal") {
		t.Errorf("%d %s", got.status, got.text)
	}
}

// TestA2AAMessageHasFewAnswers: each is a decision to look up.
func TestA2AAMessageHasFewAnswers(t *testing.T) {
	d := newDesk(t)
	open := d.begin("m1", "pay 50")
	many := strings.Repeat(`{"data":{"decisionId":"sus_1_a_b","approved":true}},`, 101)
	got := d.rpc("SendMessage", message("m2", strings.TrimSuffix(many, ","), `,"taskId":"`+open.ID+`"`))
	if code, _ := d.refused(got); code != invalidParams || !strings.Contains(got.text, "101 answers") {
		t.Errorf("%d %s", code, got.text)
	}
}

// guardedDesk is a server whose agent only amy may start.
func guardedDesk(t *testing.T) *desk {
	t.Helper()
	text, err := os.ReadFile("testdata/agents/desk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, served: &served{data: t.TempDir(), agents: t.TempDir()}, tenant: "acme", agent: "desk"}
	for _, name := range []string{"amy", "bob"} {
		d.tokens += token(name, "acme", access.Start, access.Read, access.Webhooks)
	}
	if err := os.WriteFile(filepath.Join(d.agents, "desk.yaml"), append(text, "\nstarters: [\"token:amy\"]\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := d.start(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestA2AAFirstMessageThatIsRepeatedAddsNoEndpointForOthers: who repeats it names the task's
// endpoints. One who may not start the agent adds none, and takes the place of none.
func TestA2AAFirstMessageThatIsRepeatedAddsNoEndpointForOthers(t *testing.T) {
	d, l, other := guardedDesk(t), listen(t), listen(t)
	amy, bob := d.as("amy"), d.as("bob")
	first := func(l *listener, text string) string {
		return strings.Replace(saysPushed("m1", text, l.inMessage(`,"id":"one"`)), `"messageId"`, `"contextId":"order-17","messageId"`, 1)
	}
	open := amy.task(amy.rpc("SendMessage", first(l, "pay 50")))
	for name, repeat := range map[string]string{"the same": first(other, "pay 50"), "another text": first(other, "pay 60"),
		"another id": strings.Replace(first(other, "pay 50"), `"id":"one"`, `"id":"two"`, 1)} {
		if code, of := d.refused(bob.rpc("SendMessage", repeat)); code != unauthorized || of != "not_a_starter" {
			t.Errorf("%s: %d %s", name, code, of)
		}
	}
	list := amy.rpc("ListTaskPushNotificationConfigs", `{"taskId":"`+open.ID+`"}`).text
	if strings.Contains(list, other.URL) || strings.Count(list, `"url":"`+l.URL) != 1 {
		t.Errorf("the endpoints are %s", list)
	}
	if again := amy.task(amy.rpc("SendMessage", first(l, "pay 50"))); again.ID != open.ID {
		t.Errorf("repeated by its sender, it is %s", again.ID)
	}
}

// TestA2ARefusedAnswersNameThoseThatWereStored: the client has to know, since the error is of the
// whole message.
func TestA2ARefusedAnswersNameThoseThatWereStored(t *testing.T) {
	d := newDesk(t)
	open := d.begin("m1", "pay 50 twice")
	q := open.asks()
	both := `{"data":{"decisionId":"` + q[0].ID + `","approved":true}},{"data":{"decisionId":"` + q[1].ID + `","approved":true,"fingerprint":"v1:00"}}`
	got := d.rpc("SendMessage", message("m2", both, `,"taskId":"`+open.ID+`"`))
	if code, of := d.refused(got); code != unsupported || of != "changed" || !strings.Contains(got.text, "stored: "+q[0].ID) || strings.Contains(got.text, q[1].ID) {
		t.Errorf("%d %s: %s", code, of, got.text)
	}
	refused := d.rpc("SendMessage", answers("m3", open.ID, `{"decisionId":"`+q[1].ID+`","approved":true,"fingerprint":"v1:00"}`))
	if code, _ := d.refused(refused); code != unsupported || strings.Contains(refused.text, "stored: ") {
		t.Errorf("alone: %s", refused.text)
	}
}
