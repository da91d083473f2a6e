package tool

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

type recorded []agent.Answer

// Recorded is a tool that returns the first answer whose conditions match the arguments, and fails
// if none does. The same arguments always get the same answer.
func Recorded(answers []agent.Answer) engine.Tool { return recorded(answers) }

func (r recorded) Run(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
	for _, a := range r {
		if !a.Matches(req.Call.Arguments) {
			continue
		}
		if a.Error != "" {
			return core.Outcome{Text: a.Error, Failed: true}, nil
		}
		return core.Answered(a.Result), nil
	}
	return core.Outcome{Text: "No recorded answer matches these arguments.", Failed: true}, nil
}
