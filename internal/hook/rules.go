package hook

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Gate is a hook that judges calls by a function, which must be pure: the same call and state, the same verdict; nil for no opinion.
// It can make the permissions stricter and never looser.
func Gate(name string, judge func(core.ToolCall, core.State) *core.Verdict) engine.Hook {
	return gate{name, judge}
}

type gate struct {
	name  string
	judge func(core.ToolCall, core.State) *core.Verdict
}

var _ engine.ToolGateHook = gate{}

func (g gate) Name() string { return g.name }

func (g gate) ToolGate(call core.ToolCall, state core.State) *core.Verdict {
	return g.judge(call, state)
}

// Stop is a hook that ends runs by a function, which must be pure. It is asked after the stop rules of the definition.
func Stop(name string, rule func(core.Progress) (code, detail string, stop bool)) engine.Hook {
	return stop{name, rule}
}

type stop struct {
	name string
	rule func(core.Progress) (code, detail string, stop bool)
}

var _ core.StopRule = stop{}

func (s stop) Name() string { return s.name }

func (s stop) Stop(p core.Progress) (code, detail string, stop bool) { return s.rule(p) }
