// Package stoprule has the stop rules that a definition can name. A rule looks at the progress of a
// run and says whether it ends; [First] asks them all.
package stoprule

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Spec is one declarative stop rule. Only the members of its type are set.
type Spec struct {
	Type     string `json:"type"`
	Rounds   int    `json:"rounds,omitempty"`
	Seconds  int    `json:"seconds,omitempty"`
	MaxTotal int    `json:"max_total,omitempty"`
	Max      int    `json:"max,omitempty"`
	ToolName string `json:"tool_name,omitempty"`
	Pattern  string `json:"pattern,omitempty"`
	Window   int    `json:"window,omitempty"`

	USD core.USD `json:"usd,omitempty"`
}

// StopMembers names, for each type of stop rule, the one member it takes.
var StopMembers = map[string]string{
	"max_rounds":         "rounds",
	"timeout":            "seconds",
	"token_budget":       "max_total",
	"consecutive_errors": "max",
	"stop_on_tool":       "tool_name",
	"content_match":      "pattern",
	"loop_detection":     "window",
	"max_cost":           "usd",
}

// MarshalJSON writes the type and its one member, zero values included.
func (s Spec) MarshalJSON() ([]byte, error) {
	member, ok := StopMembers[s.Type]
	if !ok {
		return nil, fmt.Errorf("core: %q is not a stop rule", s.Type)
	}
	values := map[string]any{"rounds": s.Rounds, "seconds": s.Seconds, "max_total": s.MaxTotal, "max": s.Max,
		"tool_name": s.ToolName, "pattern": s.Pattern, "window": s.Window, "usd": s.USD}
	return core.EncodeAny(map[string]any{"type": s.Type, member: values[member]})
}

// UnmarshalJSON refuses an unknown type, and any member that does not belong to the type.
func (s *Spec) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	var kind string
	if err := json.Unmarshal(members["type"], &kind); err != nil || StopMembers[kind] == "" {
		return fmt.Errorf("core: a stop rule needs a type, one of %s", strings.Join(slices.Sorted(maps.Keys(StopMembers)), ", "))
	}
	for m := range members {
		if m != "type" && m != StopMembers[kind] {
			return fmt.Errorf("core: stop rule %s has no member %q; it takes %q", kind, m, StopMembers[kind])
		}
	}
	type plain Spec
	return json.Unmarshal(b, (*plain)(s))
}

// Rule makes a specification ready to be asked. The error says what is wrong with a pattern.
func (s Spec) Rule() (core.StopRule, error) {
	switch s.Type {
	case "max_rounds":
		return maxRounds(s.Rounds), nil
	case "timeout":
		return timeout(s.Seconds), nil
	case "token_budget":
		return tokenBudget(s.MaxTotal), nil
	case "consecutive_errors":
		return consecutiveErrors(s.Max), nil
	case "stop_on_tool":
		return stopOnTool(s.ToolName), nil
	case "content_match":
		return newContentMatch(s.Pattern)
	case "loop_detection":
		return loopDetection(s.Window), nil
	case "max_cost":
		return maxCost(s.USD), nil
	}
	return nil, fmt.Errorf("core: %q is not a stop rule", s.Type)
}
