package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/params"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// desk is the callers' side with the webhooks.
func (a *api) desk() (*webhooks.Desk, error) {
	if a.webhooks == nil {
		return nil, &refusal.Error{Code: problems.CodeNotFound, Detail: "this server has no webhooks"}
	}
	return a.webhooks, nil
}

// deskHandler is a handler that needs the desk.
type deskHandler func(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error

func (a *api) withDesk(h deskHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		d, err := a.desk()
		if err != nil {
			return err
		}
		return h(d, w, r)
	}
}

func (a *api) addWebhook(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	var req wire.WebhookRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	made, isNew, err := d.Add(r.Context(), caller(r), r.Header.Get("Idempotency-Key"), req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
	}
	w.Header().Set("Location", a.public.To("/v1/webhooks/"+made.ID))
	return a.writeJSON(w, r, status, made)
}

func (a *api) listWebhooks(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	page, err := d.List(r.Context(), caller(r))
	return a.shown(w, r, page, err)
}

func (a *api) readWebhook(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	hook, err := d.Webhook(r.Context(), caller(r), r.PathValue("id"))
	return a.shown(w, r, hook, err)
}

func (a *api) changeWebhook(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	var change wire.WebhookChange
	if err := bodies.Read(w, r, &change); err != nil {
		return err
	}
	hook, err := d.Change(r.Context(), caller(r), r.PathValue("id"), change)
	return a.shown(w, r, hook, err)
}

func (a *api) removeWebhook(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	return done(w, d.Remove(r.Context(), caller(r), r.PathValue("id")))
}

func (a *api) testWebhook(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	if err := bodies.ReadOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	result, err := d.Test(r.Context(), caller(r), r.PathValue("id"))
	return a.shown(w, r, result, err)
}

func (a *api) disableEndpoint(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	var req wire.EndpointRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	mark, err := d.Disable(r.Context(), caller(r), req)
	return a.shown(w, r, mark, err)
}

func (a *api) enableEndpoint(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	var req wire.EndpointRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	return done(w, d.Enable(r.Context(), caller(r), req))
}

func (a *api) listDisabled(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	q, err := params.List(r)
	if err != nil {
		return err
	}
	page, err := d.Disabled(r.Context(), caller(r), q.Cursor, q.Limit)
	return a.shown(w, r, page, err)
}

func (a *api) listDeliveries(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	q, err := params.List(r)
	if err != nil {
		return err
	}
	values := r.URL.Query()
	dead := values.Get("dead")
	if dead != "" && dead != "true" && dead != "false" {
		return &refusal.Error{Code: refusal.CodeInvalid, Detail: "dead must be true or false"}
	}
	page, err := d.Deliveries(r.Context(), caller(r), webhooks.Query{Endpoint: values.Get("endpoint"), Thread: values.Get("thread_id"),
		Dead: dead == "true", Limit: q.Limit, Cursor: q.Cursor})
	return a.shown(w, r, page, err)
}

func (a *api) readDelivery(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	shown, err := d.Delivery(r.Context(), caller(r), r.PathValue("id"))
	return a.shown(w, r, shown, err)
}

func (a *api) redriveDelivery(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	if err := bodies.ReadOptional(w, r, &struct{}{}); err != nil {
		return err
	}
	shown, err := d.Redrive(r.Context(), caller(r), r.PathValue("id"))
	return a.shown(w, r, shown, err)
}

func (a *api) redriveAll(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	var req wire.RedriveRequest
	if err := bodies.Read(w, r, &req); err != nil {
		return err
	}
	redriven, err := d.RedriveAll(r.Context(), caller(r), req)
	return a.shown(w, r, redriven, err)
}

func (a *api) forgetDelivery(d *webhooks.Desk, w http.ResponseWriter, r *http.Request) error {
	return done(w, d.Forget(r.Context(), caller(r), r.PathValue("id")))
}

// shown answers with v unless there is an error.
func (a *api) shown(w http.ResponseWriter, r *http.Request, v any, err error) error {
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, v)
}

// done answers without content unless there is an error.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
