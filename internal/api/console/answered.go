package console

import (
	"net/http"
	"net/url"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// answeredFor is how far back the page of one's own answers goes.
const answeredFor = 7 * 24 * time.Hour

type answeredView struct {
	Rows []answeredRow
	More string // the query of the next page
}

// answeredRow is an answer that the reader gave. Its texts are of others, but for Said and Age.
type answeredRow struct {
	Path, Tool, Agent, Title, Reason string
	Said, Age                        string
}

// answered lists what the reader decided in the last week, the newest first. There is no index by
// person: a page reads a bounded part of what was decided in the tenant, so it may be short, or
// empty, although more follows.
func (c *Console) answered(w http.ResponseWriter, l look) error {
	now := c.Clock.Now()
	page, err := c.Reads.Decisions(l.Context(), l.Caller(), query.DecisionQuery{By: l.Caller().By, CreatedAfter: now.Add(-answeredFor).Truncate(24 * time.Hour), Cursor: l.URL.Query().Get("cursor")})
	if err != nil {
		return err
	}
	v := answeredView{}
	for _, d := range page.Items {
		said := say("answered.yes")
		if d.Action == core.ActionCancel.String() {
			said = say("answered.no")
		}
		v.Rows = append(v.Rows, answeredRow{Path: "/questions/" + url.PathEscape(d.Suspension), Tool: d.Tool, Agent: d.Agent, Title: d.Title, Reason: d.Reason,
			Said: said, Age: say("answered.age", "time", ago(now.Sub(d.At.Time)))})
	}
	if page.Next != "" {
		v.More = "?" + url.Values{"cursor": {page.Next}}.Encode()
	}
	return c.write(w, l, http.StatusOK, "answered", v)
}
