package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

// What isn't a request of the protocol is refused as everything else is.
func TestWhatIsNoRequestHasACode(t *testing.T) {
	s := newShop(t)
	anna, old := s.peer("anna", asking), s.peer("anna", nil)
	old.version = "2025-06-18"
	for body, code := range map[string]string{
		`{"jsonrpc":"2.0","method":"tools/list","params":{` + meta + `}}`:                                                    "malformed_body",
		`{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{` + meta + `}}`:                                          "malformed_body",
		`{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list","params":{` + meta + `}}`:                                       "malformed_body",
		`{"jsonrpc":"2.0","id":1e999,"method":"tools/list","params":{` + meta + `}}`:                                         "malformed_body",
		`{"jsonrpc":"1.0","id":1,"method":"tools/list","params":{` + meta + `}}`:                                             "malformed_body",
		`{"id":1,"method":"tools/list","params":{` + meta + `}}`:                                                             "malformed_body",
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{` + meta + `}}`:                                           "malformed_body",
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list","params":{` + meta + `}}`:                              "malformed_body",
		`{"jsonrpc":"2.0","id":-123456789012345678901234567890,"method":"tools/list","params":{` + meta + `}}`:               "malformed_body",
		`[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}]`:                                           "malformed_body",
		`{"jsonrpc":"2.0","id":9007199254740992,"method":"tools/list","params":{` + meta + `}}`:                              "",
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1000) + `","method":"tools/list","params":{` + meta + `}}`:           "",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `},"Method":"tools/call","PARAMS":{"name":"x"}}`: "",
	} {
		if got := anna.post([]byte(body), "tools/list", nil); got.code() != code || (got.Error != nil) != (code != "") {
			t.Errorf("%.120s: %d %s", body, got.status, got.raw)
		}
	}
	for _, method := range []string{"tasks/list", "roots/list", "x"} {
		if got := old.send(method, nil); got.Error == nil {
			t.Errorf("%s: %d %s", method, got.status, got.raw)
		}
	}
}

// state is that of a call which waits for the run.
func (b *bench) state(run string) string {
	return oneKey.SignState(access.State{Tenant: access.Tenant, By: "token:anna", Run: run, Expires: b.clock.Now().Add(time.Hour)})
}

// Another reader of the request, such as a proxy that keeps a log, reads the members that the
// protocol has.
func TestMembersOfAnswersAreMatchedExactly(t *testing.T) {
	b := newBench(t, oneKey)
	run, sus := b.asks(pays)
	anna := b.peer("anna", asking)
	arguments := map[string]any{"target": sus, "action": "resume"}
	proposed := anna.call("decide", arguments)
	started := b.peer("anna", asking).call("desk", map[string]any{"input": "x"}, map[string]any{"requestState": b.state(run)})
	no, yes := map[string]any{"action": "decline"}, map[string]any{"action": "accept", "content": map[string]any{"confirmed": true, "approved": true}}
	both := map[string]any{"action": "cancel", "Action": "accept", "Content": yes["content"], "content": yes["content"]}
	for name, responses := range map[string]map[string]any{
		"an action in other letters":    {"inputResponses": map[string]any{sus: both}},
		"responses in other letters":    {"InputResponses": map[string]any{sus: yes}},
		"a no, and a yes in other ones": {"inputResponses": map[string]any{sus: map[string]any{"action": "cancel"}}, "InputResponses": map[string]any{sus: yes}},
		"only content in other letters": {"inputResponses": map[string]any{sus: map[string]any{"action": "cancel", "Action": "accept", "Content": yes["content"]}}},
	} {
		responses["requestState"] = proposed.Result.RequestState
		confirming := anna.call("decide", arguments, responses)
		responses["requestState"] = started.Result.RequestState
		answering := anna.call("desk", map[string]any{"input": "x"}, responses)
		for _, got := range []reply{confirming, answering} {
			if strings.Contains(string(got.raw), "accepted") {
				t.Errorf("%s: %s", name, got.raw)
			}
		}
		b.waiting(run)
	}
	if got := anna.answer(proposed, arguments, no); !got.Result.IsError {
		t.Errorf("got %s", got.raw)
	}
}

// Each response is a decision to look up.
func TestARequestHasFewResponses(t *testing.T) {
	b := newBench(t, oneKey)
	run, _ := b.asks(pays)
	many := map[string]any{}
	for n := range 101 {
		many[fmt.Sprintf("sus_%d_a_b", n)] = approved()
	}
	anna := b.peer("anna", both)
	for name, got := range map[string]reply{
		"a retry": anna.call("desk", map[string]any{"input": "x"}, map[string]any{"requestState": b.state(run), "inputResponses": many}),
		"a task":  anna.send("tasks/update", map[string]any{"taskId": run, "inputResponses": many}),
	} {
		if got.code() != "invalid_request" || strings.Contains(string(got.raw), "sus_100_a_b") {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
}

// A call with a key that is none would start a run each time that it is sent.
func TestAKeyIsText(t *testing.T) {
	b := newBench(t, oneKey)
	for _, key := range []any{7, true, []any{"k"}, map[string]any{}} {
		got := b.peer("anna", asking).call("desk", map[string]any{"input": "hello"}, map[string]any{"_meta": map[string]any{"dormouse.dev/idempotency-key": key}})
		if got.code() != "invalid_request" {
			t.Errorf("%s: %s", core.Encode(key), got.raw)
		}
	}
	if got := b.peer("anna", asking).call("list_approvals", map[string]any{}); !json.Valid(got.raw) || strings.Contains(string(got.raw), "run_") {
		t.Errorf("got %s", got.raw)
	}
}
