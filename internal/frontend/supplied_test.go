package frontend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// acceptingAll is a fixture whose agent accepts what comes, until refuses is set.
func acceptingAll(t *testing.T) (x *fixture, refuses *error) {
	var why error
	return newFixtureWith(t, func(o *frontend.Options) {
		o.Accepts = func(engine.Definition, supplied.Input) error { return why }
	}), &why
}

func bringing(input string) wire.StartRequest {
	return wire.StartRequest{Agent: "desk", Input: core.Encode(input), Supplied: wire.Supplied{ClientTools: []wire.ClientTool{{Name: "show_map"}},
		Context: []wire.ContextItem{{Description: "page", Value: core.Encode("orders")}}, State: core.Encode(map[string]int{"zoom": 3})}}
}

func (x *fixture) brings(key string, req wire.StartRequest) wire.Run {
	x.t.Helper()
	s, err := x.Start(x.t.Context(), anna, key, req)
	if err != nil {
		x.t.Fatal(err)
	}
	return s.Run
}

// brought is what the run of the thread was given, as it is stored.
func (x *fixture) brought(thread string) supplied.Input {
	x.t.Helper()
	h := x.head(thread)
	stored, err := x.store.Payload(x.t.Context(), anna.Tenant, thread, h.Supplied)
	if err != nil {
		x.t.Fatal(err)
	}
	in, err := supplied.Read(stored, h.Supplied)
	if err != nil || h.Schema != core.SchemaSupplied {
		x.t.Fatalf("schema %d, %v", h.Schema, err)
	}
	return in
}

func TestAStartStoresWhatItSuppliesBesideItsRun(t *testing.T) {
	x, _ := acceptingAll(t)
	run := x.brings("k1", bringing("hi"))
	if in := x.brought(run.ThreadID); len(in.Tools) != 1 || len(in.Context) != 1 || string(in.State) != `{"zoom":3}` {
		t.Errorf("%+v", in)
	}
	if h := x.head(x.start().ThreadID); h.Schema != core.SchemaAlone || h.Supplied != "" {
		t.Errorf("a start that supplies nothing has schema %d", h.Schema)
	}
	if again := x.brings("k1", bringing("hi")); again.ID != run.ID {
		t.Errorf("a repeat started %s", again.ID)
	}
	for name, change := range map[string]func(*wire.StartRequest){
		"another tool":  func(r *wire.StartRequest) { r.ClientTools[0].Name = "send_mail" },
		"other context": func(r *wire.StartRequest) { r.Context[0].Value = core.Encode("other") },
		"another state": func(r *wire.StartRequest) { r.State = core.Encode(4) },
		"nothing":       func(r *wire.StartRequest) { r.ClientTools, r.Context, r.State = nil, nil, nil },
	} {
		other := bringing("hi")
		change(&other)
		_, err := x.Start(t.Context(), anna, "k1", other)
		if e := new(refusal.Error); !errors.As(err, &e) || e.Code != refusal.CodeIdempotencyMismatch {
			t.Errorf("%s under the same key: %v", name, err)
		}
	}
}

func TestARunThatIsRetriedHasWhatItWasGiven(t *testing.T) {
	x, refuses := acceptingAll(t)
	run := x.brings("", bringing("hi"))
	before := x.brought(run.ThreadID)
	x.worker.End(run.ID, crashed, "I was about to")
	*refuses = errors.New("the agent desk does not accept client_tools in a request")
	x.unchanged(run.ThreadID, func() {
		_, err := x.Retry(t.Context(), anna, run.ID, "")
		x.wantCode(err, refusal.CodeInvalid)
	})
	*refuses = nil
	if _, err := x.Retry(t.Context(), anna, run.ID, ""); err != nil {
		t.Fatal(err)
	}
	after := x.brought(run.ThreadID)
	if string(core.Encode(after)) != string(core.Encode(before)) {
		t.Errorf("%+v became %+v", before, after)
	}
}

func TestTheNextRunOfAThreadHasOnlyWhatItsOwnStartSupplies(t *testing.T) {
	x, _ := acceptingAll(t)
	run := x.brings("", bringing("hi"))
	x.worker.End(run.ID, core.Reason{Kind: core.NaturalEnd}, "done")
	next := x.brings("", wire.StartRequest{Agent: "desk", Input: core.Encode("more"), ThreadID: run.ThreadID})
	if h := x.head(next.ThreadID); h.Supplied != "" || h.Schema != core.SchemaAlone {
		t.Errorf("%q, schema %d", h.Supplied, h.Schema)
	}
	x.worker.End(next.ID, core.Reason{Kind: core.NaturalEnd}, "done")
	req := bringing("again")
	req.ThreadID = run.ThreadID
	x.brings("", req)
	x.brought(run.ThreadID)
}

// An open run was started with rules and words that its approvals were given on. A message changes
// neither.
func TestAnOpenRunTakesNoToolsContextOrState(t *testing.T) {
	x, _ := acceptingAll(t)
	run := x.brings("", wire.StartRequest{Agent: "desk", Input: core.Encode("hi")})
	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})
	for _, on := range []string{"", "abandon", "queue"} {
		req := bringing("more")
		req.ThreadID, req.OnPending = run.ThreadID, on
		x.unchanged(run.ThreadID, func() {
			_, err := x.Start(t.Context(), anna, "", req)
			x.wantCode(err, refusal.CodeRunOpen)
		})
	}
}

// What a message supplies is for the run that it starts. An open run keeps its own.
func TestAMessageSuppliesTheRunThatItStarts(t *testing.T) {
	x, _ := acceptingAll(t)
	run := x.brings("", wire.StartRequest{Agent: "desk", Input: core.Encode("hi")})
	message := wire.MessageRequest{Input: core.Encode("more"), Supplied: bringing("").Supplied}
	if _, err := x.Message(t.Context(), anna, run.ThreadID, "", message); err != nil {
		t.Fatal(err)
	}
	if h := x.head(run.ThreadID); h.Run != run.ID || h.Supplied != "" {
		t.Errorf("the open run has %q", h.Supplied)
	}
	queued := message
	queued.OnPending = "queue"
	_, err := x.Message(t.Context(), anna, run.ThreadID, "", queued)
	x.wantCode(err, refusal.CodeRunOpen)
	x.worker.End(run.ID, core.Reason{Kind: core.NaturalEnd}, "done")
	s, err := x.Message(t.Context(), anna, run.ThreadID, "", message)
	if err != nil || s.Run.ID == run.ID {
		t.Fatalf("%+v, %v", s, err)
	}
	if in := x.brought(run.ThreadID); len(in.Tools) != 1 || len(in.Context) != 1 || string(in.State) != `{"zoom":3}` {
		t.Errorf("%+v", in)
	}
}

// A client sends its message again with the context and the state that it has by then.
func TestARepeatedMessageIDIsKnownWithOtherContext(t *testing.T) {
	x, _ := acceptingAll(t)
	first := bringing("hi")
	first.ThreadKey, first.MessageID = "chat", "m1"
	run := x.brings("", first)
	again := first
	again.Supplied = wire.Supplied{State: core.Encode(4)}
	if s := x.brings("", again); s.ID != run.ID {
		t.Errorf("the repeat started %s", s.ID)
	}
	if in := x.brought(run.ThreadID); len(in.Tools) != 1 || string(in.State) != `{"zoom":3}` {
		t.Errorf("%+v", in)
	}
	again.Input = core.Encode("ho")
	_, err := x.Start(t.Context(), anna, "", again)
	x.wantCode(err, refusal.CodeIdempotencyMismatch)
}

func TestWhatTheAgentDoesNotAcceptStartsNothing(t *testing.T) {
	x, refuses := acceptingAll(t)
	*refuses = errors.New("client_tools[0]: the name \"refund\" is that of the agent's tool")
	req := bringing("hi")
	req.ThreadKey = "chat"
	_, err := x.Start(t.Context(), anna, "", req)
	if e := x.wantCode(err, refusal.CodeInvalid); !strings.Contains(e.Detail, "client_tools[0]") {
		t.Errorf("%s", e.Detail)
	}
	if _, err := x.ThreadByKey(t.Context(), anna, "chat"); err == nil {
		t.Error("the conversation was created")
	}
	_, err = newFixture(t, nil).Start(t.Context(), anna, "", bringing("hi"))
	x.wantCode(err, refusal.CodeInvalid)
}
