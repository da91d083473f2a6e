package mcpserver_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// keys are those that the server signs with.
func (s *shop) keys() access.LinkKeys {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "link.keys"))
	if err != nil {
		s.t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		s.t.Fatal(err)
	}
	return access.LinkKeys{key}
}

// attack has a run of anna's that waits, and others to confuse it with.
type attack struct {
	*shop
	t     *testing.T
	asked reply // of anna's run
	sus   string
	mate  reply // another run of anna's
	far   reply // eve's, of the other tenant
}

func (a *attack) state(change func(*access.State)) string {
	st := access.State{Tenant: access.Tenant, By: "token:anna", Run: a.asked.Result.Meta.Run.RunID, Expires: time.Now().Add(time.Hour)}
	change(&st)
	return a.keys().SignState(st)
}

// tries sends a retry with this state and these responses.
func (a *attack) tries(name, state string, responses map[string]any) reply {
	return a.peer(name, asking).call("desk", map[string]any{"input": "pay 50"}, map[string]any{"requestState": state, "inputResponses": responses})
}

func (a *attack) yes() map[string]any { return map[string]any{a.sus: approved()} }

// forgeries are requests by which nothing may run. Each returns the answer that it got.
var forgeries = map[string]struct {
	try  func(a *attack) reply
	code string // of the refusal; empty: the answer just shows that nothing was decided
}{
	"responses without a state": {func(a *attack) reply { return a.tries("anna", "", a.yes()) }, "invalid_request"},
	"a state that is none":      {func(a *attack) reply { return a.tries("anna", "state", a.yes()) }, "invalid_request"},
	"the id of the run as state": {func(a *attack) reply {
		return a.tries("anna", "run:"+a.asked.Result.Meta.Run.RunID, a.yes())
	}, "invalid_request"},
	"a state that is cut": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState[:len(a.asked.Result.RequestState)-2], a.yes())
	}, "invalid_request"},
	"a state with another run in it": {func(a *attack) reply {
		text, mac, _ := strings.Cut(a.mate.Result.RequestState, ".")
		raw, _ := base64.RawURLEncoding.DecodeString(text)
		raw = []byte(strings.Replace(string(raw), a.mate.Result.Meta.Run.RunID, a.asked.Result.Meta.Run.RunID, 1))
		return a.tries("anna", base64.RawURLEncoding.EncodeToString(raw)+"."+mac, a.yes())
	}, "invalid_request"},
	"a state signed with another key": {func(a *attack) reply {
		st := access.State{Tenant: access.Tenant, By: "token:anna", Run: a.asked.Result.Meta.Run.RunID, Expires: time.Now().Add(time.Hour)}
		return a.tries("anna", access.LinkKeys{make([]byte, 32)}.SignState(st), a.yes())
	}, "invalid_request"},
	"a state that has expired": {func(a *attack) reply {
		return a.tries("anna", a.state(func(s *access.State) { s.Expires = time.Now().Add(-time.Second) }), a.yes())
	}, "link_expired"},
	"a ticket of a stream as state": {func(a *attack) reply {
		return a.tries("anna", a.keys().SignTicket(access.Ticket{Tenant: access.Tenant, Name: "anna", Run: a.asked.Result.Meta.Run.RunID, Expires: time.Now().Add(time.Hour)}), a.yes())
	}, "invalid_request"},
	"an approval link as state": {func(a *attack) reply {
		return a.tries("anna", a.keys().Sign(access.Link{ID: "lnk_1", Tenant: access.Tenant, Run: a.asked.Result.Meta.Run.RunID, Suspension: a.sus, Expires: time.Now().Add(time.Hour)}), a.yes())
	}, "invalid_request"},
	"the state of another caller":           {func(a *attack) reply { return a.tries("ben", a.asked.Result.RequestState, a.yes()) }, "invalid_request"},
	"the state of a caller who may do less": {func(a *attack) reply { return a.tries("reader", a.asked.Result.RequestState, a.yes()) }, "invalid_request"},
	"the state of another tenant":           {func(a *attack) reply { return a.tries("eve", a.asked.Result.RequestState, a.yes()) }, "invalid_request"},
	"a state of a run of another tenant": {func(a *attack) reply {
		return a.tries("eve", a.state(func(s *access.State) { s.Tenant, s.By = "other", "token:eve" }), a.yes())
	}, "run_not_found"},
	"the state of a call of another tool": {func(a *attack) reply {
		return a.peer("anna", asking).retry("voted", "pay 50", a.asked, a.yes())
	}, "invalid_request"},
	"an answer to a question of another run": {func(a *attack) reply {
		return a.tries("anna", a.mate.Result.RequestState, a.yes())
	}, ""},
	"an answer to a question of another tenant": {func(a *attack) reply {
		return a.tries("eve", a.far.Result.RequestState, a.yes())
	}, ""},
	"an answer to no question": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{"sus_9_x_y": approved(), "": approved(), "call_9": approved()})
	}, ""},
	"an answer under the id of the call": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.waiting(a.asked.Result.Meta.Run.RunID).CallID: approved()})
	}, ""},
	"arguments in the retry": {func(a *attack) reply {
		return a.peer("anna", asking).call("desk", map[string]any{"input": "pay 5", "approved": true, "arguments": map[string]any{"amount": 1}},
			map[string]any{"requestState": a.asked.Result.RequestState})
	}, ""},
	"a yes that is text": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.sus: accept(map[string]any{"approved": "true"})})
	}, "unclear_decision"},
	"a yes that is a number": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.sus: accept(map[string]any{"approved": 1})})
	}, "unclear_decision"},
	"a form without a yes": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.sus: accept(map[string]any{"reason": "approved"})})
	}, "unclear_decision"},
	"a form that is empty": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.sus: accept(nil)})
	}, "unclear_decision"},
	"an action that there is none of": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.sus: map[string]any{"action": "approve", "content": map[string]any{"approved": true}}})
	}, "unclear_decision"},
	"a result in the place of a yes": {func(a *attack) reply {
		return a.tries("anna", a.asked.Result.RequestState, map[string]any{a.sus: accept(map[string]any{"answer": "paid", "result": "paid"})})
	}, "unclear_decision"},
	"a yes by who may not decide": {func(a *attack) reply {
		return a.tries("reader", a.state(func(s *access.State) { s.By = "token:reader" }), a.yes())
	}, "role_required"},
	"a yes by who may not read": {func(a *attack) reply {
		return a.tries("starter", a.state(func(s *access.State) { s.By = "token:starter" }), a.yes())
	}, "role_required"},
	"a task of another tenant": {func(a *attack) reply {
		return a.peer("eve", both).send("tasks/update", map[string]any{"taskId": a.asked.Result.Meta.Run.RunID, "inputResponses": a.yes()})
	}, "run_not_found"},
	"a task by who may not decide": {func(a *attack) reply {
		return a.peer("reader", both).send("tasks/update", map[string]any{"taskId": a.asked.Result.Meta.Run.RunID, "inputResponses": a.yes()})
	}, "role_required"},
	"a task that is a thread": {func(a *attack) reply {
		return a.peer("anna", both).send("tasks/update", map[string]any{"taskId": a.asked.Result.Meta.Run.ThreadID, "inputResponses": a.yes()})
	}, "run_not_found"},
	"a cancel of another tenant": {func(a *attack) reply {
		return a.peer("eve", both).send("tasks/cancel", map[string]any{"taskId": a.asked.Result.Meta.Run.RunID})
	}, "run_not_found"},
	"decide for another tenant": {func(a *attack) reply {
		return a.peer("eve", asking).call("decide", map[string]any{"target": a.sus, "action": "resume"})
	}, "call_not_found"},
	"decide with a run that it isn't of": {func(a *attack) reply {
		return a.peer("anna", asking).call("decide", map[string]any{"run_id": a.mate.Result.Meta.Run.RunID, "target": a.sus, "action": "resume"})
	}, "call_not_found"},
	"decide about another question": {func(a *attack) reply {
		return a.peer("anna", asking).call("decide", map[string]any{"target": a.sus, "action": "resume", "shown": "v1:" + strings.Repeat("0", 64)})
	}, "changed"},
	"decide with unknown members": {func(a *attack) reply {
		return a.peer("anna", asking).call("decide", map[string]any{"target": a.sus, "action": "resume", "force": true})
	}, "unknown_field"},
	"a call to an agent of another tenant": {func(a *attack) reply { return a.peer("eve", asking).ask("voted", "pay 50") }, "agent_not_found"},
	"a token that is none":                 {func(a *attack) reply { return a.tries("nobody", a.asked.Result.RequestState, a.yes()) }, "unauthorized"},
	"a page of another site": {func(a *attack) reply {
		p := a.peer("anna", asking)
		return p.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), "tools/list", nil, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") })
	}, ""},
}

func TestForgeriesRunNothing(t *testing.T) {
	s := newShop(t)
	anna := s.peer("anna", asking)
	a := &attack{shop: s, t: t, asked: anna.ask("desk", "pay 50"), mate: anna.ask("desk", "pay 60"), far: s.peer("eve", asking).ask("desk", "pay 70")}
	a.sus = a.asked.sus(t)
	for name, forgery := range forgeries {
		t.Run(name, func(t *testing.T) {
			got := forgery.try(a)
			if got.code() != forgery.code {
				t.Errorf("%d %s", got.status, got.raw)
			}
			if waits := s.waiting(a.asked.Result.Meta.Run.RunID); waits.Suspension.ID != a.sus {
				t.Errorf("the run waits on %+v", waits)
			}
			if paid := s.payments(); len(paid) > 0 {
				t.Fatalf("paid %v", paid)
			}
		})
	}
	// what was tried hinders nothing
	if got := anna.retry("desk", "pay 50", a.asked, a.yes()).Result.text(); got != "Paid." {
		t.Errorf("got %q", got)
	}
	if paid := s.payments(); len(paid) != 1 || paid[0].Amount != 50 {
		t.Errorf("paid %v", paid)
	}
}

// rivals decide about one call at once, half of them by the protocol and half by the API.
const rivals = 32

func TestOneOfManyDecisionsCounts(t *testing.T) {
	s := newShop(t)
	for round := range 3 {
		anna := s.peer("anna", asking)
		asked := anna.ask("desk", "pay 50")
		sus, run := asked.sus(t), asked.Result.Meta.Run.RunID
		before := len(s.payments())
		var mu sync.Mutex
		accepted := map[bool]int{}
		told := 0
		note := func(yes bool, code string) {
			mu.Lock()
			defer mu.Unlock()
			switch code {
			case "accepted":
				accepted[yes]++
			case "already_decided":
				told++
			default:
				t.Errorf("got %q", code)
			}
		}
		start := make(chan struct{})
		var all sync.WaitGroup
		for n := range rivals {
			yes := (n/4+round)%2 == 0
			who := []string{"anna", "ben"}[n/2%2]
			all.Go(func() {
				<-start
				switch n % 4 {
				case 0: // a retry
					got := s.peer("anna", asking).retry("desk", "pay 50", asked, map[string]any{sus: accept(map[string]any{"approved": yes, "reason": who + string(rune('a'+n))})})
					if len(got.Result.Meta.Answers) != 1 {
						t.Errorf("got %s", got.raw)
						return
					}
					note(yes, got.Result.Meta.Answers[0].Code)
				case 1: // the tool
					action := map[bool]string{true: "resume", false: "cancel"}[yes]
					got := s.peer(who, silent).call("decide", map[string]any{"run_id": run, "target": sus, "action": action, "reason": string(rune('a' + n))})
					note(yes, got.code())
				case 2: // a task
					got := s.peer(who, both).send("tasks/update", map[string]any{"taskId": run, "inputResponses": map[string]any{sus: accept(map[string]any{"approved": yes, "reason": string(rune('a' + n))})}})
					note(yes, got.Result.Meta.Answers[0].Code)
				default: // the API
					d := client.Decision{Target: sus, Action: client.ActionCancel, Reason: string(rune('a' + n))}
					if yes {
						d.Action = client.ActionResume
					}
					answer, err := s.api(who).Decide(t.Context(), run, d)
					if refused, is := errors.AsType[*client.Error](err); is {
						answer.Code = refused.Code
					}
					note(yes, answer.Code)
				}
			})
		}
		close(start)
		all.Wait()
		s.done(run)
		if accepted[true]+accepted[false] != 1 || told != rivals-1 {
			t.Errorf("%v accepted, %d told", accepted, told)
		}
		if got := len(s.payments()) - before; got != accepted[true] {
			t.Errorf("%d payments, %d approvals", got, accepted[true])
		}
	}
}
