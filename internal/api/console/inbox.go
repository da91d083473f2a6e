package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

const (
	mostWaiting = 500 // entries that are put in order
	pageOf      = 200 // that are read at a time
	urgent      = 4 * time.Hour
	mostValues  = 3 // of the arguments in a row
	longValue   = 60
)

// inboxView is the page of what waits.
type inboxView struct {
	Sections []section
	Count    string
	Cut      bool // there are more than are put in order

	Agent, Tool string // the filter, as it was typed
}

// section is a part of the inbox; one without rows isn't shown.
type section struct {
	Title string
	Rows  []row
}

// row is one question in the list. Its texts are of others, but for Left and Age.
type row struct {
	Path, Tool, Agent string
	Question, Run     string // ids
	Kind              string
	Title             []wire.TitlePart
	Rule              string
	Values            []value
	Odd               bool // it has characters that a list must not show
	Left, Age         string
	Urgent            bool
	Unreadable        bool
	since             time.Time
	deadline          time.Time
}

type value struct{ Name, Text string }

// inbox shows what waits for people. Calls that a client program runs are not among it.
func (c *Console) inbox(w http.ResponseWriter, l look) error {
	asked := l.URL.Query()
	filter := query.List{Agent: asked.Get("agent"), Tool: asked.Get("tool")}
	all, cut, err := c.waiting(l.Context(), l.Caller(), filter)
	if err != nil {
		return err
	}
	now := c.Clock.Now()
	rows := make([]row, 0, len(all))
	for _, a := range all {
		if a.Kind != core.KindClient.String() {
			rows = append(rows, rowOf(a, now))
		}
	}
	slices.SortStableFunc(rows, mostUrgent)
	v := inboxView{Count: strconv.Itoa(len(rows)), Cut: cut, Agent: filter.Agent, Tool: filter.Tool}
	soon := slices.IndexFunc(rows, func(r row) bool { return !r.Urgent })
	if soon < 0 {
		soon = len(rows)
	}
	v.Sections = []section{{say("inbox.soon"), rows[:soon]}, {say("inbox.waiting"), rows[soon:]}}
	return c.write(w, l, http.StatusOK, "inbox", v)
}

// waiting reads what waits and fits the filter, oldest first; cut says that there is more than is
// put in order.
func (c *Console) waiting(ctx context.Context, who frontend.Caller, filter query.List) (all []wire.Approval, cut bool, err error) {
	for filter.Limit = pageOf; ; {
		page, err := c.Reads.Approvals(ctx, who, filter)
		if err != nil {
			return nil, false, err
		}
		all = append(all, page.Items...)
		if filter.Cursor = page.Next; page.Next == "" || len(all) >= mostWaiting {
			return all, page.Next != "", nil
		}
	}
}

// mostUrgent puts first what has the least time left; of what has no limit, the oldest.
func mostUrgent(a, b row) int {
	if a.deadline.IsZero() != b.deadline.IsZero() {
		if b.deadline.IsZero() {
			return -1
		}
		return 1
	}
	return cmp.Or(a.deadline.Compare(b.deadline), a.since.Compare(b.since))
}

func rowOf(a wire.Approval, now time.Time) row {
	r := row{Path: "/questions/" + a.Suspension.ID, Question: a.Suspension.ID, Run: a.RunID, Tool: a.Tool, Agent: a.Agent, Kind: a.Kind, Rule: a.Suspension.Message, Unreadable: a.Error != nil,
		since: a.Since.Time, Age: say("inbox.since", "time", ago(now.Sub(a.Since.Time))), Odd: len(a.Warnings) > 0}
	if a.Deadline != nil {
		r.deadline = a.Deadline.Time
		left := a.Deadline.Sub(now)
		r.Urgent, r.Left = left < urgent, say("inbox.left", "time", inWords(max(left, 0)))
	}
	if a.ToolDetails != nil {
		r.Title = a.ToolDetails.Title
	}
	r.Values = valuesOf(a)
	return r
}

// valuesOf are the first short values of the arguments. Long ones, and those with characters that
// may mislead, are for the page of the question alone.
func valuesOf(a wire.Approval) (values []value) {
	for _, one := range printable.Rows(a.Arguments) {
		text := one.Value.String()
		if len(values) == mostValues || one.Type == printable.TypeRaw {
			return values
		}
		if len(one.Path) != 1 || one.Words != "" || text == "" || len(text) > longValue || len(one.Warnings) > 0 || one.Value.Lines() > 1 {
			continue
		}
		values = append(values, value{one.Path[0].Name.String(), text})
	}
	return values
}
