//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// model is a server with the protocol of OpenAI. It serves one run at a time: its answers depend on
// how many of them the conversation has.
type model struct {
	server *http.Server
	url    string
	asks   chan int // numbers of the steps that need an approval

	mu    sync.Mutex
	steps int
	at    map[int]time.Time // when each step was asked for first
	asked int               // requests
	wrong error             // the first wrong request
}

func startModel() (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + listener.Addr().String() + "/v1"}
	m.server = &http.Server{Handler: m}
	go m.server.Serve(listener)
	return m, nil
}

func (m *model) close() { m.server.Close() }

// expect begins a run.
func (m *model) expect(steps int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps, m.asked, m.wrong = steps, 0, nil
	m.at = make(map[int]time.Time, steps)
	m.asks = make(chan int, steps)
}

// approved reports whether a person approves the call of a step: two are, at a third and at two
// thirds of the run.
func approved(step, steps int) bool { return step == 1+(steps-1)/3 || step == 1+2*(steps-1)/3 }

// ServeHTTP implements [http.Handler].
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(m.answer(at, body))
}

func (m *model) answer(at time.Time, body []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	step := bytes.Count(body, []byte(`"assistant"`)) + 1
	m.asked++
	// the whole conversation: a result of 2 KB for each step before
	if m.wrong == nil && (step > m.steps || bytes.Count(body, []byte(`"tool"`)) < step-1 || len(body) < 2000*(step-1)) {
		m.wrong = fmt.Errorf("request %d, for step %d of %d, has %d bytes: %.300s", m.asked, step, m.steps, len(body), body)
	}
	if _, again := m.at[step]; !again {
		m.at[step] = at
		if approved(step, m.steps) {
			m.asks <- step
		}
	}
	message, finish := turn(step, m.steps)
	return core.Encode(map[string]any{"id": "c", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": len(body) / 4, "completion_tokens": 60}})
}

func turn(step, steps int) (message map[string]any, finish string) {
	message = map[string]any{"role": "assistant"}
	if step >= steps {
		message["content"] = "All orders are settled."
		return message, "stop"
	}
	name := "look"
	if approved(step, steps) {
		name = "refund"
	}
	message["content"] = fmt.Sprintf("Order %d is next. I look at what was delivered and what was paid.", step)
	message["tool_calls"] = []any{map[string]any{"id": fmt.Sprintf("call_%d", step), "type": "function",
		"function": map[string]any{"name": name, "arguments": fmt.Sprintf(`{"order":%d}`, step)}}}
	return message, "tool_calls"
}

// next returns the next step that needs an approval.
func (m *model) next(ctx context.Context) (int, error) {
	select {
	case step := <-m.asks:
		return step, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// observed are the times when the steps of the run were asked for, from the first on.
func (m *model) observed() (at []time.Time, asked int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for step := range m.steps {
		when, ok := m.at[step+1]
		if !ok && m.wrong == nil {
			m.wrong = fmt.Errorf("step %d of %d was not asked for", step+1, m.steps)
		}
		at = append(at, when)
	}
	return at, m.asked, m.wrong
}
