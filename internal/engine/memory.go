package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// memoryTime bounds what a run waits for its memory.
const memoryTime = 10 * time.Second

func (a *activation) remembers() bool { return a.agent.Memory != nil && !a.view.Head.NoMemory }

// recall asks the agent's memory, best effort.
func (a *activation) recall(ctx context.Context) (text, failure string) {
	text, err := withMemory(ctx, a, a.agent.Memory.Recall)
	if err != nil {
		a.e.o.Logger.Warn("nothing recalled", "run", a.view.Head.Run, "error", err)
		return "", "recall_failed"
	}
	return text, ""
}

// commitMemory gives the conversation to the agent's memory, best effort.
func (a *activation) commitMemory(ctx context.Context) (failure string) {
	if !a.remembers() {
		return ""
	}
	_, err := withMemory(ctx, a, func(ctx context.Context, req MemoryRequest) (struct{}, error) {
		return struct{}{}, a.agent.Memory.Commit(ctx, req)
	})
	if err != nil {
		a.e.o.Logger.Warn("not remembered", "run", a.view.Head.Run, "error", err)
		return "commit_failed"
	}
	return ""
}

func withMemory[T any](ctx context.Context, a *activation, do func(context.Context, MemoryRequest) (T, error)) (T, error) {
	segments, err := a.journal(ctx, 1)
	if err != nil {
		var zero T
		return zero, err
	}
	h := a.view.Head
	messages := core.Transcript(core.Messages(segments))
	for _, s := range h.Inbox {
		if s.Kind == core.SignalStart {
			messages = append(messages, a.input(s)...)
		}
	}
	req := MemoryRequest{RunRef: a.ref(), Agent: h.Agent, Messages: messages}
	return within(ctx, a, min(memoryTime, (a.e.o.Lease-a.e.o.Margin)/8), func(ctx context.Context) (T, error) { return do(ctx, req) })
}

// input is the message of a start that is not committed yet.
func (a *activation) input(s core.Signal) []core.Message {
	value := s.Value
	if s.Ref != "" {
		value = a.view.Payloads[s.Ref]
	}
	var parts []core.Part
	if json.Unmarshal(value, &parts) != nil || len(parts) == 0 {
		return nil
	}
	return []core.Message{{Role: core.RoleUser, Parts: parts, RunID: a.view.Head.Run, At: s.At}}
}

func (a *activation) ref() RunRef {
	h := a.view.Head
	return RunRef{h.Tenant, h.Thread, h.Run}
}
