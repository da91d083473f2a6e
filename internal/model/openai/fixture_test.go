package openai_test

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

func source(values map[string]string) secret.Source {
	return func(_ context.Context, name string) (string, error) {
		if v := values[name]; v != "" {
			return v, nil
		}
		return "", secret.ErrNotSet
	}
}

// instant is a clock on which nobody waits: whoever sleeps moves it.
type instant struct {
	*enginetest.Clock
	slept time.Duration
}

func (c *instant) Sleep(ctx context.Context, d time.Duration) error {
	c.slept += d
	c.Advance(d)
	return ctx.Err()
}

// stage is a model before an endpoint.
type stage struct {
	t     *testing.T
	model *openai.Model
	clock *instant
	mu    sync.Mutex
	log   bytes.Buffer
	count atomic.Int64
}

const key = "sk-planted-key-0123456789"

func newStage(t *testing.T, h http.Handler) *stage { return newStageOf(t, agent.Model{ID: "small"}, h) }

func newStageOf(t *testing.T, m agent.Model, h http.Handler) *stage {
	t.Helper()
	s := &stage{t: t, clock: &instant{Clock: enginetest.NewClock(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))}}
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count.Add(1)
		h.ServeHTTP(w, r)
	})
	m.BaseURL = cmp.Or(m.BaseURL, "http://model.test/v1")
	var err error
	s.model, err = openai.New(openai.Options{Model: m, HTTP: &http.Client{Transport: modeldouble.Transport(counted)}, Clock: s.clock,
		Secrets: source(map[string]string{"MODEL_KEY": key, "UPPER": "KEY_PLANTED_77"}), Random: enginetest.NewRandom(t, 7), Logger: slog.New(slog.NewTextHandler(s, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Write implements [io.Writer] for the log.
func (s *stage) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *stage) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *stage) requests() int { return int(s.count.Load()) }

func (s *stage) turn(p engine.Prompt) core.Turn {
	s.t.Helper()
	turn, err := s.model.Ask(s.t.Context(), p)
	if err != nil {
		s.t.Fatalf("no turn: %v\nlog:\n%s", err, s.logged())
	}
	return turn
}

func prompt() engine.Prompt {
	return engine.Prompt{Run: "r1", Step: 1, Instructions: "Be brief.", Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts("Where is order 7?")}},
		Tools: []core.ToolSpec{{Name: "lookup"}}}
}
