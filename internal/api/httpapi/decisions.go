package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// listDecisions is the history of a tenant's decisions.
func (a *api) listDecisions(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	q := query.DecisionQuery{By: values.Get("by"), Via: values.Get("via"), Agent: values.Get("agent"), Action: values.Get("action"), Cursor: values.Get("cursor")}
	var err error
	if q.Limit, err = number(values, "limit"); err != nil {
		return err
	}
	if q.CreatedAfter, q.CreatedBefore, err = period(values); err != nil {
		return err
	}
	page, err := a.front.Decisions(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	if !principal(r).May(access.Read) {
		for i := range page.Items {
			withoutAnswer(&page.Items[i].DecisionRecordedData)
		}
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

// withoutAnswer leaves out of a decision what its approver sent: a token without read sees who decided and how, as the page of a link does.
func withoutAnswer(d *wire.DecisionRecordedData) { d.Result, d.Arguments = nil, nil }
