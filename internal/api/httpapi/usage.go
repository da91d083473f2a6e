package httpapi

import (
	"net/http"
)

func (a *api) readUsage(w http.ResponseWriter, r *http.Request) error {
	usage, err := a.reads.Usage(r.Context(), caller(r), r.URL.Query().Get("day"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, usage)
}
