package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// receiveHook hands a webhook to the receiver as it came: a signature covers the raw body. Where
// the sender reads something into a body, as Slack does, the answer has none.
func (a *api) receiveHook(w http.ResponseWriter, r *http.Request) error {
	if a.hooks == nil {
		return &refusal.Error{Code: refusal.CodeHookNotFound, Detail: "this server has no hooks; check the address"}
	}
	raw, done, err := readUnchecked(http.MaxBytesReader(w, r.Body, maxBody))
	defer done()
	if err != nil {
		return crowded(err)
	}
	answer, err := a.hooks.Receive(r.Context(), r.PathValue("name"), hooks.Request{Header: r.Header.Values, Body: raw,
		Admit: func(tenant string) error {
			requestlog.Of(r).Tenant = tenant
			return a.pace(tenant)
		}})
	if err != nil {
		return err
	}
	if answer == (wire.HookAnswer{}) {
		return nil
	}
	return a.writeJSON(w, r, http.StatusOK, answer)
}
