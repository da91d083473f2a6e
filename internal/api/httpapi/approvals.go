package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
)

func (a *api) listApprovals(w http.ResponseWriter, r *http.Request) error {
	q, err := params.List(r)
	if err != nil {
		return err
	}
	q.Kind, q.Thread, q.Tool = r.URL.Query().Get("kind"), r.URL.Query().Get("thread_id"), r.URL.Query().Get("tool")
	page, err := a.reads.Approvals(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}
