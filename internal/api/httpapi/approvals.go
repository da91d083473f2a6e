package httpapi

import (
	"net/http"
)

func (a *api) listApprovals(w http.ResponseWriter, r *http.Request) error {
	q, err := list(r)
	if err != nil {
		return err
	}
	q.Kind, q.Thread = r.URL.Query().Get("kind"), r.URL.Query().Get("thread_id")
	page, err := a.reads.Approvals(r.Context(), caller(r), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}
