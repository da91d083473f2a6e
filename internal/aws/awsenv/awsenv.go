// Package awsenv puts the parts of a deployed stack together: the table, the queues, the agents
// with what this program has behind them, the engine and the frontend. Each function takes what it
// needs of it and adds the shape of its events. There is no rule of the runtime here.
//
// What functions without agents have is in package stack. What one function alone reaches beyond
// the stack, models above all, that one brings along as a [Reach]: so the others do not link it.
package awsenv

import (
	"errors"
	"fmt"
	"io"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// Settings are what the environment says.
type Settings struct {
	stack.Settings
	Policy *agent.Permissions // over all agents; nil: none
}

// policyVariable holds the text of a policy file, as `dormouse dev --policy` reads it.
const policyVariable = "DORMOUSE_POLICY"

// Read reads the settings. The error names every variable that is missing or wrong, with what to
// write.
func Read(getenv func(string) string) (Settings, error) {
	base, err := stack.Read(getenv)
	s := Settings{Settings: base}
	text := getenv(policyVariable)
	if text == "" {
		return s, err
	}
	policy, wrong := agentfile.ParsePolicy(policyVariable, []byte(text))
	if wrong != nil {
		return s, errors.Join(err, fmt.Errorf("%s is no policy; write what a policy file holds, or leave it out: %w", policyVariable, wrong))
	}
	s.Policy = &policy
	return s, err
}

// parts are those of a function with agents.
type parts struct {
	stack.Parts
	Agents *program.Agents
}

// open makes them; a nil reach is that of a function that runs nothing.
func open(s Settings, register Register, reach *Reach, out io.Writer) (parts, error) {
	p := parts{Parts: stack.Open(s.Settings, out)}
	have, err := behind(s, register, reach, p.Logger)
	p.Agents = program.NewAgents(p.Store, have)
	return p, err
}
