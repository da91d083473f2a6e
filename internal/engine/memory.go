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

// recall asks the agent's memory, best effort. An error is the journal's, which is not for the
// memory to bear.
func (a *activation) recall(ctx context.Context) (text, failure string, err error) {
	req, err := a.conversation(ctx)
	if err != nil {
		return "", "", err
	}
	text, err = withMemory(ctx, a, req, a.agent.Memory.Recall)
	if err != nil {
		a.e.o.Logger.Warn("cannot read the agent's memory", "run", a.view.Head.Run, "error", err)
		return "", "recall_failed", nil
	}
	return text, "", nil
}

// commitMemory gives the conversation to the agent's memory, best effort. It gives up if the agent
// was not loaded, because too many workers crashed before. An error is the journal's: nothing was
// given yet.
func (a *activation) commitMemory(ctx context.Context) (failure string, err error) {
	if !a.remembers() {
		return "given_up", nil
	}
	req, err := a.conversation(ctx)
	if err != nil {
		return "", err
	}
	_, err = withMemory(ctx, a, req, func(ctx context.Context, req MemoryRequest) (struct{}, error) {
		return struct{}{}, a.agent.Memory.Commit(ctx, req)
	})
	if err != nil {
		a.e.o.Logger.Warn("cannot store in the agent's memory", "run", a.view.Head.Run, "error", err)
		return "commit_failed", nil
	}
	return "", nil
}

func withMemory[T any](ctx context.Context, a *activation, req MemoryRequest, do func(context.Context, MemoryRequest) (T, error)) (T, error) {
	return within(ctx, a, min(memoryTime, (a.e.o.Lease-a.e.o.Margin)/8), func(ctx context.Context) (T, error) { return do(ctx, req) })
}

// conversation is what was said so far, with a start that is not committed yet.
func (a *activation) conversation(ctx context.Context) (MemoryRequest, error) {
	said, err := a.transcript(ctx)
	if err != nil {
		return MemoryRequest{}, err
	}
	h := a.view.Head
	messages := said.Messages()
	for _, s := range h.Inbox {
		if s.Kind == core.SignalStart {
			messages = append(messages, a.input(s)...)
		}
	}
	return MemoryRequest{RunRef: a.ref(), Messages: messages}, nil
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
	return refOf(a.view.Head)
}

func refOf(h core.Head) RunRef { return RunRef{h.Tenant, h.Thread, h.Run, h.Agent} }
