package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// only this role: addresses of webhooks can be secret, and notices say what runs are about
var canWebhooks = []access.Role{access.Webhooks}

func (a *api) webhookRoutes() []route {
	endpointParam := inQuery("endpoint", "Return only deliveries to this endpoint: a webhook's id, `agent/AGENT/NAME`, `run/RUN/NAME` or `sink/NAME`.")
	routes := []route{
		{method: http.MethodPost, path: "/v1/webhooks", name: "addWebhook", title: "Add a webhook", paced: pace.Starts,
			about: "Notifies an address of what happens in the tenant's runs from now on, until it is removed or disabled. A tenant has at most 50.",
			body:  takes(wire.WebhookRequest{}), params: []param{keyHeader},
			answers: []answered{{status: 201, of: wire.Webhook{}, about: "The webhook.", headers: []string{"Location"}},
				{status: 200, of: wire.Webhook{}, about: "The key was used before with the same body. Returns the webhook as it is now.", headers: []string{"Location"}}},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeTooManyWebhooks, refusal.CodeIdempotencyMismatch, problems.CodeRateLimited}, serve: a.withDesk(a.addWebhook)},
		{method: http.MethodGet, path: "/v1/webhooks", name: "listWebhooks", title: "List webhooks, oldest first",
			answers: []answered{answers(200, wire.Page[wire.Webhook]{}, "All entries.")}, serve: a.withDesk(a.listWebhooks)},
		{method: http.MethodGet, path: "/v1/webhooks/{id}", name: "readWebhook", title: "Read a webhook",
			answers: []answered{answers(200, wire.Webhook{}, "The webhook.")}, codes: []refusal.Code{refusal.CodeWebhookNotFound}, serve: a.withDesk(a.readWebhook)},
		{method: http.MethodPatch, path: "/v1/webhooks/{id}", name: "changeWebhook", title: "Change a webhook",
			about: "Changes the members that are sent and keeps the others. Concurrent changes of different members are all made. With `revision`, the change is refused if another one was made since.",
			body:  takes(wire.WebhookChange{}), answers: []answered{answers(200, wire.Webhook{}, "The changed webhook.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeWebhookNotFound, refusal.CodeWebhookChanged}, serve: a.withDesk(a.changeWebhook)},
		{method: http.MethodDelete, path: "/v1/webhooks/{id}", name: "removeWebhook", title: "Remove a webhook",
			about:   "Notices that it hasn't received become dead deliveries.",
			answers: []answered{answers(204, nil, "Removed.")}, codes: []refusal.Code{refusal.CodeWebhookNotFound}, serve: a.withDesk(a.removeWebhook)},
		{method: http.MethodPost, path: "/v1/webhooks/{id}/test", name: "testWebhook", title: "Send a test notice", paced: pace.Starts, body: mayTake(struct{}{}),
			about:   "Sends a signed notice of the type `test`, once, and waits for the endpoint's answer. Works for disabled webhooks too.",
			answers: []answered{answers(200, wire.WebhookTest{}, "The attempt, whether it was delivered or not.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeWebhookNotFound, refusal.CodeTestUnavailable, problems.CodeRateLimited}, serve: a.withDesk(a.testWebhook)},
		{method: http.MethodGet, path: "/v1/webhooks/disabled", name: "listDisabled", title: "List disabled endpoints",
			about:  "Lists webhooks, and endpoints of agent files and runs. An endpoint is disabled by a caller, or by its own answer 410.",
			params: []param{limitParam("50", 200), cursorParam}, answers: []answered{answers(200, wire.Page[wire.DisabledEndpoint]{}, "One page.")},
			codes: []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor}, serve: a.withDesk(a.listDisabled)},
		{method: http.MethodPost, path: "/v1/webhooks/disable", name: "disableEndpoint", title: "Disable an endpoint", body: takes(wire.EndpointRequest{}),
			about:   "The endpoint gets no notices of later events, and notices on their way become dead deliveries. If it is disabled already, nothing changes.",
			answers: []answered{answers(200, wire.DisabledEndpoint{}, "When, why and by whom it was disabled.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeWebhookNotFound}, serve: a.withDesk(a.disableEndpoint)},
		{method: http.MethodPost, path: "/v1/webhooks/enable", name: "enableEndpoint", title: "Enable an endpoint", body: takes(wire.EndpointRequest{}),
			about:   "The endpoint gets notices of later events. Redrive its dead deliveries to send those too. If it isn't disabled, nothing changes.",
			answers: []answered{answers(204, nil, "Enabled.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeWebhookNotFound}, serve: a.withDesk(a.enableEndpoint)},
		{method: http.MethodGet, path: "/v1/webhooks/deliveries", name: "listDeliveries", title: "List deliveries, newest first",
			about: "Lists delivered and dead notices, with their newest 8 attempts. With `thread_id`, the first page begins with all notices of the thread that wait. " +
				"Delivered ones are kept for 30 days, dead ones until they are redriven or forgotten.",
			params: []param{endpointParam, inQuery("thread_id", "Return only deliveries about this thread."),
				{in: "query", name: "dead", about: "`true` returns only dead deliveries.", one: []string{"true", "false"}}, limitParam("50", 200), cursorParam},
			answers: []answered{answers(200, wire.Page[wire.Delivery]{}, "One page.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor}, serve: a.withDesk(a.listDeliveries)},
		{method: http.MethodGet, path: "/v1/webhooks/deliveries/{id}", name: "readDelivery", title: "Read a delivery",
			answers: []answered{answers(200, wire.Delivery{}, "The delivery at this moment.")},
			codes:   []refusal.Code{refusal.CodeDeliveryNotFound}, serve: a.withDesk(a.readDelivery)},
		{method: http.MethodPost, path: "/v1/webhooks/deliveries/{id}/redrive", name: "redriveDelivery", title: "Redrive a dead delivery", body: mayTake(struct{}{}),
			about:   "The notice is attempted again for up to 24 hours, under the same id. Redriving a delivery that waits has no effect.",
			answers: []answered{answers(200, wire.Delivery{}, "The delivery, which waits.")},
			codes:   []refusal.Code{refusal.CodeDeliveryNotFound, refusal.CodeNotDead, refusal.CodeEndpointDisabled}, serve: a.withDesk(a.redriveDelivery)},
		{method: http.MethodPost, path: "/v1/webhooks/deliveries/redrive", name: "redriveEndpoint", title: "Redrive all dead deliveries of an endpoint", body: takes(wire.RedriveRequest{}),
			about:   "Redrives up to 100, newest first. Repeat the request with `next` as the `cursor` until there is no `next`.",
			answers: []answered{answers(200, wire.Redriven{}, "How many were redriven.")},
			codes:   []refusal.Code{refusal.CodeInvalid, refusal.CodeBadCursor, refusal.CodeEndpointDisabled}, serve: a.withDesk(a.redriveAll)},
		{method: http.MethodDelete, path: "/v1/webhooks/deliveries/{id}", name: "forgetDelivery", title: "Forget a dead delivery",
			about:   "Deletes the record. The notice is never attempted again.",
			answers: []answered{answers(204, nil, "Forgotten.")},
			codes:   []refusal.Code{refusal.CodeDeliveryNotFound, refusal.CodeNotDead}, serve: a.withDesk(a.forgetDelivery)},
	}
	for i := range routes {
		routes[i].tag, routes[i].roles = "webhooks", canWebhooks
		// where a server has none
		routes[i].codes = append(routes[i].codes, problems.CodeNotFound)
	}
	return routes
}
