// Package modeltest is the test suite for adapters of model providers. Each adapter must pass it,
// against a double of the provider's API: a response arrives whole or not at all, failures are
// reported as [engine.Model] requires, and no secret leaks. The suite calls no real provider, and
// does not test features of a single provider.
package modeltest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// Provider is what the suite needs to know of a provider.
type Provider struct {
	Double func(modeldouble.Answer) http.Handler
	New    func(testing.TB, Surroundings) engine.Model

	// Reasoning is a reasoning part as the model may say it. It has to come back as it was.
	Reasoning core.Part

	// Stops are the provider's words for why a model stopped: to the code that the run is
	// stopped with, or to nothing if the turn is as any other.
	Stops map[string]string

	// Whole is how many bytes of a streamed answer make a turn: up to and with why the model
	// stopped. What follows says what it used.
	Whole func(answer []byte) int
}

// Surroundings are what a model is put into.
type Surroundings struct {
	Transport http.RoundTripper
	Clock     engine.Clock
	Random    engine.Random
	Logger    *slog.Logger
	Whole     bool // the answer in one piece
}

// Secret is to be the credential of the model, and SecretName its name where it has one.
const (
	Secret     = `s3cr3t/+"Key\of&the=model`
	SecretName = "MODEL_KEY"
)

// Suite runs it, streamed and in one piece.
func Suite(t *testing.T, p Provider) {
	for name, whole := range map[string]bool{"streamed": false, "in one piece": true} {
		t.Run(name, func(t *testing.T) {
			s := suite{p, whole}
			t.Run("answers", s.answers)
			t.Run("conversations", s.conversations)
			t.Run("faults", s.faults)
			t.Run("cuts", s.cuts)
			t.Run("stops", s.stops)
			t.Run("live text", s.live)
		})
	}
}

type suite struct {
	Provider
	whole bool
}

// rig is one model and its provider.
type rig struct {
	t     testing.TB
	model engine.Model
	clock *instant
	log   bytes.Buffer

	mu    sync.Mutex
	asked []modeldouble.Asked
}

// instant is a clock on which nobody waits: whoever sleeps moves it, and what was slept is kept. It
// moves in no other way.
type instant struct {
	*enginetest.Clock
	mu    sync.Mutex
	slept time.Duration
}

// Sleep implements what [engine.Sleep] looks for.
func (c *instant) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.slept += d
	c.mu.Unlock()
	c.Advance(d)
	return ctx.Err()
}

func newInstant() *instant {
	return &instant{Clock: enginetest.NewClock(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))}
}

// rig puts the model before its double; between is what lies between them, or nil.
func (s suite) rig(t testing.TB, answer modeldouble.Answer, between func(http.RoundTripper) http.RoundTripper) *rig {
	t.Helper()
	r := &rig{t: t, clock: newInstant()}
	transport := modeldouble.Transport(s.Double(func(asked modeldouble.Asked) modeldouble.Said {
		r.mu.Lock()
		r.asked = append(r.asked, asked)
		r.mu.Unlock()
		return answer(asked)
	}))
	if between != nil {
		transport = between(transport)
	}
	logger := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.model = s.New(t, Surroundings{Transport: transport, Clock: r.clock, Random: enginetest.NewRandom(t, 7), Logger: logger, Whole: s.whole})
	return r
}

// says answers the same whatever is asked.
func says(said modeldouble.Said) modeldouble.Answer {
	return func(modeldouble.Asked) modeldouble.Said { return said }
}

// inTurn answers with one after the other, and then always with the last.
func inTurn(all ...modeldouble.Said) modeldouble.Answer {
	var mu sync.Mutex
	at := 0
	return func(modeldouble.Asked) modeldouble.Said {
		mu.Lock()
		defer mu.Unlock()
		said := all[min(at, len(all)-1)]
		at++
		return said
	}
}

// requests is how often the provider was asked something that it did not refuse.
func (r *rig) requests() []modeldouble.Asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]modeldouble.Asked{}, r.asked...)
}

// ask asks and looks for the secret in everything that comes out.
func (r *rig) ask(p engine.Prompt) (core.Turn, error) {
	r.t.Helper()
	turn, err := r.model.Ask(context.Background(), p)
	r.clean(err)
	return turn, err
}

// turn asks for what must be a turn.
func (r *rig) turn(p engine.Prompt) core.Turn {
	r.t.Helper()
	turn, err := r.ask(p)
	if err != nil {
		r.t.Fatalf("no turn: %v\nlog:\n%s", err, r.log.String())
	}
	return turn
}

// clean fails if the secret is in an error, in what callers are shown of it, or in the log.
func (r *rig) clean(err error) {
	r.t.Helper()
	for where, text := range map[string]string{"the log": r.log.String(), "the error": errorTexts(err)} {
		for _, form := range spellings() {
			if strings.Contains(text, form) {
				r.t.Fatalf("%s holds the secret, as %q:\n%s", where, form, text)
			}
		}
	}
}

// spellings are the secret as it is and as a log, JSON or a URL would have it.
func spellings() []string {
	quoted := string(core.Encode(Secret))
	return []string{Secret, strings.Trim(quoted, `"`), "s3cr3t", "Key\\of"}
}

// errorTexts is everything that an error says.
func errorTexts(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if later, ok := errors.AsType[*engine.TryLater](err); ok {
		text += later.Detail
		if later.Cause != nil {
			text += later.Cause.Error()
		}
	}
	if lasting, ok := errors.AsType[*engine.ModelError](err); ok {
		text += lasting.Detail
	}
	return text
}

// prompt is a conversation of one message, with the tools.
func prompt(tools ...string) engine.Prompt {
	return conversation([]core.Message{user("Where is order 7?")}, tools...)
}

func conversation(messages []core.Message, tools ...string) engine.Prompt {
	p := engine.Prompt{Tenant: "acme", Thread: "t1", Run: "r1", Step: 1, Instructions: "Be brief.", Messages: messages}
	for _, name := range tools {
		p.Tools = append(p.Tools, core.ToolSpec{Name: name, Description: "does " + name,
			Parameters: []byte(`{"type":"object","properties":{"order":{"type":"integer"},"note":{"type":"string"}}}`)})
	}
	return p
}

func user(text string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: core.TextParts(text)}
}

// spoken is a turn as the journal has it.
func spoken(t core.Turn) core.Message {
	parts := t.Content
	if parts == nil {
		parts = core.TextParts(t.Text)
	}
	return core.Message{Role: core.RoleAssistant, Parts: parts, Calls: t.Calls}
}

func result(c core.ToolCall, text string, failed bool) core.Message {
	return core.Message{Role: core.RoleTool, CallID: c.ID, Tool: c.Name, Error: failed, Parts: core.TextParts(text)}
}
