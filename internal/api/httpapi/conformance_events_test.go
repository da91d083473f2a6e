package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// real is a whole runtime with the agent of docs/reference/agent-file.md. Its events are checked
// against the document.
type real struct {
	*client.Client
	t    *testing.T
	seen map[string]int
}

var fencedYAML = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func newReal(t *testing.T) real {
	t.Helper()
	page, err := os.ReadFile("../../../docs/reference/agent-file.md")
	if err != nil {
		t.Fatal(err)
	}
	agents := t.TempDir()
	files := fencedYAML.FindAllSubmatch(page, 2)
	if err := os.Mkdir(filepath.Join(agents, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"weather.yaml", "scripts/weather.yaml"} {
		if err := os.WriteFile(filepath.Join(agents, name), files[i][1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Agents: agents, Tools: tool.NewRegistry(nil), Hooks: hook.NewRegistry(), Version: "test",
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	checked := &http.Client{Transport: contract.Transport(t, http.DefaultTransport)}
	return real{client.New("http://"+server.Addr(), client.WithHTTPClient(checked), client.WithRetries(0)), t, map[string]int{}}
}

func (r real) start(text string) wire.Run {
	r.t.Helper()
	run, err := r.StartRun(r.t.Context(), wire.StartRequest{Agent: "weather", Input: json.RawMessage(`"` + text + `"`)}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return r.until(run.ID, "waiting", "done")
}

// until waits for a status, and fails the test if none of these comes.
func (r real) until(id string, statuses ...string) wire.Run {
	r.t.Helper()
	for {
		run, err := r.PollRun(r.t.Context(), id, 5*time.Second)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range statuses {
			if run.Status == s {
				return run
			}
		}
		if run.Status == "done" { // and stays so
			r.t.Fatalf("%s is done, and was none of %v", id, statuses)
		}
	}
}

func (r real) decide(run wire.Run, d wire.Decision) {
	r.t.Helper()
	d.Target = run.Pending[0].Suspension.ID
	if _, err := r.Decide(r.t.Context(), run.ID, d); err != nil {
		r.t.Fatal(err)
	}
}

// tells waits for an event of a type.
func (r real) tells(id, want string) {
	r.t.Helper()
	after := ""
	for {
		page, err := r.EventPage(r.t.Context(), id, client.EventQuery{After: after, Wait: 5 * time.Second, Limit: 100})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range page.Items {
			if e.Type == want {
				return
			}
		}
		if page.Done {
			r.t.Fatalf("%s is done, and told of no %s", id, want)
		}
		after = page.Next
	}
}

// ended reads all events of the run once it is done, as pages.
func (r real) ended(id string) {
	r.t.Helper()
	r.until(id, "done")
	page, err := r.EventPage(r.t.Context(), id, client.EventQuery{Limit: 1000})
	if err != nil || !page.Done {
		r.t.Fatalf("%+v, %v", page, err)
	}
	for _, e := range page.Items {
		r.seen[e.Type]++
	}
}

func TestWhatARealRunTellsIsInTheDocument(t *testing.T) {
	r := newReal(t)
	r.ended(r.start("What is the weather in Rome?").ID)
	r.ended(r.start("alert Rome 5").ID) // a rule denies it

	edited := r.start("alert Oslo 4")
	r.decide(edited, wire.Decision{Action: "resume", Arguments: json.RawMessage(`{"city":"Oslo","level":2}`), Grant: "run"})
	r.ended(edited.ID)
	denied := r.start("alert Rome 3")
	r.decide(denied, wire.Decision{Action: "cancel", Reason: "it is sunny"})
	r.ended(denied.ID)
	here := r.start("Will it rain here?")
	if _, err := r.SendMessage(t.Context(), here.ThreadID, wire.MessageRequest{Input: json.RawMessage(`"weather in Rome"`), OnPending: "queue"}, ""); err != nil {
		t.Fatal(err)
	}
	// with the answer in the same inbox, it would be the next turn and not queued
	r.tells(here.ID, "message.queued")
	r.decide(here, wire.Decision{Result: json.RawMessage(`{"city":"Oslo"}`)})
	r.ended(here.ID)
	cancelled := r.start("alert Rome 3")
	if _, err := r.Cancel(t.Context(), cancelled.ID); err != nil {
		t.Fatal(err)
	}
	r.ended(cancelled.ID)

	for _, want := range []string{"run.status", "turn.started", "turn.ended", "step.started", "step.ended", "text.ended", "call.ready", "call.started",
		"call.suspended", "call.resuming", "call.succeeded", "call.failed", "call.cancelled", "decision.recorded", "message.queued", "activation.ended"} {
		if r.seen[want] == 0 {
			t.Errorf("no event %s was seen, so that it was not held against the document: %v", want, r.seen)
		}
	}
}
