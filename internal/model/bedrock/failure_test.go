package bedrock_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

func faulty(f modeldouble.Fault) modeldouble.Said {
	s := said("Refunded: 12 € to Zoë.", call("a", "refund", `{"id":"0123456789"}`))
	s.Piece, s.Fault = 5, f
	return s
}

func TestFailuresThatMayPassAreLeftForLater(t *testing.T) {
	busy := map[modeldouble.Fault]bool{modeldouble.Throttled: true, modeldouble.NotReady: true}
	modes(t, func(t *testing.T, m agent.Model) {
		for _, f := range []modeldouble.Fault{modeldouble.Throttled, modeldouble.NotReady, modeldouble.TimedOut, modeldouble.ServerError, modeldouble.Unreachable,
			modeldouble.Cut, modeldouble.Aborted, modeldouble.HalfFrame, modeldouble.Garbled, modeldouble.LateThrottled, modeldouble.LateError} {
			r := newRig(t, m, faulty(f))
			began := r.clock.Now()
			turn, err := r.Ask(t.Context(), prompt(user("Refund it.")))
			later, ok := errors.AsType[*engine.TryLater](err)
			if !ok || later.Detail == "" || len(r.asked) != 3 {
				t.Errorf("%s: %+v, %v after %d requests", f, turn, err, len(r.asked))
				continue
			}
			if want := busy[f] || f == modeldouble.LateThrottled && m.Whole; later.Busy != want {
				t.Errorf("%s: busy is %v", f, later.Busy)
			}
			answered := map[modeldouble.Fault]bool{modeldouble.TimedOut: true, modeldouble.Cut: !m.Whole, modeldouble.Aborted: !m.Whole, modeldouble.HalfFrame: !m.Whole,
				modeldouble.Garbled: !m.Whole, modeldouble.LateThrottled: !m.Whole, modeldouble.LateError: true}
			if later.Answered != answered[f] {
				t.Errorf("%s: answered is %v", f, later.Answered)
			}
			if took := r.clock.Now().Sub(began); took <= 0 || took > 5*time.Second {
				t.Errorf("%s: %v were spent between requests", f, took)
			}
		}
	})
}

func TestARequestIsRepeatedOnceItSucceeds(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		for _, f := range []modeldouble.Fault{modeldouble.Throttled, modeldouble.Cut, modeldouble.LateError} {
			r := newRig(t, m, faulty(f), faulty(modeldouble.None))
			if turn := r.ask(t, prompt(user("Refund it."))); turn.Text == "" || len(turn.Calls) != 1 || len(r.asked) != 2 {
				t.Errorf("%s: %+v after %d requests", f, turn, len(r.asked))
			}
		}
	})
}

func TestWhatIsSaidAgainBeginsWithARestart(t *testing.T) {
	for f, restarts := range map[modeldouble.Fault]int{modeldouble.Throttled: 0, modeldouble.Aborted: 1, modeldouble.Cut: 1} {
		r := newRig(t, agent.Model{}, faulty(f), faulty(modeldouble.None))
		p, heard, begun := prompt(user("Refund it.")), "", 0
		p.Say = func(d engine.Delta) {
			if heard += d.Text; d.Restart {
				heard, begun = "", begun+1
			}
		}
		if turn := r.ask(t, p); heard != turn.Text || begun != restarts {
			t.Errorf("%s: heard %q of %q, with %d restarts", f, heard, turn.Text, begun)
		}
	}
}

func TestNothingIsAskedAgainThatBedrockWantsLeftAlone(t *testing.T) {
	for header, want := range map[string]time.Duration{"30": 30 * time.Second, "Fri, 15 Jan 2027 08:01:40 GMT": 100 * time.Second, "soon": 0, "-1": 0} {
		r := newRig(t, agent.Model{}, faulty(modeldouble.Throttled))
		r.head.Set("Retry-After", header)
		_, err := r.Ask(t.Context(), prompt(user("Hi.")))
		later, ok := errors.AsType[*engine.TryLater](err)
		if !ok || later.After != want || (len(r.asked) == 1) != (want > 0) {
			t.Errorf("%s: %+v (%v) after %d requests", header, later, err, len(r.asked))
		}
	}
}

func TestRefusalsSayWhatToDoAndNothingElse(t *testing.T) {
	modes(t, func(t *testing.T, m agent.Model) {
		for f, want := range map[modeldouble.Fault]string{modeldouble.Forbidden: "allow its role", modeldouble.Refused: "the log of the worker",
			modeldouble.NotFound: "correct model.model"} {
			r := newRig(t, m, faulty(f))
			_, err := r.Ask(t.Context(), prompt(user("Hi.")))
			failed, ok := errors.AsType[*engine.ModelError](err)
			if !ok || !strings.Contains(failed.Detail, want) || len(r.asked) != 1 {
				t.Fatalf("%s: %v after %d requests", f, err, len(r.asked))
			}
			for _, private := range []string{"arn:", "123456789012", "AWS4", plantedKey, plantedSecret, plantedSession} {
				if strings.Contains(err.Error(), private) {
					t.Errorf("%s: the error shows %q: %v", f, private, err)
				}
			}
		}
	})
}

func TestTheLogHasTheReasonAndNoCredential(t *testing.T) {
	r := newRig(t, agent.Model{}, faulty(modeldouble.Forbidden))
	if _, err := r.Ask(t.Context(), prompt(user("Hi."))); err == nil {
		t.Fatal("it was allowed")
	}
	log := r.log.String()
	for _, want := range []string{"AccessDeniedException", "assumed-role/step/step is not authorized", "run=run_1"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	for _, secret := range []string{plantedKey, plantedSecret, plantedSession, r.last().Header.Get("Authorization")} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q:\n%s", secret, log)
		}
	}
}

func TestTheContextsCauseEndsIt(t *testing.T) {
	gone := errors.New("the run was cancelled")
	modes(t, func(t *testing.T, m agent.Model) {
		ctx, cancel := context.WithCancelCause(t.Context())
		answer := faulty(modeldouble.None)
		answer.Shown = func(n int) { cancel(gone) }
		if m.Whole {
			answer = faulty(modeldouble.Throttled)
			cancel(gone)
		}
		if _, err := newRig(t, m, answer).Ask(ctx, prompt(user("Hi."))); !errors.Is(err, gone) {
			t.Fatalf("the error is %v", err)
		}
	})
}

func TestAnAnswerThatItsContextEndsHadBegun(t *testing.T) {
	gone, asked := errors.New("the time is over"), make(chan struct{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer close(asked)
	answer := faulty(modeldouble.None)
	answer.Shown = func(int) { <-asked }
	p := prompt(user("Hi."))
	p.Say = func(engine.Delta) { cancel(gone) }
	_, err := newRig(t, agent.Model{}, answer).Ask(ctx, p)
	if _, cut := errors.AsType[*engine.CutShort](err); !cut || !errors.Is(err, gone) {
		t.Errorf("the error is %#v", err)
	}
}

// choosy refuses a request whose body has a text in it.
func choosy(r *rig, text, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var seen modeldouble.Asked
		record := httptest.NewRecorder()
		modeldouble.Bedrock(func(a modeldouble.Asked) modeldouble.Said { seen = a; return r.answer(a) }).ServeHTTP(record, req)
		if strings.Contains(string(seen.Body), text) {
			w.Header().Set("X-Amzn-Errortype", "ValidationException")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(core.Encode(map[string]string{"message": message}))
			return
		}
		for name, values := range record.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(record.Code)
		_, _ = w.Write(record.Body.Bytes())
	}
}

func TestWhatAModelDoesNotTakeIsLeftOutFromThenOn(t *testing.T) {
	unsigned := core.Message{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartReasoning, Text: "hm", Provider: "bedrock", Sealed: []byte(`{}`)},
		{Type: core.PartText, Text: "Yes?"}}}
	for _, c := range []struct {
		name, refuses, message string
		messages               []core.Message
		left                   []string // cache points
	}{
		{"cache points", "cachePoint", "This model doesn't support the cachePoint field. Remove it and try again.", []core.Message{user("Hi.")}, nil},
		{"their lifetime", `"ttl"`, "The ttl of cachePoint is not supported.", []core.Message{user("Hi.")}, []string{"", "", ""}},
		{"those of tools", `}},{"cachePoint":{"ttl":"1h","type":"default"}}]`, "Caching of tools is not supported", []core.Message{user("Hi.")}, []string{"1h", "1h"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, agent.Model{}, said("Done."))
			model, err := bedrock.New(client(choosy(r, c.refuses, c.message)), bedrock.Options{Model: agent.Model{ID: modelID}, Clock: r.clock, Random: random{}})
			if err != nil {
				t.Fatal(err)
			}
			p := prompt(c.messages...)
			p.Patient, p.Tools = true, []core.ToolSpec{{Name: "refund"}}
			for _, requests := range []int{2, 3} { // the second time it is known
				if _, err := model.Ask(t.Context(), p); err != nil || len(r.asked) != requests {
					t.Fatalf("%v after %d requests, want %d", err, len(r.asked), requests)
				}
			}
			if diff := cmp.Diff(c.left, points(r.last().Body)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("unsigned reasoning", func(t *testing.T) { // the double refuses it
		r := newRig(t, agent.Model{}, said("Done."))
		if r.ask(t, prompt(user("Hi."), unsigned, user("Go on."))); len(r.asked) != 1 || core.ReasoningOf(r.last().Messages[1].Parts) != "" {
			t.Fatalf("%d requests, %+v", len(r.asked), r.last().Messages)
		}
	})
}

func TestLeavingThingsOutComesToAnEnd(t *testing.T) {
	refusals := 0
	model, err := bedrock.New(client(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refusals++
		w.Header().Set("X-Amzn-Errortype", "ValidationException")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"message":"cachePoint, ttl, tool and reasoning are all wrong"}`))
	})), bedrock.Options{Model: agent.Model{ID: modelID, Cache: "1h"}, Clock: newClock(), Random: random{}})
	if err != nil {
		t.Fatal(err)
	}
	p := prompt(user("Hi."))
	p.Tools = []core.ToolSpec{{Name: "refund"}}
	if _, err := model.Ask(t.Context(), p); !errors.As(err, new(*engine.ModelError)) || refusals != 4 {
		t.Fatalf("%v after %d requests", err, refusals)
	}
}

func TestOverARealConnection(t *testing.T) {
	for f, whole := range map[modeldouble.Fault]bool{modeldouble.None: true, modeldouble.Aborted: false, modeldouble.HalfFrame: false, modeldouble.Cut: false,
		modeldouble.Unreachable: false, modeldouble.Garbled: false} {
		server := httptest.NewServer(modeldouble.Bedrock(func(modeldouble.Asked) modeldouble.Said { return faulty(f) }))
		model, err := bedrock.New(clientAt(server.URL, server.Client()), bedrock.Options{Model: agent.Model{ID: modelID}, Clock: newClock(), Random: random{}})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := model.Ask(t.Context(), prompt(user("Refund it.")))
		if whole != (err == nil && turn.Text == "Refunded: 12 € to Zoë.") || !whole && !errors.Is(err, engine.ErrTryAgain) {
			t.Errorf("%s: %+v, %v", f, turn, err)
		}
		server.Close()
	}
}

func TestModelsThatCannotBeMade(t *testing.T) {
	o := bedrock.Options{Clock: newClock(), Random: random{}}
	for want, m := range map[string]agent.Model{"no id": {}, "model.output": {ID: "m", Output: []byte(`{"type":7}`)}, "model.request": {ID: "m", Request: []byte(`[1]`)}} {
		o.Model = m
		if _, err := bedrock.New(client(http.NotFoundHandler()), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := bedrock.New(nil, bedrock.Options{Model: agent.Model{ID: "m"}}); err == nil {
		t.Error("a model without a client was made")
	}
}
