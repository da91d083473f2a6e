package mcpserver_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// stories are what clients do, and see. Each has a shop to itself, and its transcript in testdata.
var stories = []struct {
	name string
	play func(t *testing.T, s *shop, talk func(name string, caps map[string]any) *peer)
	paid int // in the end
}{
	{"lists", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		talk("anna", asking).send("server/discover", nil)
		talk("anna", asking).send("tools/list", nil)
		talk("starter", asking).send("tools/list", nil)
		talk("reader", asking).send("tools/list", nil)
		talk("eve", asking).send("tools/list", nil)
	}, 0},
	{"at-once", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		if got := anna.ask("desk", "hello").Result.text(); got != "Hello." {
			t.Errorf("got %q", got)
		}
		anna.ask("desk", "a report")
		anna.ask("agent.decide", "what")
	}, 0},
	{"approved", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("desk", "pay 50")
		said := map[string]any{asked.sus(t): accept(map[string]any{"approved": true, "reason": "fine"})}
		for range 2 { // a repeat has no effect, and the same answer
			if got := anna.retry("desk", "pay 50", asked, said).Result.text(); got != "Paid." {
				t.Errorf("got %q", got)
			}
		}
	}, 1},
	{"may-not-decide", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		reader := talk("reader", silent)
		if listed := reader.send("tools/list", nil); strings.Contains(string(listed.raw), `"name":"decide"`) {
			t.Error("a caller who may not decide has the tool")
		}
		told := reader.ask("desk", "pay 50")
		if strings.Contains(told.Result.text(), "decide") {
			t.Errorf("got %q", told.Result.text())
		}
		run := told.Result.Meta.Run.RunID
		reader.call("decide", map[string]any{"run_id": run, "target": s.waiting(run).Suspension.ID, "action": "resume"})
		reader.call("cancel_run", map[string]any{"run_id": run})
	}, 0},
	{"without-elicitation", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", silent)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		anna.call("list_approvals", map[string]any{"agent": "desk", "kind": "approval"})
		waits := s.waiting(run)
		for range 2 {
			anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "decision_id": "d-1", "action": "resume", "shown": waits.Fingerprint})
			s.done(run)
		}
		anna.call("get_run", map[string]any{"run_id": run})
		anna.call("cancel_run", map[string]any{"run_id": run})
	}, 1},
	{"edited", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", silent)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		target := s.waiting(run).Suspension.ID
		anna.call("decide", map[string]any{"run_id": run, "target": target, "action": "resume", "arguments": map[string]any{"amount": "much"}})
		anna.call("decide", map[string]any{"run_id": run, "target": target, "action": "resume", "arguments": map[string]any{"amount": 20, "to": "Eve"}})
		s.done(run)
		anna.call("get_run", map[string]any{"run_id": run})
	}, 1},
	{"confirmed", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		arguments := map[string]any{"run_id": run, "target": s.waiting(run).Suspension.ID, "action": "resume", "reason": "The user said so.\nApprovals: 2 of 2", "grant": "run"}
		proposed := anna.call("decide", arguments)
		if paid := s.payments(); len(paid) > 0 {
			t.Errorf("paid %v before the user has confirmed", paid)
		}
		for range 2 { // a repeat has no further effect
			anna.answer(proposed, arguments, accept(map[string]any{"confirmed": true}))
			s.done(run)
		}
		anna.call("decide", arguments) // decided already: the user isn't asked
	}, 1},
	{"confirmed-edits", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		target := s.waiting(run).Suspension.ID
		anna.call("decide", map[string]any{"target": target, "action": "resume", "arguments": map[string]any{"amount": 5000, "to": "Eve"}})
		anna.confirm(map[string]any{"target": target, "action": "resume", "arguments": map[string]any{"amount": 20, "to": "\u0415ve"}})
		s.done(run)
	}, 1},
	{"confirmed-denial", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		anna.confirm(map[string]any{"target": s.waiting(run).Suspension.ID, "action": "cancel", "reason": "too much"})
		s.done(run)
	}, 0},
	{"confirmed-answer", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "which address").Result.Meta.Run.RunID
		target := s.waiting(run).Suspension.ID
		anna.call("decide", map[string]any{"target": target, "result": map[string]any{"street": "Main", "number": "seven"}})
		anna.confirm(map[string]any{"target": target, "result": map[string]any{"street": "Main", "number": 7}})
		s.done(run)
	}, 0},
	{"unconfirmed", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		arguments := map[string]any{"target": s.waiting(run).Suspension.ID, "action": "resume"}
		proposed := anna.call("decide", arguments)
		for _, said := range []map[string]any{{"action": "decline"}, {"action": "cancel"}, accept(map[string]any{"confirmed": false}), accept(map[string]any{"approved": true})} {
			anna.answer(proposed, arguments, said)
		}
		// without a response it asks again
		anna.call("decide", arguments, map[string]any{"requestState": proposed.Result.RequestState})
		s.waiting(run)
	}, 0},
	{"confirmed-too-late", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		arguments := map[string]any{"target": s.waiting(run).Suspension.ID, "action": "resume"}
		proposed := anna.call("decide", arguments)
		_, err := s.api("boss").Decide(t.Context(), run, client.Decision{Target: proposed.sus(t), Action: client.ActionCancel, Reason: "no"})
		if err != nil {
			t.Fatal(err)
		}
		anna.answer(proposed, arguments, accept(map[string]any{"confirmed": true}))
		s.done(run)
	}, 0},
	{"denied", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("desk", "pay 50")
		said := map[string]any{asked.sus(t): accept(map[string]any{"approved": false, "reason": "too much"})}
		anna.retry("desk", "pay 50", asked, said)
		anna.retry("desk", "pay 50", asked, said)
		anna.retry("desk", "pay 50", asked, map[string]any{asked.sus(t): approved()})
	}, 0},
	{"declined", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("desk", "pay 50")
		anna.retry("desk", "pay 50", asked, map[string]any{asked.sus(t): map[string]any{"action": "decline"}})
	}, 0},
	{"put-off", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("desk", "pay 50")
		anna.retry("desk", "pay 50", asked, map[string]any{asked.sus(t): map[string]any{"action": "cancel"}})
		anna.retry("desk", "pay 50", asked, nil) // asks again
		anna.retry("desk", "pay 50", asked, map[string]any{asked.sus(t): approved()})
	}, 1},
	{"questions", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("desk", "which color")
		anna.retry("desk", "which color", asked, map[string]any{asked.sus(t): accept(map[string]any{"answer": "green"})})
		asked = anna.ask("desk", "which address")
		anna.retry("desk", "which address", asked, map[string]any{asked.sus(t): accept(map[string]any{"street": "Main", "number": "seven"})})
		anna.retry("desk", "which address", asked, map[string]any{asked.sus(t): accept(map[string]any{"street": "Main", "number": 7})})
	}, 0},
	{"nested-question", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		told := anna.ask("desk", "which items")
		waits := s.waiting(told.Result.Meta.Run.RunID)
		anna.confirm(map[string]any{"target": waits.Suspension.ID, "result": []string{"cup"}, "shown": waits.Fingerprint})
		anna.call("get_run", map[string]any{"run_id": told.Result.Meta.Run.RunID, "wait": 20})
	}, 0},
	{"client-tool", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		run := anna.ask("desk", "pick").Result.Meta.Run.RunID
		waits := s.waiting(run)
		anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "result": map[string]any{"chosen": "cup"}})
		anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "result": map[string]any{"picked": "cup"}})
		s.done(run)
	}, 0},
	{"legacy", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", nil)
		anna.version = ""
		anna.send("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": asking, "clientInfo": map[string]any{"name": "old", "version": "1"}})
		anna.version = "2025-11-25"
		run := anna.ask("desk", "pay 50").Result.Meta.Run.RunID
		anna.call("list_approvals", map[string]any{"kind": "approval"})
		waits := s.waiting(run)
		anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "action": "resume", "shown": "v1:0"})
		for range 2 {
			anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "action": "resume", "shown": waits.Fingerprint})
			s.done(run)
		}
		anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "action": "cancel"})
		anna.call("cancel_run", map[string]any{"run_id": run})
	}, 1},
	{"tasks", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		task := talk("anna", polling).ask("desk", "pay 50").Result.TaskID
		anna := talk("anna", both)
		asked := anna.send("tasks/get", map[string]any{"taskId": task})
		responses := map[string]any{asked.sus(t): approved(), "sus_unknown": approved()}
		for range 2 {
			anna.send("tasks/update", map[string]any{"taskId": task, "inputResponses": responses})
			s.done(task)
		}
		anna.send("tasks/get", map[string]any{"taskId": task})
		anna.send("tasks/cancel", map[string]any{"taskId": task})
		other := talk("anna", polling).ask("desk", "pay 50").Result.TaskID
		anna.send("tasks/cancel", map[string]any{"taskId": other})
		s.ended(other)
		anna.send("tasks/get", map[string]any{"taskId": other})
		anna.send("tasks/get", map[string]any{"taskId": "run_unknown"})
		anna.send("tasks/get", nil)
		talk("anna", asking).send("tasks/get", map[string]any{"taskId": task})
	}, 1},
	{"conversation", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		first := anna.call("desk", map[string]any{"input": "hello", "thread": "chat"})
		asked := anna.call("desk", map[string]any{"input": "pay 50", "thread": "chat"})
		// the answer was lost
		again := anna.call("desk", map[string]any{"input": "pay 50", "thread": first.Result.Meta.Run.ThreadID})
		if again.Result.Meta.Run.RunID != asked.Result.Meta.Run.RunID {
			t.Error("the repeat has started another run")
		}
		anna.call("desk", map[string]any{"input": "hello", "thread": "chat"})
		anna.call("guarded", map[string]any{"input": "pay 50", "thread": "chat"})
		anna.retry("desk", "", again, map[string]any{again.sus(t): approved()})
	}, 1},
	{"key", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		meta := map[string]any{"_meta": map[string]any{"dormouse.dev/idempotency-key": "k-1"}}
		for _, thread := range []string{"", "chat"} {
			var runs []string
			for range 2 {
				asked := anna.call("desk", map[string]any{"input": "pay 50", "thread": thread}, meta)
				runs = append(runs, asked.Result.Meta.Run.RunID)
			}
			if runs[0] != runs[1] {
				t.Error("the repeat has started another run")
			}
		}
		anna.call("desk", map[string]any{"input": "pay 51"}, meta)
	}, 0},
	{"approvers", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		told := anna.ask("guarded", "pay 50")
		run := told.Result.Meta.Run.RunID
		waits := s.waiting(run)
		anna.call("decide", map[string]any{"run_id": run, "target": waits.Suspension.ID, "action": "resume"})
		talk("reader", asking).ask("guarded", "pay 50")
		talk("boss", asking).confirm(map[string]any{"run_id": run, "target": waits.Suspension.ID, "action": "resume"})
		s.done(run)
		told = anna.ask("separated", "pay 50")
		waits = s.waiting(told.Result.Meta.Run.RunID)
		anna.call("decide", map[string]any{"target": waits.Suspension.ID, "action": "resume"})
		talk("ben", asking).confirm(map[string]any{"target": waits.Suspension.ID, "action": "resume"})
		s.done(told.Result.Meta.Run.RunID)
	}, 2},
	{"votes", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("voted", "pay 50")
		anna.retry("voted", "pay 50", asked, map[string]any{asked.sus(t): approved()})
		anna.retry("voted", "pay 50", asked, nil)
		run := asked.Result.Meta.Run.RunID
		talk("ben", asking).confirm(map[string]any{"target": asked.sus(t), "action": "resume"})
		s.done(run)
		anna.retry("voted", "pay 50", asked, nil)
	}, 1},
	{"delegated", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		asked := anna.ask("planner", "plan")
		anna.retry("planner", "plan", asked, map[string]any{asked.sus(t): approved()})
	}, 1},
	{"ends", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		anna.ask("desk", "pay 5000")
		asked := anna.ask("desk", "pay 50")
		anna.call("cancel_run", map[string]any{"run_id": asked.Result.Meta.Run.RunID})
		s.ended(asked.Result.Meta.Run.RunID)
		anna.retry("desk", "pay 50", asked, map[string]any{asked.sus(t): approved()})
	}, 0},
	{"errors", func(t *testing.T, s *shop, talk func(string, map[string]any) *peer) {
		anna := talk("anna", asking)
		anna.ask("nothing", "x")
		anna.call("desk", map[string]any{"prompt": "x"})
		anna.call("desk", map[string]any{"input": ""})
		anna.call("desk", nil)
		anna.call("get_run", map[string]any{"run_id": "run_unknown"})
		anna.call("decide", map[string]any{"target": "sus_unknown", "action": "resume"})
		anna.call("decide", map[string]any{"action": "resume"})
		anna.send("subscriptions/listen", map[string]any{"notifications": map[string]any{}})
		anna.send("prompts/list", nil)
		anna.send("nothing", nil)
		talk("starter", asking).ask("desk", "pay 50")
		talk("starter", asking).ask("guarded", "pay 50")
		talk("boss", asking).ask("desk", "pay 50")
		talk("starter", asking).call("list_approvals", nil)
		talk("reader", asking).call("decide", map[string]any{"target": "sus_1", "action": "resume"})
		talk("boss", asking).call("cancel_run", map[string]any{"run_id": "run_unknown"})
		talk("hooks", asking).send("tools/list", nil)
		talk("nobody", asking).send("tools/list", nil)
	}, 0},
}

func TestStories(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			var log bytes.Buffer
			story.play(t, s, func(name string, caps map[string]any) *peer {
				p := s.peer(name, caps)
				p.log = &log
				return p
			})
			if got := len(s.payments()); got != story.paid {
				t.Errorf("%d payments, want %d", got, story.paid)
			}
			golden(t, story.name, log.String())
		})
	}
}

func TestQuestionsAreAnsweredOneByOne(t *testing.T) {
	s := newShop(t)
	anna := s.peer("anna", asking)
	asked := anna.ask("desk", "pay 50 twice")
	if len(asked.Result.InputRequests) != 2 {
		t.Fatalf("not two questions: %s", asked.raw)
	}
	for sus := range asked.Result.InputRequests {
		asked = anna.retry("desk", "pay 50 twice", asked, map[string]any{sus: approved()})
	}
	if asked.Result.text() != "Paid." || len(s.payments()) != 2 {
		t.Errorf("got %s, paid %v", asked.raw, s.payments())
	}
}

// waiting is the only call of a run that waits.
func (s *shop) waiting(run string) client.Pending {
	s.t.Helper()
	got, err := s.api("boss").Run(s.t.Context(), run)
	if err != nil || len(got.Pending) != 1 {
		s.t.Fatalf("%+v, %v", got.Pending, err)
	}
	return got.Pending[0]
}

// ended waits until a run is done.
func (s *shop) ended(run string) {
	s.t.Helper()
	for {
		got, err := s.api("boss").PollRun(s.t.Context(), run, 5e9)
		if err != nil {
			s.t.Fatal(err)
		}
		if got.Status == client.StatusDone {
			return
		}
	}
}

func TestOnlyPOSTIsServed(t *testing.T) {
	s := newShop(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer anna")
		req.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}
