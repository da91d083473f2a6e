package console

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

const (
	inboxRows  = 50 // about so many on a page
	urgent     = 4 * time.Hour
	mostValues = 3 // of the arguments in a row
	longValue  = 60
)

// inboxView is the page of what waits.
type inboxView struct {
	Sections []section
	Count    string // how many wait; empty if nothing does
	More     string // the address of the next page
	Back     bool   // this is not the first page

	Decides bool // the reader can answer
	Alike   bool // some of the rows can be answered together

	Agent, Tool, Text string // the filter, as it was typed
}

// Filtered says whether only some of what waits is asked for.
func (v inboxView) Filtered() bool { return v.Agent != "" || v.Tool != "" || v.Text != "" }

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
	Alike             string // what it can be answered together with; empty: it is by itself
	asked             string // how the reader is asked, by a value of [query.Mines]
}

type value struct{ Name, Text string }

// inbox shows what waits for people, the least time left first, as the API puts it in order. Calls
// that a client program runs are not among it.
func (c *Console) inbox(w http.ResponseWriter, l look) error {
	asked := l.URL.Query()
	filter := query.List{Agent: asked.Get("agent"), Tool: asked.Get("tool"), Text: asked.Get("q"), Cursor: asked.Get("cursor"),
		Kind: query.KindQuestion, Order: query.OrderDeadline, Limit: inboxRows}
	page, err := c.Reads.Inbox(l.Context(), l.Caller(), filter, true)
	if err != nil {
		return err
	}
	now, alike := c.Clock.Now(), alikeIn(page.Items)
	v := inboxView{Decides: l.who.May(canDecide...), Alike: len(alike) > 0 && l.who.May(canDecide...), Agent: filter.Agent, Tool: filter.Tool, Text: filter.Text, Back: filter.Cursor != ""}
	var soon, mine, groups, others []row
	for _, a := range page.Items {
		r := rowOf(a, now)
		if v.Alike && alike[a.Alike] && a.AskedAs != "" {
			r.Alike = a.Alike
		}
		switch {
		case r.Urgent:
			soon = append(soon, r)
		case r.asked == query.MineNamed:
			mine = append(mine, r)
		case r.asked == query.MineGroup:
			groups = append(groups, r)
		default:
			others = append(others, r)
		}
	}
	v.Sections = []section{{say("inbox.soon"), soon}, {say("inbox.mine"), mine}, {say("inbox.groups"), groups}, {say("inbox.waiting"), others}}
	v.Count = counted(*page.Count)
	if page.Next != "" {
		next := url.Values{"cursor": {page.Next}}
		for name, value := range map[string]string{"agent": v.Agent, "tool": v.Tool, "q": v.Text} {
			if value != "" {
				next.Set(name, value)
			}
		}
		v.More = "?" + next.Encode()
	}
	return c.write(w, l, http.StatusOK, "inbox", v)
}

// alikeIn are the kinds of questions of which there are several on a page, for a reader who may
// approve them.
func alikeIn(items []wire.Approval) map[string]bool {
	times, several := map[string]int{}, map[string]bool{}
	for _, a := range items {
		if a.Alike == "" || a.AskedAs == "" {
			continue
		}
		if times[a.Alike]++; times[a.Alike] > 1 {
			several[a.Alike] = true
		}
	}
	return several
}

// counted is how many questions wait, in words; empty for none.
func counted(n wire.InboxCount) string {
	switch {
	case n.AtLeast:
		return say("inbox.at_least", "n", strconv.Itoa(n.Questions))
	case n.Questions == 0:
		return ""
	case n.Questions == 1:
		return say("inbox.one")
	}
	return say("inbox.count", "n", strconv.Itoa(n.Questions))
}

func rowOf(a wire.Approval, now time.Time) row {
	r := row{Path: "/questions/" + a.Suspension.ID, Question: a.Suspension.ID, Run: a.RunID, Tool: a.Tool, Agent: a.Agent, Kind: a.Kind, Rule: a.Suspension.Message, Unreadable: a.Error != nil,
		asked: a.AskedAs, Age: say("inbox.since", "time", ago(now.Sub(a.Since.Time))), Odd: len(a.Warnings) > 0}
	if a.Deadline != nil {
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
