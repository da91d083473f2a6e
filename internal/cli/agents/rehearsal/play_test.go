package rehearsal

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// stage answers every request for a run with what the function says, and every request for events
// at once with none.
func stage(t *testing.T, run func(r *http.Request) (int, any)) *client.Client {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := 200, any(wire.EventPage{Items: []wire.Event{}})
		if !strings.HasSuffix(r.URL.Path, "/events") {
			status, body = run(r)
		}
		w.Header().Set("Content-Type", "application/json")
		if status >= 400 {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // a client that is gone is not told
	}))
	t.Cleanup(web.Close)
	return client.New(web.URL, client.WithHTTPClient(web.Client()), client.WithRetries(0))
}

func play(t *testing.T, c *client.Client, text string, patience time.Duration) Result {
	t.Helper()
	s, problems := Read("x.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := Play(t.Context(), c, s, s.Tests[0], patience)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const short = "tests: [{name: a, steps: [{run: hi}, {decide: {approve: pay}}, {expect: {status: done}}]}]"

func waitingFor(suspension string) wire.Run {
	return wire.Run{ID: "run_1", ThreadID: "thr_1", Status: "waiting",
		Pending: []wire.Pending{{Tool: "pay", Kind: "approval", Suspension: wire.Suspension{ID: suspension}}}}
}

func TestARunThatDoesNotSettleIsGivenUp(t *testing.T) {
	c := stage(t, func(*http.Request) (int, any) { return 200, wire.Run{ID: "run_1", Status: "running"} })
	r := play(t, c, short, 50*time.Millisecond)
	if r.OK || r.Failure == nil || !strings.Contains(r.Failure.Problem, "neither waits nor is done after 50ms") {
		t.Errorf("%+v", r.Failure)
	}
}

func TestAModelThatDoesNotAnswerIsSaidToBeWhy(t *testing.T) {
	reset := wire.Event{Type: "step.reset", Data: json.RawMessage(`{"reason":"model_unavailable","text":"the endpoint refused the connection","try":1}`)}
	for _, tt := range []struct {
		name   string
		events []wire.Event
		want   string
	}{
		{"it fails", []wire.Event{reset}, "the model does not answer (the endpoint refused the connection)"},
		{"it answered later", []wire.Event{reset, {Type: "step.started"}}, "look at its tools"},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			var body any = wire.Run{ID: "run_1", Status: "running"}
			if strings.HasSuffix(r.URL.Path, "/events") {
				body = wire.EventPage{Items: tt.events}
			}
			_ = json.NewEncoder(w).Encode(body)
		}))
		r := play(t, client.New(web.URL, client.WithHTTPClient(web.Client()), client.WithRetries(0)), short, 200*time.Millisecond)
		web.Close()
		if r.Failure == nil || !strings.Contains(r.Failure.Problem, tt.want) {
			t.Errorf("%s: %+v", tt.name, r.Failure)
		}
	}
}

func TestAnAnswerIsWaitedForUntilItWasApplied(t *testing.T) {
	var decided, read atomic.Int64
	c := stage(t, func(r *http.Request) (int, any) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/decisions"):
			decided.Add(1)
			return 202, wire.DecisionAnswer{Status: 202, Code: "accepted"}
		// it was stored, and is applied a moment later
		case decided.Load() > 0 && read.Add(1) > 3:
			return 200, wire.Run{ID: "run_1", Status: "done"}
		}
		return 200, waitingFor("sus_1")
	})
	if r := play(t, c, short, time.Minute); !r.OK {
		t.Errorf("%+v", r.Failure)
	}
}

func TestARefusalOfTheServerEndsTheTest(t *testing.T) {
	c := stage(t, func(*http.Request) (int, any) {
		return 404, wire.Problem{Status: 404, Code: "agent_not_found", Detail: "no agent with this name is deployed; check the name"}
	})
	r := play(t, c, short, time.Minute)
	if r.OK || r.Failure.Line != 1 || r.Failure.Problem != "the server refused it (agent_not_found): no agent with this name is deployed; check the name" {
		t.Errorf("%+v", r.Failure)
	}
}

// TestCallsAreInTheOrderOfTheModel: those that work at the same time end in any order.
func TestCallsAreInTheOrderOfTheModel(t *testing.T) {
	ask := func(id, city string) wire.ToolCall {
		return wire.ToolCall{ID: id, Name: "greet", Arguments: json.RawMessage(`{"city":"` + city + `"}`)}
	}
	messages := []wire.Message{ // with ids that come again
		{Role: "assistant", ToolCalls: []wire.ToolCall{ask("c1", "Rome"), ask("c2", "Oslo")}},
		{Role: "tool", CallID: "c2", Tool: "greet", Text: "Hei"},
		{Role: "tool", CallID: "c1", Tool: "greet", Text: "Ciao"},
		{Role: "assistant", ToolCalls: []wire.ToolCall{ask("c2", "Bonn"), ask("c1", "Bern")}},
		{Role: "tool", CallID: "c1", Tool: "greet", Text: "Salü"},
		{Role: "tool", CallID: "c2", Tool: "greet", Text: "Hallo"},
	}
	c := stage(t, func(r *http.Request) (int, any) {
		if strings.HasSuffix(r.URL.Path, "/messages") {
			return 200, client.Page[wire.Message]{Items: messages}
		}
		return 200, wire.Run{ID: "run_1", ThreadID: "thr_1", Status: "done"}
	})
	expected := ""
	for _, city := range []string{"Rome, result: Ciao", "Oslo, result: Hei", "Bonn, result: Hallo", "Bern, result: Salü"} {
		name, result, _ := strings.Cut(city, ", ")
		expected += "{tool: greet, arguments: {city: " + name + "}, " + result + "}, "
	}
	r := play(t, c, "tests: [{name: a, steps: [{run: hi}, {expect: {calls: ["+expected+"]}}]}]", time.Minute)
	if !r.OK {
		t.Errorf("%+v", r.Failure)
	}
}
