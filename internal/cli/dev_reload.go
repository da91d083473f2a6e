package cli

import (
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// changed is the JSON form of an agent whose files changed.
type changed struct {
	Agent    string              `json:"agent"`
	Change   program.What        `json:"change"`
	Version  string              `json:"version,omitempty"`
	Problems []agentfile.Problem `json:"problems,omitempty"`
}

// A terminal that blocks must delay neither the server nor its end.
const (
	// changes that may wait to be printed; further ones are only in the log
	mostUnprinted = 100
	lastWords     = time.Second // to print them after the server has ended
)

// printEach prints changes until reloads is closed and all of them are printed.
func (a *app) printEach(reloads <-chan []program.Change, dir string) (printed <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for changes := range reloads {
			_ = a.printReloads(changes, dir) // printing must not stop the server
		}
	}()
	return done
}

// printReloads prints a line for each agent whose files in dir changed.
func (a *app) printReloads(changes []program.Change, dir string) error {
	for _, c := range changes {
		var err error
		if a.JSON {
			err = a.PrintJSON(changed{c.Name, c.What, c.Version, c.Problems})
		} else {
			err = a.Print(display.Clean("agent "+c.Name+": "+a.became(c, dir)) + "\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// became says what happened to an agent.
func (a *app) became(c program.Change, dir string) string {
	switch c.What {
	case program.Unchanged:
		return "unchanged, version " + c.Version
	case program.Corrected:
		return "corrected, version " + c.Version + " stays in use"
	case program.Removed:
		return "removed; new runs are refused, existing runs continue"
	case program.Incomplete:
		return "calls fail: " + a.firstOf(c.Problems, dir)
	case program.Refused:
		words := "not reloaded, version " + c.Version + " stays in use: "
		if c.Version == "" {
			words = "not served: "
		}
		return words + a.firstOf(c.Problems, dir)
	}
	return string(c.What) + ", version " + c.Version
}

// firstOf is the first problem, and how many more there are.
func (a *app) firstOf(problems []agentfile.Problem, dir string) string {
	words := problems[0].String()
	if more := len(problems) - 1; more > 0 {
		check := a.Typed() + " agents check"
		if dir != scaffold.Usual {
			check += " " + scaffold.ShellWord(dir)
		}
		words += fmt.Sprintf(" (and %s more: %s)", display.Counted(more, "problem"), check)
	}
	return words
}
