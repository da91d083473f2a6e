package runs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// runFilters holds the flags that filter runs, as they were given.
type runFilters struct {
	metadata []string
	created  cmdline.Period
}

func (f *runFilters) add(flags *pflag.FlagSet, list *client.RunFilter) {
	flags.StringVar(&list.Status, "status", "", "only runs with this `STATUS`: "+strings.Join(query.RunStatuses, ", "))
	flags.StringVar(&list.Agent, "agent", "", "only runs of this `AGENT`")
	flags.StringVar(&list.Reason, "reason", "", "only runs that ended for this `REASON`: "+strings.Join(query.RunReasons, ", "))
	flags.StringVar(&list.ResponseState, "response-state", "", "only runs that ended with this response `STATE`: "+strings.Join(query.ResponseStates, ", "))
	flags.StringArrayVar(&f.metadata, "metadata", nil, "only runs with this metadata, as `KEY=VALUE`; repeatable")
	f.created.Add(flags, "runs created")
	flags.IntVar(&list.Limit, "limit", 20, fmt.Sprintf("maximum number of results (up to %d)", cmdline.MostRuns))
	flags.StringVar(&list.Cursor, "cursor", "", "`CURSOR` printed at the end of the previous page")
}

// read checks the flags and parses those that list doesn't hold as text.
func (f *runFilters) read(list *client.RunFilter) (err error) {
	if err := cmdline.PageLimit(list.Limit, cmdline.MostRuns); err != nil {
		return err
	}
	for _, pair := range f.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return cmdline.Usagef("--metadata is %q; it must be KEY=VALUE", pair)
		}
		if _, twice := list.Metadata[key]; twice {
			return cmdline.Usagef("--metadata has the key %q twice; use each key once", key)
		}
		if list.Metadata == nil {
			list.Metadata = map[string]string{}
		}
		list.Metadata[key] = value
	}
	list.CreatedAfter, list.CreatedBefore, err = f.created.Read()
	return err
}

func (a *app) listRuns(cmd *cobra.Command, list client.RunFilter) error {
	c, err := a.Connect()
	if err != nil {
		return err
	}
	page, err := c.RunPage(cmd.Context(), list)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(page)
	}
	if len(page.Items) == 0 && page.Next == "" {
		return a.Printf("no runs\n")
	}
	if err := a.listed(page.Items); err != nil {
		return err
	}
	return a.PrintMore("runs", runFlags(list), list.Limit, page.Next)
}

// listed prints runs as a table. On a terminal it fits into 80 columns and has the first line of
// the input below each row; elsewhere it has more columns.
func (a *app) listed(runs []wire.Run) error {
	s := display.ScreenOf(a.Stdout, a.Opts.Getenv)
	rows := [][]string{{"RUN", "AGENT", "STATUS", "STEPS", "PENDING", "CREATED", "STARTED BY", "FIRST LINE"}}
	if s.Terminal {
		rows = [][]string{{"RUN", "AGENT", "STATUS", "STEPS", "WAITS", "AGE"}}
	}
	for _, run := range runs {
		row := []string{run.ID, run.Agent, cmdline.StatusText(run), strconv.Itoa(run.Steps), strconv.Itoa(len(run.Pending))}
		if s.Terminal {
			row = append(row, display.Age(run.CreatedAt, a.Now()))
		} else {
			row = append(row, display.Clock(run.CreatedAt), cmp.Or(starterOf(run), "-"), display.OneLine(run.FirstLine))
		}
		rows = append(rows, row)
	}
	if !s.Terminal {
		return a.List(rows, 1, 2)
	}
	return a.Print(drawRuns(runs, rows, s))
}

// drawRuns is the table with a line below each row: who started the run, and its first line.
func drawRuns(runs []wire.Run, rows [][]string, s display.Screen) string {
	lines := strings.Split(strings.TrimSuffix(display.DrawTable(rows, s, []int{1, 2}), "\n"), "\n")
	var b strings.Builder
	b.WriteString(display.Line{{Style: display.Bold, Text: lines[0]}}.Render(s.Colour) + "\n")
	for i, run := range runs {
		b.WriteString(lines[i+1] + "\n")
		who, about := starterOf(run), display.OneLine(run.FirstLine)
		if who != "" && about != "" {
			who += ": "
		}
		if who+about != "" {
			b.WriteString(display.Line{{Style: display.AsIs, Text: "  "}, {Style: display.Faint, Text: who + about}}.Cut(s.Width).Render(s.Colour) + "\n")
		}
	}
	return b.String()
}

// starterOf is who started a run; empty if that is unknown.
func starterOf(run wire.Run) string {
	if run.StartedBy == nil {
		return ""
	}
	return display.OneLine(display.Spelled(run.StartedBy.By) + display.After(" via ", display.Spelled(run.StartedBy.Via)))
}

// runFlags are the flags that select the same runs again.
func runFlags(list client.RunFilter) []cmdline.FlagValue {
	flags := []cmdline.FlagValue{{Name: "status", Value: list.Status}, {Name: "agent", Value: list.Agent}, {Name: "reason", Value: list.Reason}, {Name: "response-state", Value: list.ResponseState}}
	for _, key := range slices.Sorted(maps.Keys(list.Metadata)) {
		flags = append(flags, cmdline.FlagValue{Name: "metadata", Value: key + "=" + list.Metadata[key]})
	}
	return append(flags, cmdline.PeriodFlags(list.CreatedAfter, list.CreatedBefore)...)
}
