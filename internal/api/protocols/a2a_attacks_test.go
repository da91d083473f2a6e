package protocols_test

import (
	"strings"
	"testing"
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
