package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func (a *api) readThread(w http.ResponseWriter, r *http.Request) error {
	thread, err := a.front.Thread(r.Context(), caller(r), r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, thread)
}

// findThread finds a conversation by the caller's own key.
func (a *api) findThread(w http.ResponseWriter, r *http.Request) error {
	thread, err := a.front.ThreadByKey(r.Context(), caller(r), r.URL.Query().Get("key"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, thread)
}

func (a *api) readMessages(w http.ResponseWriter, r *http.Request) error {
	q, err := params.List(r)
	if err != nil {
		return err
	}
	switch r.URL.Query().Get("data") {
	case "", "false":
	case "true":
		q.Data = true
	default:
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "data must be true or false"}
	}
	q.Order = r.URL.Query().Get("order")
	page, err := a.reads.Messages(r.Context(), caller(r), r.PathValue("id"), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) sendMessage(w http.ResponseWriter, r *http.Request) error {
	var req wire.MessageRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	s, err := a.front.Message(r.Context(), caller(r), r.PathValue("id"), r.Header.Get("Idempotency-Key"), req)
	if err != nil {
		return err
	}
	return a.writeStarted(w, r, s)
}

func (a *api) listThreadRuns(w http.ResponseWriter, r *http.Request) error {
	q, err := params.RunList(r)
	if err != nil {
		return err
	}
	page, err := a.reads.ThreadRuns(r.Context(), caller(r), r.PathValue("id"), q)
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}
