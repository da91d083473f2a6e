package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/hooks"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// hookRoutes are what other systems send to. Each address or signature is its own credential.
func (a *api) hookRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/hooks/{name}", name: "receiveHook", tag: "hooks", title: "Receive a webhook",
			about: "Starts a run, sends a message or decides, as the hook file says. The signature over the raw body is the credential: Standard Webhooks, Slack, GitHub, Stripe or Discord. " +
				"The body is a JSON object or a form; its media type is ignored, because no signature covers it. A repeat has no further effect. A refused delivery had no effect and can be repeated.",
			body: &body{of: map[string]any{}, form: map[string]any{}}, raw: true,
			answers: []answered{answers(200, wire.HookAnswer{}, "Done, ignored or received before. The body is empty for Slack.")},
			codes:   hookCodes, serve: a.receiveHook},
		{method: http.MethodPost, path: access.PushPath + "{token}", name: "receivePush", tag: "hooks", title: "Receive a push notification of a remote agent",
			about: "Has the run that waits for the agent look at its task now. The server gives this address to the agent with the task; it is the credential. The body, at most 64 KiB of any media type, is not read.",
			body:  &body{of: map[string]any{}, optional: true}, raw: true, answers: []answered{answers(204, nil, "The run looks at its task soon, or has ended.")},
			codes: []refusal.Code{problems.CodeNotFound, problems.CodeRateLimited}, serve: a.receivePush},
	}
}

// receiveHook hands a webhook to the receiver as it came: a signature covers the raw body. Where
// the sender reads something into a body, as Slack does, the answer has none.
func (a *api) receiveHook(w http.ResponseWriter, r *http.Request) error {
	if a.hooks == nil {
		return &refusal.Error{Code: refusal.CodeHookNotFound, Detail: "this server has no hooks; check the address"}
	}
	raw, done, err := bodies.ReadUnchecked(http.MaxBytesReader(w, r.Body, bodies.Max))
	defer done()
	if err != nil {
		return bodies.Crowded(err)
	}
	answer, err := a.hooks.Receive(r.Context(), r.PathValue("name"), hooks.Request{Header: r.Header.Values, Body: raw,
		Admit: func(tenant string, kind pace.Kind) error {
			requestlog.Of(r).Tenant = tenant
			return a.paces.Admit(r.Context(), kind, tenant, a.clock.Now())
		}})
	if err != nil {
		return err
	}
	if answer == (wire.HookAnswer{}) {
		return nil
	}
	return a.writeJSON(w, r, http.StatusOK, answer)
}
