package local

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// secretive is desk with a second tool that needs a secret; it is never called.
const secretive = paying + `  - name: refund
    description: Refunds.
    http: {method: POST, url: "https://payments.example/refunds", headers: {Authorization: "Bearer {secret:PAY_TOKEN}"}}
    parameters: {type: object, properties: {order: {type: string}}}
permissions:
  ask: [pay, refund]
`

// talker is an agent that needs nothing.
const talker = "model: {provider: scripted, turns: [{say: Hello.}]}\n"

func (r *rig) put(file, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.agents, file), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// without is the reason that an agent is listed with.
func without(t *testing.T, s running, name string) string {
	t.Helper()
	listed, err := s.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range listed {
		if a.Name == name {
			one, err := s.Agent(t.Context(), name)
			if err != nil || one.Unavailable != a.Unavailable {
				t.Errorf("the list says %q, the agent %q, %v", a.Unavailable, one.Unavailable, err)
			}
			return a.Unavailable
		}
	}
	t.Fatalf("%s is not listed", name)
	return ""
}

func TestAnAgentThatCannotBeServedKeepsNoOtherFromBeingServed(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(secretive)
	r.put("good.yaml", talker)
	r.put("broken.yaml", "name: crooked\nmodel: {provider: scripted\n  turns: SuperSecretText\n")
	r.put("typo.yaml", talker+"tolls: []\n")
	r.put("hooked.yaml", talker+"hooks: [careful]\n")
	r.put("recorded.yaml", "model: {provider: recorded, file: not-there.jsonl}\n")
	s := r.start()
	for name, want := range map[string]string{"good": "", "desk": "the secret PAY_TOKEN is not set", "crooked": "broken.yaml", "typo": "typo.yaml",
		"hooked": `no hook "careful"`, "recorded": "recorded.yaml"} {
		reason := without(t, s, name)
		if (reason == "") != (want == "") || !strings.Contains(reason, want) {
			t.Errorf("%s: %q, want %q", name, reason, want)
		}
		if strings.Contains(reason, r.agents) || strings.Contains(reason, "SuperSecretText") {
			t.Errorf("%s: %q shows more than a caller may see", name, reason)
		}
		_, err := s.StartRun(t.Context(), wire.StartRequest{Agent: name, Input: []byte(`"hi"`)}, "")
		refused, _ := errors.AsType[*client.Error](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (refused == nil || refused.Code != "agent_unavailable" || refused.Status != http.StatusServiceUnavailable || !strings.Contains(refused.Detail, want)):
			t.Errorf("%s is started: %v", name, err)
		}
		if want != "" && !strings.Contains(r.log.text(), "agent="+name) {
			t.Errorf("%s: the log does not say it", name)
		}
	}
	if got := len(s.Unavailable()); got != 5 {
		t.Errorf("%d unavailable agents are announced", got)
	}
}

func TestAStrictServerRefusesToStartWithoutOneOfItsAgents(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(secretive)
	r.put("good.yaml", talker)
	o := r.options()
	o.Strict = true
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "PAY_TOKEN") {
		t.Errorf("got %v", err)
	}
}

// A run that waits for an approval is answered while its agent is unavailable: the answer waits
// with it.
func TestARunWaitsForItsAgentAndGoesOnOnceThatIsBack(t *testing.T) {
	r, paid := countingRig(t)
	value := &atomic.Value{}
	value.Store("s3cr3t-value")
	o := r.options()
	o.Secrets = func(context.Context, string) (string, error) {
		if v := value.Load().(string); v != "" {
			return v, nil
		}
		return "", secret.ErrNotSet
	}
	r.deploy(secretive)
	first := r.startWith(o)
	run := first.await(t, first.begin(t).ID, "waiting")
	first.end(t)

	value.Store("")
	second := r.startWith(o)
	if _, err := second.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatalf("the answer is refused: %v", err)
	}
	db := r.store()
	r.log.await(t, "a run waits for its agent")
	if h := head(t, db, run.ThreadID); h.End != nil || paid.Load() != 0 {
		t.Errorf("paid %d times, ended %+v", paid.Load(), h.End)
	}
	second.end(t)
	if h := head(t, db, run.ThreadID); len(h.Inbox) != 1 || h.Due == 0 || h.End != nil {
		t.Fatalf("inbox %v, due %d, end %+v", h.Inbox, h.Due, h.End)
	}
	// the pause is over
	if _, err := db.TakeOverdue(t.Context(), time.Now().Add(time.Hour).UnixMilli(), 1, 10); err != nil {
		t.Fatal(err)
	}
	value.Store("s3cr3t-value")
	third := r.startWith(o)
	if got := third.await(t, run.ID, "done"); got.Error != nil || paid.Load() != 1 {
		t.Errorf("paid %d times, %+v", paid.Load(), got.Error)
	}
}

// The file of an agent that is deployed gets a mistake: it is not taken away, and not served
// either.
func TestAFileWithAMistakeTakesNoDeployedAgentAway(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed)
	r.start().end(t)
	if err := os.Rename(filepath.Join(r.agents, "desk.yaml"), filepath.Join(r.agents, "other.yaml")); err != nil {
		t.Fatal(err)
	}
	r.put("other.yaml", "{{{ nothing of this is YAML, nor does it say a name")
	s := r.start()
	if reason := without(t, s, "desk"); !strings.Contains(reason, "other.yaml") {
		t.Errorf("got %q", reason)
	}
	if reason := without(t, s, "other"); !strings.Contains(reason, "other.yaml") {
		t.Errorf("got %q", reason)
	}
	s.end(t)
	r.put("other.yaml", talker)
	s = r.start()
	if listed, err := s.Agents(t.Context()); err != nil || len(listed) != 1 || listed[0].Name != "other" || listed[0].Unavailable != "" {
		t.Errorf("listed %+v, %v", listed, err)
	}
}
