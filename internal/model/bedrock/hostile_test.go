package bedrock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

func modelBehind(t *testing.T, m agent.Model, c *clock, h http.Handler) *bedrock.Model {
	t.Helper()
	m.ID = modelID
	made, err := bedrock.New(client(h), bedrock.Options{Model: m, Clock: c, Random: random{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// unending answers as the double does, and then leaves the stream open until nobody reads it any
// more.
func unending() http.Handler {
	double := modeldouble.Bedrock(func(modeldouble.Asked) modeldouble.Said { return said("Done.", call("a", "refund", `{"n":1.10}`)) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		double.ServeHTTP(w, r)
		<-r.Context().Done()
	})
}

func TestATurnIsNotLostToAStreamThatStaysOpen(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for name, armed := range map[string]func(func()){
		"nobody waits for ever":   func(over func()) { over() },
		"the time is over behind": func(func()) { cancel(errors.New("the time is over")) },
	} {
		c := newClock()
		c.armed = armed
		asked := t.Context()
		if name == "the time is over behind" {
			asked = ctx
		}
		turn, err := modelBehind(t, agent.Model{}, c, unending()).Ask(asked, prompt(user("Refund it.")))
		if err != nil || turn.Text != "Done." || len(turn.Calls) != 1 {
			t.Errorf("%s: %+v, %v", name, turn, err)
		}
	}
}

func TestNoToolIsNamedAsAnotherIsOnTheWire(t *testing.T) {
	r := newRig(t, agent.Model{}, said("Done."))
	p := prompt(user("Pay it."))
	p.Tools = []core.ToolSpec{{Name: "pay.send"}}
	r.ask(t, p)
	p.Tools = append(p.Tools, core.ToolSpec{Name: r.last().Tools[0].Name})
	r.ask(t, p)
	if tools := r.last().Tools; len(tools) != 2 || tools[0].Name == tools[1].Name {
		t.Errorf("%+v", tools)
	}
}

// flood answers without an end, until nobody reads any more.
type flood struct {
	status int
	media  string
	sent   atomic.Int64
}

func (f *flood) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", f.media)
	w.WriteHeader(f.status)
	for piece := bytes.Repeat([]byte(" "), 1<<20); f.sent.Load() < 1<<30; f.sent.Add(int64(len(piece))) {
		if _, err := w.Write(piece); err != nil && !errors.Is(err, io.ErrShortWrite) {
			return
		}
	}
}

func TestNoAnswerIsReadWithoutAnEnd(t *testing.T) {
	for _, f := range []*flood{{status: http.StatusBadRequest, media: "application/json"}, {status: http.StatusOK, media: "application/json"}} {
		_, err := modelBehind(t, agent.Model{Whole: true}, newClock(), f).Ask(t.Context(), prompt(user("Refund it.")))
		if sent := f.sent.Load(); err == nil || sent > 512<<20 {
			t.Errorf("status %d: %d bytes were read, %v", f.status, sent, err)
		}
	}
}
