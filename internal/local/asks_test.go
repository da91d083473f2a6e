package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
)

func askServer(t *testing.T) running {
	t.Helper()
	return newRig(t, nil).start()
}

// asked starts an ask and returns it once it is in the inbox.
func (s running) asked(t *testing.T, req client.AskRequest) client.Ask {
	t.Helper()
	started, err := s.Ask(t.Context(), req, "")
	if err != nil {
		t.Fatal(err)
	}
	s.await(t, started.ID, client.StatusWaiting)
	now, err := s.PollAsk(t.Context(), started.ID, 0)
	if err != nil || now.Status != client.AskWaiting || now.Suspension == "" {
		t.Fatalf("%+v, %v", now, err)
	}
	return now
}

func (s running) decideAsk(t *testing.T, a client.Ask, d client.Decision) client.Ask {
	t.Helper()
	d.Target = a.Suspension
	if _, err := s.Decide(t.Context(), a.ID, d); err != nil {
		t.Fatal(err)
	}
	now, err := s.WaitAsk(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

var deploy = client.AskRequest{Title: "Deploy 4.2 to production?", Arguments: []byte(`{"version":"4.2","hosts":3}`)}

func TestAnAskShowsItsApproversWhatWasSent(t *testing.T) {
	s := askServer(t)
	s.asked(t, deploy)
	for a, err := range s.Approvals(t.Context(), client.ApprovalFilter{Agent: ask.Agent}) {
		if err != nil {
			t.Fatal(err)
		}
		want := []client.Request{{Text: deploy.Title, Via: "api"}}
		if diff := cmp.Diff(want, a.Requests); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if string(a.Arguments) != `{"hosts":3,"version":"4.2"}` || a.Kind != client.KindApproval || a.Grantable {
			t.Errorf("%+v", a)
		}
	}
}

func TestAnAskIsDecided(t *testing.T) {
	s := askServer(t)
	for _, tt := range []struct {
		name            string
		decision        client.Decision
		status, because string
		arguments       string
	}{
		{"yes", client.Decision{Action: "resume", Reason: "go"}, client.AskApproved, "go", `{"hosts":3,"version":"4.2"}`},
		{"no", client.Decision{Action: "cancel", Reason: "freeze"}, client.AskDenied, "freeze", `{"hosts":3,"version":"4.2"}`},
		{"edited", client.Decision{Action: "resume", Arguments: []byte(`{"version":"4.2","hosts":1}`)}, client.AskApproved, "", `{"hosts":1,"version":"4.2"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.decideAsk(t, s.asked(t, deploy), tt.decision)
			if got.Status != tt.status || got.Reason != tt.because || string(got.Arguments) != tt.arguments || got.DecidedAt == nil || got.Via != "api" || got.Title != deploy.Title {
				t.Errorf("%+v", got)
			}
			if edited := got.Asked != nil; edited != (tt.decision.Arguments != nil) {
				t.Errorf("asked arguments %s", got.Asked)
			}
		})
	}
}

func TestAnAskSurvivesARestart(t *testing.T) {
	r := newRig(t, nil)
	s := r.start()
	a := s.asked(t, deploy)
	s.end(t)
	s = r.start()
	if got := s.decideAsk(t, a, client.Decision{Action: "resume"}); got.Status != client.AskApproved {
		t.Errorf("%+v", got)
	}
}

func TestAnAskTimesOut(t *testing.T) {
	s := askServer(t)
	req := deploy
	req.Deadline = "1s"
	started, err := s.Ask(t.Context(), req, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.PollAsk(t.Context(), started.ID, 20*time.Second)
	if err != nil || got.Status != client.AskTimedOut || got.Via != "deadline" || got.Deadline == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnAskIsCancelled(t *testing.T) {
	s := askServer(t)
	a := s.asked(t, deploy)
	if _, err := s.CancelAsk(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	got, err := s.WaitAsk(t.Context(), a.ID)
	if err != nil || got.Status != client.AskCancelled {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnAskIsStartedOnceForEachKey(t *testing.T) {
	s := askServer(t)
	first, err := s.Ask(t.Context(), deploy, "release-4.2")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Ask(t.Context(), deploy, "release-4.2")
	if err != nil || again.ID != first.ID {
		t.Errorf("%+v, %v", again, err)
	}
	other := deploy
	other.Title = "Deploy 4.3 to production?"
	if _, err := s.Ask(t.Context(), other, "release-4.2"); codeOf(err) != "idempotency_mismatch" {
		t.Errorf("another title under the same key: %v", err)
	}
	if _, err := s.StartRun(t.Context(), client.StartRequest{Agent: ask.Agent, Input: client.Text("Deploy?")}, ""); codeOf(err) != "invalid_request" {
		t.Errorf("started as a run: %v", err)
	}
	run, err := s.Run(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, on := range []string{client.OnPendingRefuse, client.OnPendingAbandon, client.OnPendingQueue} {
		if _, err := s.SendMessage(t.Context(), run.ThreadID, client.MessageRequest{Input: client.Text("yes"), OnPending: on}, ""); codeOf(err) != "invalid_request" {
			t.Errorf("a message, %s: %v", on, err)
		}
	}
}

// Who may approve, of those whose tokens are in the file: ci asks, and each tries.
func TestWhoApprovesAnAsk(t *testing.T) {
	r := newRig(t, nil)
	o := r.options()
	o.TokensFile = filepath.Join(t.TempDir(), "tokens")
	tenant := access.Tenant
	tokens := line("ci", tenant, "ci", access.Start, access.Decide) + line("anna", tenant, "anna", access.Decide) + line("ops-kim", tenant, "kim", access.Decide) +
		line("bot", tenant, "bot", access.Start)
	if err := os.WriteFile(o.TokensFile, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.startWith(o)
	as := func(token string) running {
		return running{s.Server, client.New("http://"+s.Addr(), client.WithToken(token), client.WithRetries(0)), nil}
	}
	for _, tt := range []struct {
		name      string
		approvers []string
		notBy     string
		refused   map[string]string // code by token
		approves  string
	}{
		{"named", []string{"token:ops-*"}, "", map[string]string{"ci": "not_an_approver", "anna": "not_an_approver"}, "kim"},
		{"not the one who asks", nil, "starter", map[string]string{"ci": "separation_of_duties"}, "anna"},
		{"both", []string{"token:ci", "token:anna"}, "starter", map[string]string{"ci": "separation_of_duties", "kim": "not_an_approver"}, "anna"},
		{"anyone who decides", nil, "", nil, "ci"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := deploy
			req.Approvers, req.NotBy = tt.approvers, tt.notBy
			a, err := as("ci").Ask(t.Context(), req, "")
			if err != nil {
				t.Fatal(err)
			}
			for a.Suspension == "" {
				if a, err = as("ci").PollAsk(t.Context(), a.ID, 0); err != nil {
					t.Fatal(err)
				}
			}
			edited := client.Decision{Target: a.Suspension, Action: "resume", Arguments: []byte(`{"version":"4.3"}`)}
			for token, code := range tt.refused {
				for _, d := range []client.Decision{{Target: a.Suspension, Action: "resume"}, edited} {
					if _, err := as(token).Decide(t.Context(), a.ID, d); codeOf(err) != code {
						t.Errorf("%s: %v, want %s", token, err, code)
					}
				}
			}
			got := as(tt.approves).decideAsk(t, a, client.Decision{Action: "resume"})
			if got.Status != client.AskApproved || got.StartedBy.By != "token:ci" || !strings.HasSuffix(got.DecidedBy, tt.approves) {
				t.Errorf("%+v", got)
			}
			if _, err := as("bot").PollAsk(t.Context(), a.ID, 0); codeOf(err) != "run_not_found" {
				t.Errorf("another starter reads it: %v", err)
			}
		})
	}
}

// Of many answers at once, one decides, and everyone reads the same.
func TestOneOfManyAnswersToAnAskDecides(t *testing.T) {
	s := askServer(t)
	a := s.asked(t, deploy)
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			d := client.Decision{Target: a.Suspension, Action: []string{"resume", "cancel"}[i%2], DecisionID: fmt.Sprint("d", i)}
			answer, err := s.Decide(t.Context(), a.ID, d)
			switch {
			case err == nil && answer.Code == client.CodeAccepted:
				accepted.Add(1)
			case codeOf(err) != client.CodeAlreadyDecided:
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	wg.Wait()
	got, err := s.WaitAsk(t.Context(), a.ID)
	if err != nil || accepted.Load() != 1 || got.Status != client.AskApproved && got.Status != client.AskDenied {
		t.Errorf("%d accepted: %+v, %v", accepted.Load(), got, err)
	}
}

func codeOf(err error) string {
	refused, _ := errors.AsType[*client.Error](err)
	if refused == nil {
		return ""
	}
	return refused.Code
}
