package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/client/internal/paging"
)

// WebhookRequest adds a webhook; see [Client.AddWebhook]. It has either a URL or Mail.
type WebhookRequest struct {
	// A name for people: at most 32 characters of a-z, 0-9, - and _.
	Name string `json:"name,omitempty"`
	// Report only runs of these agents. Nil: all agents. An empty list is refused.
	Agents []string `json:"agents,omitzero"`
	On     []string `json:"on"` // what is reported, such as "suspended"
	// The https address that gets a POST request for each notice. It can contain {secret:NAME}
	// after the host.
	URL  string   `json:"url,omitempty"`
	Mail []string `json:"mail,omitempty"` // at most 10 mail addresses
	// How the body is written: "standard", "slack", "teams" or "template". Default: "standard".
	Format string `json:"format,omitempty"`
	// With the format "template": the JSON that is sent.
	Template json.RawMessage `json:"template,omitempty"`
	// The name of the server's secret that signs the requests, never its value. It begins with
	// WEBHOOK_. Required by the format "standard".
	Secret string `json:"secret,omitempty"`
	// The URL may lead to a private address, if the operator of the server allows that address
	// too.
	AllowPrivate bool `json:"allow_private,omitempty"`
}

// WebhookChange changes members of a webhook; see [Client.ChangeWebhook]. A nil member stays as it
// is. An empty text or list removes the member.
type WebhookChange struct {
	Name   *string   `json:"name,omitempty"`   // a name for people
	Agents *[]string `json:"agents,omitempty"` // report only runs of these agents
	On     *[]string `json:"on,omitempty"`     // what is reported
	URL    *string   `json:"url,omitempty"`    // the address that gets the requests
	Mail   *[]string `json:"mail,omitempty"`   // mail addresses
	// How the body is written. Another format than "template" removes the template.
	Format   *string         `json:"format,omitempty"`
	Template json.RawMessage `json:"template,omitempty"` // the JSON that is sent
	// The name of the secret that signs.
	Secret *string `json:"secret,omitempty"`
	// The URL may lead to a private address.
	AllowPrivate *bool `json:"allow_private,omitempty"`
	// Refuse the change unless the webhook has this revision. Default: the change is made at
	// any revision.
	Revision int64 `json:"revision,omitempty"`
}

// Webhook is an endpoint of a tenant: it is notified of what happens in runs.
type Webhook struct {
	// Opaque, with the prefix "wh_"; it is also the id of the endpoint.
	ID       string `json:"id"`
	Revision int64  `json:"revision"` // 1 at first; each change adds 1
	WebhookRequest
	CreatedAt Time `json:"created_at"` // when the webhook was added
	// Who added the webhook. Empty if the server runs without tokens.
	CreatedBy string `json:"created_by,omitempty"`
	// When the webhook was last changed; nil if it never was.
	ChangedAt *Time  `json:"changed_at,omitempty"`
	ChangedBy string `json:"changed_by,omitempty"` // who last changed the webhook
	// Set if the webhook is disabled: it gets no notices.
	Disabled *DisabledEndpoint `json:"disabled,omitempty"`
	// Why deliveries can't work for now, such as a secret that is not set on the server. Lists
	// of webhooks say only that the server can't read a webhook.
	Warnings []string `json:"warnings,omitempty"`
}

// EndpointRequest names an endpoint to enable or disable.
type EndpointRequest struct {
	// The id of a webhook, or of an endpoint of an agent file or a run: "agent/AGENT/NAME" or
	// "run/RUN/NAME".
	Endpoint string `json:"endpoint"`
	Reason   string `json:"reason,omitempty"` // why it is disabled: at most 500 bytes
}

// DisabledEndpoint is an endpoint that gets no notices until it is enabled.
type DisabledEndpoint struct {
	Endpoint string `json:"endpoint"` // the id of the endpoint
	At       Time   `json:"at"`       // when it was disabled
	Reason   string `json:"reason"`   // why it was disabled
	// Who disabled it. Empty if the endpoint itself did, by answering 410 Gone.
	By string `json:"by,omitempty"`
}

// WebhookTest is the result of a test notice.
type WebhookTest struct {
	Delivered bool `json:"delivered"` // whether the endpoint accepted the notice
	DeliveryAttempt
}

// DeliveryAttempt is one attempt to deliver a notice.
type DeliveryAttempt struct {
	At         Time  `json:"at"`          // when the attempt began
	DurationMS int64 `json:"duration_ms"` // how long it took, in milliseconds
	// The HTTP status of the answer. 0 if there was none.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"` // what failed. Empty if the notice was delivered
}

// The states of a delivery.
const (
	DeliveryWaiting   = "waiting"   // it is attempted, or attempted again
	DeliveryDelivered = "delivered" // the endpoint accepted it
	DeliveryDead      = "dead"      // given up: it can be redriven
)

// Delivery is one notice for one endpoint.
type Delivery struct {
	ID       string `json:"id"`        // opaque, with the prefix "dlv_"
	Endpoint string `json:"endpoint"`  // the endpoint, as in [DisabledEndpoint]
	ThreadID string `json:"thread_id"` // the thread of the event
	Event    int64  `json:"event"`     // the number of the event
	Type     string `json:"type"`      // what is reported, such as "suspended"
	State    string `json:"state"`     // "waiting", "delivered" or "dead"
	// When the notice was queued for the endpoint, or redriven.
	QueuedAt Time `json:"queued_at"`
	// When the notice was delivered or given up; nil while it waits.
	EndedAt *Time `json:"ended_at,omitempty"`
	// When it is attempted next, at the earliest. Nil if that is now, or never.
	NextAttemptAt *Time             `json:"next_attempt_at,omitempty"`
	Attempts      int               `json:"attempts"` // the number of attempts
	Log           []DeliveryAttempt `json:"log"`      // the newest 8 attempts, oldest first
}

// DeliveryFilter selects deliveries.
type DeliveryFilter struct {
	Endpoint string // only of this endpoint; empty for all
	Thread   string // only of this thread, including those that wait; empty for all
	Dead     bool   // only dead ones
	Limit    int    // of one page; 0 for the server's default
	Cursor   string // of the page to begin with; empty for the first
}

// RedriveRequest names the endpoint whose dead notices are redriven.
type RedriveRequest struct {
	Endpoint string `json:"endpoint"` // the id of the endpoint
	// The Next of the previous answer. Empty in the first request.
	Cursor string `json:"cursor,omitempty"`
}

// Redriven is how many dead notices were put back in line.
type Redriven struct {
	// The number of notices. Those that can't be put back now stay dead.
	Redriven int `json:"redriven"`
	// More were dead: send it as the Cursor of another request. Empty if that was all.
	Next string `json:"next,omitempty"`
}

const webhooksPath = "/v1/webhooks"

func webhookPath(id string) string { return webhooksPath + "/" + url.PathEscape(id) }

func deliveryPath(id string) string { return webhooksPath + "/deliveries/" + url.PathEscape(id) }

// AddWebhook adds a webhook for the token's tenant. Requests with the same key and the same content
// add one webhook, as long as it is there. With an empty key, the client makes one for this call;
// see [WithRetries].
func (c *Client) AddWebhook(ctx context.Context, req WebhookRequest, key string) (Webhook, error) {
	header, err := c.keyed(key)
	if err != nil {
		return Webhook{}, err
	}
	return send[Webhook](ctx, c, request{method: http.MethodPost, path: webhooksPath, body: req, header: header})
}

// Webhooks lists the webhooks of the token's tenant.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	page, err := get[Page[Webhook]](ctx, c, webhooksPath, nil)
	return page.Items, err
}

// Webhook reads a webhook.
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	return get[Webhook](ctx, c, webhookPath(id), nil)
}

// ChangeWebhook changes the members of a webhook that are set in change. With a Revision, a change
// whose answer is lost may be reported as refused, because it was made.
func (c *Client) ChangeWebhook(ctx context.Context, id string, change WebhookChange) (Webhook, error) {
	return send[Webhook](ctx, c, request{method: http.MethodPatch, path: webhookPath(id), body: change})
}

// RemoveWebhook removes a webhook. Notices that it has not got yet become dead.
func (c *Client) RemoveWebhook(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: webhookPath(id)}, nil)
}

// TestWebhook sends a test notice and returns what the endpoint answered. Each request sends
// another one, so the client doesn't retry it.
func (c *Client) TestWebhook(ctx context.Context, id string) (WebhookTest, error) {
	return send[WebhookTest](ctx, c, request{method: http.MethodPost, path: webhookPath(id) + "/test", once: true})
}

// DisableEndpoint stops notices to an endpoint until it is enabled. If it is disabled already, that
// stays as it is, and is returned.
func (c *Client) DisableEndpoint(ctx context.Context, req EndpointRequest) (DisabledEndpoint, error) {
	return send[DisabledEndpoint](ctx, c, request{method: http.MethodPost, path: webhooksPath + "/disable", body: req})
}

// EnableEndpoint enables an endpoint. If it is not disabled, nothing changes.
func (c *Client) EnableEndpoint(ctx context.Context, endpoint string) error {
	return c.do(ctx, request{method: http.MethodPost, path: webhooksPath + "/enable", body: EndpointRequest{Endpoint: endpoint}}, nil)
}

// DisabledEndpoints iterates over the disabled endpoints of the tenant, by id.
func (c *Client) DisabledEndpoints(ctx context.Context) iter.Seq2[DisabledEndpoint, error] {
	return paging.All("", func(cursor string) ([]DisabledEndpoint, string, error) {
		page, err := get[Page[DisabledEndpoint]](ctx, c, webhooksPath+"/disabled", pageQuery(0, cursor))
		return page.Items, page.Next, err
	})
}

// Deliveries iterates over deliveries, newest first. The iteration ends with the first error.
func (c *Client) Deliveries(ctx context.Context, f DeliveryFilter) iter.Seq2[Delivery, error] {
	return paging.All(f.Cursor, func(cursor string) ([]Delivery, string, error) {
		f.Cursor = cursor
		page, err := c.DeliveryPage(ctx, f)
		return page.Items, page.Next, err
	})
}

// DeliveryPage reads one page of deliveries.
func (c *Client) DeliveryPage(ctx context.Context, f DeliveryFilter) (Page[Delivery], error) {
	q := pageQuery(f.Limit, f.Cursor)
	add(q, "endpoint", f.Endpoint)
	add(q, "thread_id", f.Thread)
	if f.Dead {
		q.Set("dead", "true")
	}
	return get[Page[Delivery]](ctx, c, webhooksPath+"/deliveries", q)
}

// Delivery reads a delivery.
func (c *Client) Delivery(ctx context.Context, id string) (Delivery, error) {
	return get[Delivery](ctx, c, deliveryPath(id), nil)
}

// RedriveDelivery attempts a dead delivery again. Redriving it twice has the effect of once.
func (c *Client) RedriveDelivery(ctx context.Context, id string) (Delivery, error) {
	return send[Delivery](ctx, c, request{method: http.MethodPost, path: deliveryPath(id) + "/redrive"})
}

// RedriveEndpoint attempts the dead deliveries of an endpoint again, newest first, and returns how
// many there were. After an error it can be repeated.
func (c *Client) RedriveEndpoint(ctx context.Context, endpoint string) (int, error) {
	req, sum := RedriveRequest{Endpoint: endpoint}, 0
	for {
		done, err := send[Redriven](ctx, c, request{method: http.MethodPost, path: webhooksPath + "/deliveries/redrive", body: req})
		sum += done.Redriven
		if err != nil || done.Next == "" || done.Next == req.Cursor {
			return sum, err
		}
		req.Cursor = done.Next
	}
}

// ForgetDelivery deletes a dead delivery. It is never attempted again.
func (c *Client) ForgetDelivery(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: deliveryPath(id)}, nil)
}

// send sends a request and returns the answer.
func send[T any](ctx context.Context, c *Client, r request) (answer T, err error) {
	err = c.do(ctx, r, &answer)
	return answer, err
}
