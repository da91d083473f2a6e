package binding

import (
	"context"
	"fmt"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

func registerEffect(r *hook.Registry, e dormouse.Effect) error {
	if e.Run == nil {
		return fmt.Errorf("the effect %q has no Run; set it, or remove the effect", e.Name)
	}
	return r.RegisterEffect(e.Name, func(ctx context.Context, req hook.EffectRequest) (string, error) {
		return e.Run(ctx, dormouse.Done{Tenant: req.Tenant, Thread: req.Thread, Run: req.Run, Call: dormouse.ToolCall(req.Call),
			Result: req.Result, State: stateOf(req.State)})
	})
}

func registerMemory(r *hook.Registry, m dormouse.Memory) error {
	if m.Recall == nil && m.Commit == nil {
		return fmt.Errorf("the memory %q has neither Recall nor Commit; set one, or remove the memory", m.Name)
	}
	return r.RegisterMemory(m.Name, memory{m})
}

type memory struct{ m dormouse.Memory }

var _ engine.Memory = memory{}

// Recall implements [engine.Memory].
func (m memory) Recall(ctx context.Context, req engine.MemoryRequest) (string, error) {
	if m.m.Recall == nil {
		return "", nil
	}
	return m.m.Recall(ctx, conversationOf(req))
}

// Commit implements [engine.Memory].
func (m memory) Commit(ctx context.Context, req engine.MemoryRequest) error {
	if m.m.Commit == nil {
		return nil
	}
	return m.m.Commit(ctx, conversationOf(req))
}

func conversationOf(req engine.MemoryRequest) dormouse.Conversation {
	c := dormouse.Conversation{Tenant: req.Tenant, Thread: req.Thread, Run: req.Run, Agent: req.Agent}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, messageOf(m))
	}
	return c
}

func messageOf(m core.Message) dormouse.Message {
	return dormouse.Message{Role: dormouse.Role(m.Role), Run: m.RunID, Text: m.Text(), Calls: callsOf(m.Calls),
		Tool: m.Tool, CallID: m.CallID, Failed: m.Error}
}
