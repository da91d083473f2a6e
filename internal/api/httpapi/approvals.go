package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
)

func (a *api) listApprovals(w http.ResponseWriter, r *http.Request) error {
	q, count, err := params.Inbox(r)
	if err != nil {
		return err
	}
	page, err := a.reads.Inbox(r.Context(), caller(r), q, count)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}
