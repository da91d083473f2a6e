package webhooks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const mostKey = 255 // bytes of an idempotency key

// Add adds a webhook. With a key, a repeat finds the one that is there: new is false then.
func (d *Desk) Add(ctx context.Context, c frontend.Caller, key string, req wire.WebhookRequest) (shown wire.Webhook, new bool, err error) {
	w := notice.Webhook{Tenant: c.Tenant, ID: d.id(c.Tenant, key), Rev: 1, Target: targetOf(req), Agents: req.Agents, Created: d.now(), CreatedBy: c.By}
	if len(key) > mostKey {
		return shown, false, refusal.New(refusal.CodeInvalid, "the idempotency key is longer than %d bytes", mostKey)
	}
	if key != "" {
		w.Request = digestOf(req)
	}
	if req.Agents != nil && len(req.Agents) == 0 {
		return shown, false, refusal.New(refusal.CodeInvalid, "agents is an empty list; name an agent at least, or leave agents out for all")
	}
	if err := check(w); err != nil {
		return shown, false, err
	}
	there, err := call(ctx, d, func() ([]notice.Webhook, error) { return d.o.Store.Webhooks(ctx, c.Tenant) })
	if err != nil {
		return shown, false, err
	}
	for _, old := range there {
		if old.ID == w.ID {
			// which says why a damaged one can't be read
			if old, err = d.find(ctx, c.Tenant, w.ID); err != nil {
				return shown, false, err
			}
			return d.repeated(ctx, old, w)
		}
	}
	if len(there) >= Most {
		return shown, false, refusal.New(refusal.CodeTooManyWebhooks, "the tenant has %d webhooks, which is the limit; remove one first", len(there))
	}
	err = do(ctx, d, func() error { return d.o.Store.PutWebhook(ctx, w) })
	if errors.Is(err, engine.ErrRefused) { // a rival with the same key was first
		old, err := d.find(ctx, c.Tenant, w.ID)
		if err != nil {
			return shown, false, err
		}
		return d.repeated(ctx, old, w)
	}
	return d.warned(ctx, w, show(w, nil)), true, err
}

// warned adds why deliveries can't work for now.
func (d *Desk) warned(ctx context.Context, w notice.Webhook, shown wire.Webhook) wire.Webhook {
	if d.o.Lacks != nil {
		shown.Warnings = d.o.Lacks(ctx, w)
	}
	return shown
}

// repeated answers a request whose key was used before.
func (d *Desk) repeated(ctx context.Context, old, w notice.Webhook) (wire.Webhook, bool, error) {
	if old.Request != w.Request {
		return wire.Webhook{}, false, refusal.New(refusal.CodeIdempotencyMismatch, "the idempotency key was used for another webhook; use a new key")
	}
	shown, err := d.shown(ctx, old)
	return shown, false, err
}

// id makes the id of a new webhook: random, or the same for each request with a key.
func (d *Desk) id(tenant, key string) string {
	if key == "" {
		return notice.TenantEndpoint + d.o.Random.Text(26)
	}
	return notice.TenantEndpoint + short("webhook\x00"+tenant+"\x00"+key)
}

func digestOf(req wire.WebhookRequest) string { return short(string(core.Encode(req))) }

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}

func targetOf(req wire.WebhookRequest) notice.Target {
	t := notice.Target{Name: req.Name, URL: req.URL, Mail: req.Mail, Format: notice.Format(req.Format), Secret: req.Secret, AllowPrivate: req.AllowPrivate}
	for _, kind := range req.On {
		t.On = append(t.On, notice.Kind(kind))
	}
	if !core.IsNull(req.Template) {
		t.Template = req.Template
	}
	return t
}

// List lists the tenant's webhooks, oldest first.
func (d *Desk) List(ctx context.Context, c frontend.Caller) (wire.Page[wire.Webhook], error) {
	page := wire.Page[wire.Webhook]{Items: []wire.Webhook{}}
	all, err := call(ctx, d, func() ([]notice.Webhook, error) { return d.o.Store.Webhooks(ctx, c.Tenant) })
	if err != nil {
		return page, err
	}
	disabled, err := d.disabled(ctx, c.Tenant, all...)
	sortByAge(all)
	for _, w := range all {
		page.Items = append(page.Items, show(w, disabled))
	}
	return page, err
}

// Webhook shows one.
func (d *Desk) Webhook(ctx context.Context, c frontend.Caller, id string) (wire.Webhook, error) {
	w, err := d.find(ctx, c.Tenant, id)
	if err != nil {
		return wire.Webhook{}, err
	}
	return d.shown(ctx, w)
}

// Change changes what the request names and leaves the rest. Changes at the same moment are made
// one after the other, so that none is lost; one that demands a revision is refused if another was
// first.
func (d *Desk) Change(ctx context.Context, c frontend.Caller, id string, change wire.WebhookChange) (wire.Webhook, error) {
	for range mostRivals {
		w, err := d.find(ctx, c.Tenant, id)
		if err != nil {
			return wire.Webhook{}, err
		}
		if change.Revision != 0 && change.Revision != w.Rev {
			return wire.Webhook{}, refusal.New(refusal.CodeWebhookChanged, "the webhook has revision %d, not %d; read it again and repeat the change", w.Rev, change.Revision)
		}
		w = changed(w, change)
		w.Rev, w.Changed, w.ChangedBy = w.Rev+1, d.now(), c.By
		if err := check(w); err != nil {
			return wire.Webhook{}, err
		}
		err = do(ctx, d, func() error { return d.o.Store.PutWebhook(ctx, w) })
		switch {
		case err == nil:
			return d.shown(ctx, w)
		case !errors.Is(err, engine.ErrRefused):
			return wire.Webhook{}, err
		}
	}
	return wire.Webhook{}, refusal.New(refusal.CodeWebhookChanged, "others change the webhook at this moment; read it again and repeat the change")
}

// mostRivals is how often a change is tried that another one precedes.
const mostRivals = 5

func changed(w notice.Webhook, change wire.WebhookChange) notice.Webhook {
	req := requestOf(w)
	set(&req.Name, change.Name)
	set(&req.Agents, change.Agents)
	set(&req.On, change.On)
	set(&req.URL, change.URL)
	set(&req.Mail, change.Mail)
	set(&req.Secret, change.Secret)
	set(&req.AllowPrivate, change.AllowPrivate)
	if change.Format != nil {
		if req.Format = *change.Format; req.Format != string(notice.FormatTemplate) {
			req.Template = nil
		}
	}
	if len(change.Template) > 0 {
		req.Template = change.Template
	}
	w.Target, w.Agents = targetOf(req), req.Agents
	if len(w.Agents) == 0 {
		w.Agents = nil
	}
	return w
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// Remove removes a webhook, also one that can't be read.
func (d *Desk) Remove(ctx context.Context, c frontend.Caller, id string) error {
	if _, err := d.find(ctx, c.Tenant, id); err != nil && !errors.Is(err, engine.ErrUnreadable) {
		return err
	}
	return do(ctx, d, func() error { return d.o.Store.DeleteWebhook(ctx, c.Tenant, id) })
}

// Test sends a test notice, even to a webhook that is disabled.
func (d *Desk) Test(ctx context.Context, c frontend.Caller, id string) (wire.WebhookTest, error) {
	w, err := d.find(ctx, c.Tenant, id)
	if err != nil {
		return wire.WebhookTest{}, err
	}
	if d.o.Test == nil {
		return wire.WebhookTest{}, refusal.New(refusal.CodeTestUnavailable, "this server sends no test notices; the webhook is stored and gets real ones")
	}
	a, err := d.o.Test(ctx, w)
	return wire.WebhookTest{Delivered: err == nil && a.Error == "", DeliveryAttempt: showAttempt(a)}, err
}

// disabled reads which of the webhooks are disabled.
func (d *Desk) disabled(ctx context.Context, tenant string, all ...notice.Webhook) (map[string]notice.Disabled, error) {
	if len(all) == 0 {
		return nil, nil
	}
	ids := make([]string, len(all))
	for i, w := range all {
		ids[i] = w.ID
	}
	return call(ctx, d, func() (map[string]notice.Disabled, error) { return d.o.Store.Disabled(ctx, tenant, ids) })
}

func (d *Desk) shown(ctx context.Context, w notice.Webhook) (wire.Webhook, error) {
	disabled, err := d.disabled(ctx, w.Tenant, w)
	return d.warned(ctx, w, show(w, disabled)), err
}

// requestOf is what one would ask for to get the webhook as it is.
func requestOf(w notice.Webhook) wire.WebhookRequest {
	req := wire.WebhookRequest{Name: w.Name, Agents: w.Agents, URL: w.URL, Mail: w.Mail, Template: w.Template, Secret: w.Secret, AllowPrivate: w.AllowPrivate,
		Format: string(w.Format), On: []string{}}
	for _, kind := range w.On {
		req.On = append(req.On, string(kind))
	}
	return req
}

func show(w notice.Webhook, disabled map[string]notice.Disabled) wire.Webhook {
	shown := wire.Webhook{ID: w.ID, Revision: w.Rev, WebhookRequest: requestOf(w), CreatedAt: wire.Millis(w.Created), CreatedBy: w.CreatedBy, ChangedBy: w.ChangedBy}
	if w.Damaged {
		shown.Warnings = []string{"this version of the server can't read the webhook, and its notices wait until one can; if none will, remove the webhook and add it again"}
	}
	if w.URL != "" {
		shown.Format = cmp.Or(shown.Format, string(notice.FormatStandard))
	}
	if w.Changed != 0 {
		at := wire.Millis(w.Changed)
		shown.ChangedAt = &at
	}
	if mark, is := disabled[w.ID]; is {
		m := showDisabled(mark)
		shown.Disabled = &m
	}
	return shown
}
