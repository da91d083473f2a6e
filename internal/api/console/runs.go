package console

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/console/timeline"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

type runsView struct {
	Status, Agent, Reason string
	Statuses              []string
	Runs                  []runRow
	More                  string // the address of the next page
}

// runRow is a run in a list. Its texts are of others, but for Status and the times.
type runRow struct {
	Path, First, Agent, Status, Age string
	Waits                           int
}

func (c *Console) runs(w http.ResponseWriter, l look) error {
	q := l.URL.Query()
	v := runsView{Status: q.Get("status"), Agent: q.Get("agent"), Reason: q.Get("reason"), Statuses: query.RunStatuses}
	page, err := c.Reads.Runs(l.Context(), l.Caller(), query.List{Status: v.Status, Agent: v.Agent, Reason: v.Reason, Cursor: q.Get("cursor"), Limit: 50})
	if err != nil {
		return err
	}
	for _, r := range page.Items {
		v.Runs = append(v.Runs, c.runRow(r))
	}
	if page.Next != "" {
		v.More = "?" + url.Values{"status": {v.Status}, "agent": {v.Agent}, "reason": {v.Reason}, "cursor": {page.Next}}.Encode()
	}
	return c.write(w, l, http.StatusOK, "runs", v)
}

func (c *Console) runRow(r wire.Run) runRow {
	return runRow{Path: "/runs/" + r.ID, First: r.FirstLine, Agent: r.Agent, Status: statusOf(r), Waits: len(r.Pending),
		Age: say("runs.age", "time", ago(c.Clock.Now().Sub(r.CreatedAt.Time)))}
}

// statusOf is a status in words; of a run that is done, how it ended.
func statusOf(r wire.Run) string {
	if r.Reason != nil {
		return say("reason." + *r.Reason)
	}
	return say("status." + r.Status)
}

type runView struct {
	wire.Run
	State, Took, Tokens, Cost string
	Questions                 []row
	Line                      []entryView
	Compressed                bool
	Earlier                   string // the place before what is shown; empty at the beginning
	Cut                       bool   // later entries are on other pages
	Acts                      []string
	Form, Key                 string
}

// entryView is an entry of the timeline, with its duration in words.
type entryView struct {
	timeline.Entry
	Heading, Time string
	Bar           int
	Open          bool
	Later         bool // its end is on another page
}

// mostEvents of a run are shown on one page.
const (
	mostEvents = 200
	long       = 3 * time.Second
)

func (c *Console) run(w http.ResponseWriter, l look) error {
	run, err := c.Reads.Run(l.Context(), l.Caller(), l.PathValue("run"))
	if err != nil {
		return err
	}
	before := l.URL.Query().Get("before")
	line, earlier, err := timeline.Newest(before, func(before string) (wire.EventPage, error) {
		return l.Events(run.ID, query.EventQuery{After: before, Order: query.OrderNewest, Limit: mostEvents})
	})
	if err != nil {
		return err
	}
	d, err := c.draft(l)
	if err != nil {
		return err
	}
	now := c.Clock.Now()
	v := runView{Run: run, Acts: actsOn(run, l.who), Form: d.Form, Key: d.Key, State: statusOf(run), Took: inWords(run.UpdatedAt.Sub(run.CreatedAt.Time)), Tokens: strconv.FormatInt(run.Usage.InputTokens+run.Usage.OutputTokens, 10)}
	if cost := run.Usage.Total; cost != nil && cost.Cost != nil {
		v.Cost = cost.Cost.USD
	}
	v.Questions = questionsOf(run, now)
	v.Earlier, v.Cut = earlier, before != ""
	for _, e := range line.Entries {
		shown := entryOf(e, now)
		if v.Cut && shown.Open {
			shown.Open, shown.Later, shown.Heading = false, true, say("line."+string(e.Kind))
		}
		v.Compressed = v.Compressed || e.Kind == timeline.Wait && now.Sub(e.From) > long
		v.Line = append(v.Line, shown)
	}
	l.run = run.ID
	return c.write(w, l, http.StatusOK, "run", v)
}

// questionsOf are the rows of what a run waits for.
func questionsOf(run wire.Run, now time.Time) (rows []row) {
	for _, p := range run.Pending {
		rows = append(rows, rowOf(wire.Approval{RunID: run.ID, ThreadID: run.ThreadID, Agent: run.Agent, AgentVersion: run.AgentVersion, Pending: p}, now))
	}
	return rows
}

func entryOf(e timeline.Entry, now time.Time) entryView {
	took, over := e.Took()
	if !over {
		took = now.Sub(e.From)
	}
	v := entryView{Entry: e, Time: inWords(took), Bar: timeline.Bar(took), Open: !over, Heading: say("line." + string(e.Kind))}
	switch {
	case e.Kind == timeline.Call:
		v.Heading = say("outcome." + e.Outcome)
	case e.Kind == timeline.Vote:
		v.Heading = say("line.vote." + e.Action)
	case e.Kind == timeline.End:
		v.Heading = say("reason." + e.Outcome)
	case e.Kind == timeline.Wait && v.Open:
		v.Heading = say("line.waits")
	case e.Kind == timeline.Wait && e.By == "deadline":
		v.Heading = say("line.timed_out")
	case e.Kind == timeline.Wait && e.Action != "":
		v.Heading = say("line." + e.Action)
	}
	return v
}
