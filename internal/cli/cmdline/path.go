package cmdline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// Rests reports whether a run goes on only when someone answers, or not at all. One that waits for
// nothing but the runs it has started goes on by itself.
func Rests(run wire.Run) bool {
	return run.Status == "done" || run.Status == "waiting" && (len(run.Pending) > 0 || len(run.Children) == 0)
}

// Asker is the agent whose call waits: the last one of the path, or the agent of the shown run.
func Asker(agent string, p wire.Pending) string {
	if len(p.Path) == 0 {
		return agent
	}
	return p.Path[len(p.Path)-1].Agent
}

// AskerRun is the run whose call waits.
func AskerRun(run string, p wire.Pending) string {
	if len(p.Path) == 0 {
		return run
	}
	return p.Path[len(p.Path)-1].RunID
}

// PathWords name the runs of a path, such as "research-desk › researcher/call_1". What comes after
// an agent is the call of the run above that it works for.
func PathWords(path []wire.PathStep) string {
	words := make([]string, len(path))
	for i, step := range path {
		words[i] = display.Spelled(step.Agent)
		if step.CallID != "" {
			words[i] += "/" + shortCall(step.CallID)
		}
	}
	return strings.Join(words, " › ")
}

// mostCall is how long the id of a call may be in a path. Some models name calls by 30 random
// characters, of which the last six tell them apart.
const mostCall = 12

func shortCall(id string) string {
	if chars := []rune(id); len(chars) > mostCall {
		id = "…" + string(chars[len(chars)-6:])
	}
	return display.Spelled(id)
}

// fromRoot is the path of a call with the shown run in it, from which the inbox already begins.
func fromRoot(agent string, p wire.Pending) []wire.PathStep {
	if len(p.Path) == 0 || p.Path[0].CallID == "" {
		return p.Path
	}
	return append([]wire.PathStep{{Agent: agent}}, p.Path...)
}

// PathRows say for which runs above a call is made, with the run that began it all, if it isn't
// the one shown.
func PathRows(agent string, p wire.Pending) [][]string {
	path := fromRoot(agent, p)
	if len(path) == 0 {
		return nil
	}
	rows := [][]string{{"path", PathWords(path)}}
	if root := path[0].RunID; root != "" {
		rows = append(rows, []string{"root", root})
	}
	return rows
}

// familyRows show the runs above and below a run.
func familyRows(run wire.Run) (rows [][]string) {
	if total := run.Usage.Total; total != nil {
		words := fmt.Sprintf("%s, %d in, %d out", display.Counted(total.Runs, "run"), total.InputTokens, total.OutputTokens)
		if total.Cost != nil {
			words += ", $" + total.Cost.USD
		}
		rows = append(rows, []string{"in total", words})
	}
	if p := run.Parent; p != nil {
		rows = append(rows, []string{"works for", p.RunID + " " + shortCall(p.CallID)})
	}
	if run.Remote != nil {
		rows = append(rows, []string{"remote agent", remoteWords(*run.Remote)})
	}
	label := "children"
	for _, c := range run.Children {
		words := fmt.Sprintf("%s  %s  %s", c.RunID, PathWords([]wire.PathStep{{Agent: c.Agent, CallID: c.CallID}}), c.Status)
		if n := asksOf(run, c.RunID); n > 0 {
			words += ", asks " + strconv.Itoa(n)
		}
		rows = append(rows, []string{label, words})
		label = ""
	}
	if run.PendingCut {
		rows = append(rows, []string{"", "more runs below are not shown"})
	}
	return rows
}

// remoteWords describe the task of a remote agent.
func remoteWords(t wire.RemoteTask) string {
	words := display.Spelled(t.Tool)
	if t.TaskID != "" {
		words += ", task " + display.Spelled(t.TaskID) + display.After(" at ", display.Spelled(t.URL))
	}
	if t.UnansweredSince != nil {
		words += ", no answer since " + display.Clock(*t.UnansweredSince)
	}
	if t.StopAttempts > 0 {
		words += ", " + display.Counted(t.StopAttempts, "attempt") + " to stop it"
	}
	if t.NextLookAt != nil {
		words += ", asked again at " + display.Clock(*t.NextLookAt)
	}
	return words
}

// asksOf counts the waiting calls of a child and of the runs below it.
func asksOf(run wire.Run, child string) (n int) {
	for _, p := range run.Pending {
		if len(p.Path) > 0 && p.Path[0].RunID == child {
			n++
		}
	}
	return n
}
