package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// question is an approval that waits, as each protocol knows it.
type question struct {
	url, chat, run, thread, suspension, call string
}

// ways are the protocols by which a question can be answered. Each sends one answer, and returns
// what the client was sent.
var ways = map[string]func(q question, yes bool) (status int, answer string, err error){
	"api": func(q question, yes bool) (int, string, error) {
		return post(q.url+"/v1/suspensions/"+q.suspension, map[string]any{"action": action(yes)})
	},
	"run": func(q question, yes bool) (int, string, error) {
		return post(q.url+"/v1/runs/"+q.run+"/decisions", map[string]any{"decisions": []any{map[string]any{"target": q.suspension, "action": action(yes)}}})
	},
	"ai-sdk": func(q question, yes bool) (int, string, error) {
		part := map[string]any{"type": "tool-pay", "toolCallId": q.call, "state": "approval-responded", "input": map[string]any{"amount": 999, "to": "Eve"},
			"approval": map[string]any{"id": q.suspension, "approved": yes}}
		return post(q.url+"/ai-sdk/desk", map[string]any{"id": q.chat, "messages": []any{map[string]any{"id": "m", "role": "assistant", "parts": []any{part}}}})
	},
	"ag-ui": func(q question, yes bool) (int, string, error) {
		return post(q.url+"/ag-ui/desk", map[string]any{"threadId": q.chat, "runId": "r", "protocolVersion": "1.0", "state": map[string]any{}, "messages": []any{},
			"tools": []any{}, "context": []any{}, "resume": []any{map[string]any{"interruptId": q.suspension, "status": "resolved", "payload": map[string]any{"approved": yes}}}})
	},
	"a2a": func(q question, yes bool) (int, string, error) {
		part := map[string]any{"data": map[string]any{"decisionId": q.suspension, "approved": yes}}
		return post(q.url+"/a2a/desk", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": map[string]any{
			"message": map[string]any{"messageId": fmt.Sprint(rand.Uint64()), "taskId": q.run, "role": "ROLE_USER", "parts": []any{part}}}})
	},
}

func action(yes bool) string {
	if yes {
		return client.ActionResume
	}
	return client.ActionCancel
}

func post(url string, body any) (int, string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

// TestOneAnswerCounts lets 32 callers answer a question at once, each in another protocol and with
// another answer: one decision counts, the payment is made once or not at all, as that one says,
// and nothing but what the model asked for is paid.
func TestOneAnswerCounts(t *testing.T) {
	s := serve(t)
	seed := rand.Uint64()
	t.Logf("seed of this test: %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	names := []string{"api", "run", "ai-sdk", "ag-ui", "a2a"}
	for round := range 12 {
		amount := 100 + round
		q := ask(t, s.url, fmt.Sprintf("rivals-%d", round), amount)
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 32 {
			name, yes := names[random.IntN(len(names))], random.IntN(2) == 0
			wg.Go(func() {
				status, answer, err := ways[name](q, yes)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || status >= 500 || answer == "" {
					t.Errorf("round %d: %s is answered with %d, %v: %s", round, name, status, err, answer)
				}
			})
		}
		wg.Wait()
		s.oneDecision(t, q, amount)
	}
}

// TestEachProtocolAnswersTheOthers asks in the AI SDK, and lets each protocol be the first and each
// the second to answer.
func TestEachProtocolAnswersTheOthers(t *testing.T) {
	s := serve(t)
	n := 200
	for first := range ways {
		for second := range ways {
			n++
			q := ask(t, s.url, fmt.Sprintf("order-%d", n), n)
			for i, name := range []string{first, second} {
				if status, answer, err := ways[name](q, i == 0); err != nil || status >= 500 {
					t.Errorf("%s, then %s: %s is answered with %d, %v: %s", first, second, name, status, err, answer)
				}
			}
			if paid := s.oneDecision(t, q, n); !paid {
				t.Errorf("%s, then %s: the first said yes, and nothing was paid", first, second)
			}
		}
	}
}

// ask begins a chat whose payment waits for an approval.
func ask(t *testing.T, url, chat string, amount int) question {
	t.Helper()
	status, answer, err := post(url+"/ai-sdk/desk", map[string]any{"id": chat, "messages": []any{map[string]any{"id": "m-" + chat, "role": "user",
		"parts": []any{map[string]any{"type": "text", "text": fmt.Sprintf("pay %d", amount)}}}}})
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v: %s", status, err, answer)
	}
	c := client.New(url)
	thread, err := c.FindThread(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Run(t.Context(), thread.RunID)
	if err != nil || len(run.Pending) != 1 {
		t.Fatalf("%v: %+v", err, run.Pending)
	}
	p := run.Pending[0]
	return question{url, chat, run.ID, thread.ID, p.Suspension.ID, p.CallID}
}

// oneDecision holds the journal and the ledger against each other. It says whether the payment was
// made.
func (s desk) oneDecision(t *testing.T, q question, amount int) (paid bool) {
	t.Helper()
	c := client.New(q.url)
	run, err := c.WaitRun(t.Context(), q.run)
	if err != nil || run.Status != client.StatusDone {
		t.Fatalf("%v: %+v", err, run)
	}
	applied := 0
	for e, err := range c.Events(t.Context(), q.run, client.EventOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		var d client.DecisionRecordedData
		if e.Type == client.EventDecisionRecorded && e.Decode(&d) == nil && d.Applied {
			applied++
			paid = d.Action == client.ActionResume
		}
	}
	ledger, err := os.ReadFile(filepath.Join(s.data, "payments.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := strings.Count(string(ledger), fmt.Sprintf(`"amount":%d,"to":"Ann"`, amount))
	if applied != 1 || paid != (lines == 1) || lines > 1 || strings.Contains(string(ledger), "Eve") {
		t.Errorf("%d decisions were applied, paid: %v, and the ledger has\n%s", applied, paid, ledger)
	}
	return paid
}
