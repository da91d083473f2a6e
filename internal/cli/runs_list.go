package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/scaffold"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// runFilters are the flags that filter runs, as they were given.
type runFilters struct {
	metadata []string
	created  period
}

func (f *runFilters) add(flags *pflag.FlagSet, list *client.List) {
	flags.StringVar(&list.Status, "status", "", "only runs with this status: "+strings.Join(frontend.RunStatuses, ", "))
	flags.StringVar(&list.Agent, "agent", "", "only runs of this agent")
	flags.StringVar(&list.Reason, "reason", "", "only runs done for this reason: "+strings.Join(frontend.RunReasons, ", "))
	flags.StringVar(&list.ResponseState, "response-state", "", "only runs done with this response state: "+strings.Join(frontend.ResponseStates, ", "))
	flags.StringArrayVar(&f.metadata, "metadata", nil, "only runs with this metadata, as KEY=VALUE; may be given more than once")
	f.created.add(flags, "runs created")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("maximum number of results (up to %d)", mostRuns))
	flags.StringVar(&list.Cursor, "cursor", "", "continue where an earlier page ended")
}

// read checks the flags and parses those that list does not hold as they are.
func (f *runFilters) read(list *client.List) (err error) {
	if err := pageLimit(list.Limit, mostRuns); err != nil {
		return err
	}
	for _, pair := range f.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return usagef("--metadata takes KEY=VALUE, not %q", pair)
		}
		if _, twice := list.Metadata[key]; twice {
			return usagef("--metadata has the key %q twice; give each key once", key)
		}
		if list.Metadata == nil {
			list.Metadata = map[string]string{}
		}
		list.Metadata[key] = value
	}
	list.Period, err = f.created.read()
	return err
}

func (a *app) listRuns(cmd *cobra.Command, list client.List) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	page, err := c.Runs(cmd.Context(), list)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(page)
	}
	if len(page.Items) == 0 && page.Next == "" {
		return a.printf("no runs\n")
	}
	if err := a.listed(page.Items); err != nil {
		return err
	}
	return a.printMore("runs", runFlags(list), list.Limit, page.Next)
}

// listed prints runs as a table: on a terminal one that fits into 80 columns, with the run's first line below each row, elsewhere one with two
// more columns.
func (a *app) listed(runs []wire.Run) error {
	s := screenOf(a.stdout, a.opts.Getenv)
	rows := [][]string{{"RUN", "AGENT", "STATUS", "STEPS", "PENDING", "CREATED", "STARTED BY", "FIRST LINE"}}
	if s.terminal {
		rows = [][]string{{"RUN", "AGENT", "STATUS", "STEPS", "WAITS", "AGE"}}
	}
	for _, run := range runs {
		row := []string{run.ID, run.Agent, statusText(run), strconv.Itoa(run.Steps), strconv.Itoa(len(run.Pending))}
		if s.terminal {
			row = append(row, age(run.CreatedAt, a.now()))
		} else {
			row = append(row, clock(run.CreatedAt), cmp.Or(starterOf(run), "-"), oneLine(run.FirstLine))
		}
		rows = append(rows, row)
	}
	if !s.terminal {
		return a.list(rows, 1, 2)
	}
	return a.print(drawRuns(runs, rows, s))
}

// drawRuns is the table with a line below each row: who started the run, and its first line.
func drawRuns(runs []wire.Run, rows [][]string, s screen) string {
	lines := strings.Split(strings.TrimSuffix(drawTable(rows, s, []int{1, 2}), "\n"), "\n")
	var b strings.Builder
	b.WriteString(line{{bold, lines[0]}}.render(s.colour) + "\n")
	for i, run := range runs {
		b.WriteString(lines[i+1] + "\n")
		who, about := starterOf(run), oneLine(run.FirstLine)
		if who != "" && about != "" {
			who += ": "
		}
		if who+about != "" {
			b.WriteString(line{{asIs, "  "}, {faint, who + about}}.cut(s.width).render(s.colour) + "\n")
		}
	}
	return b.String()
}

// starterOf is who started a run, in words; empty if that is unknown.
func starterOf(run wire.Run) string {
	if run.StartedBy == nil {
		return ""
	}
	return oneLine(spelled(run.StartedBy.By) + after(" via ", spelled(run.StartedBy.Via)))
}

// runFlags are the flags that ask for the same runs again.
func runFlags(list client.List) []flagValue {
	flags := []flagValue{{"status", list.Status}, {"agent", list.Agent}, {"reason", list.Reason}, {"response-state", list.ResponseState}}
	for _, key := range slices.Sorted(maps.Keys(list.Metadata)) {
		flags = append(flags, flagValue{"metadata", key + "=" + list.Metadata[key]})
	}
	return append(flags, periodFlags(list.Period)...)
}

// flagValue is a flag of a command, as it was given; without a value it was not.
type flagValue struct{ name, value string }

// printMore prints the command for the next page of a list: the same command, with the cursor. Without a next page it prints nothing.
func (a *app) printMore(verb string, flags []flagValue, limit int, next string) error {
	if next == "" {
		return nil
	}
	for _, flag := range flags {
		if flag.value != "" {
			verb += " --" + flag.name + " " + scaffold.ShellWord(flag.value)
		}
	}
	return a.printf("more: %s --limit %d --cursor %s\n", a.command(verb), limit, next)
}
