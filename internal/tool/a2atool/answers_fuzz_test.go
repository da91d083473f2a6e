package a2atool

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// FuzzAnswers: whatever an agent answers, there is no panic, and a report is limited, can be stored
// and has no secret in it.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{``, `null`, `{}`, `[]`, whole1, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"x","data":[null]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"task":{"id":"1","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"x"}]}},"history":[null]}}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"data":{"a":[1.0e400,"` + token + `"]}}]}}}`,
		listedTasks(one("1", "ctx_1", "run_1/c1"), "null"), `{"supportedInterfaces":[{"url":"https://agent.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"#"}],"capabilities":{"pushNotifications":true}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"data":{"a":"\ud800"}},{"raw":"AA=="},{"url":"x"}]}]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`, strings.Repeat("[", 300)} {
		for _, status := range []int{200, 404, 500} {
			f.Add(status, body, "")
			f.Add(status, body, body)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, card string) {
		p := canned(t, io.Discard, func(method string) (int, string) {
			switch {
			case method != "card":
				return status, body
			case card == "":
				return 0, ""
			}
			return 200, card
		})
		for _, q := range []engine.PeerRequest{asks(), again(false), again(true)} {
			q.Push = news
			r, err := p.Send(t.Context(), q)
			checkReport(t, r, err)
		}
		r, err := p.Look(t.Context(), taskOne())
		checkReport(t, r, err)
		_, _ = p.Stop(t.Context(), taskOne()), p.Stop(t.Context(), asks())
	})
}

var codes = []string{peer.CodeNotFound, peer.CodeRefused, peer.CodeFailed, peer.CodeCancelled, peer.CodeAsks, peer.CodeBadAnswer}

// checkReport checks what must be true of every report.
func checkReport(t *testing.T, r peer.Report, err error) {
	t.Helper()
	text := r.Text + r.Detail + r.Task.ID + r.Task.Context + r.Task.Endpoint + string(r.Value)
	if err != nil {
		if (r.State != peer.Working) || text != "" || r.Code != "" {
			t.Errorf("an error with %+v", r)
		}
		text = err.Error()
		r.Detail = text
	} else if r.State == peer.Working && r.Task.ID == "" {
		t.Errorf("work on nothing: %+v", r)
	}
	switch {
	case !utf8.ValidString(text):
		t.Errorf("not UTF-8: %q", text)
	case (secret.Values{"TOKEN": token}).In(text):
		t.Errorf("a secret: %s", text)
	case len(r.Detail) > mostDetail || len(r.Text) > 20_000 || len(r.Value) > 20_000 || len(r.Task.ID) > mostID || len(r.Task.Context) > mostID || len(r.Task.Endpoint) > mostEndpoint:
		t.Errorf("too long: %+v", r)
	case r.Value != nil && (!json.Valid(r.Value) || depth.Exceeded(r.Value) || string(r.Value) != r.Text):
		t.Errorf("value %s of %s", r.Value, r.Text)
	case r.State == peer.Failed && (!slices.Contains(codes, r.Code) || r.Detail == ""), r.State != peer.Failed && (r.Code != "" || r.Open), r.State != peer.Done && (r.Text != "" || r.Value != nil):
		t.Errorf("report %+v", r)
	case r.Task.Endpoint != "" && !strings.HasPrefix(strings.ToLower(r.Task.Endpoint), "https://agent.example"):
		t.Errorf("endpoint %s", r.Task.Endpoint)
	}
}
