package webhooks

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// Disable stops notices to an endpoint. One that is disabled already stays as it is.
func (d *Desk) Disable(ctx context.Context, c frontend.Caller, req wire.EndpointRequest) (wire.DisabledEndpoint, error) {
	switch {
	case len(req.Reason) > mostReason:
		return wire.DisabledEndpoint{}, refusal.New(refusal.CodeInvalid, "reason: %d bytes are too long; use at most %d", len(req.Reason), mostReason)
	case printable.Text(req.Reason) != req.Reason:
		return wire.DisabledEndpoint{}, refusal.New(refusal.CodeInvalid, "reason: it has invisible characters; write plain text")
	}
	if err := d.exists(ctx, c, req.Endpoint); err != nil {
		return wire.DisabledEndpoint{}, err
	}
	mark := notice.Disabled{Tenant: c.Tenant, Endpoint: req.Endpoint, At: d.now(), Reason: cmp.Or(req.Reason, "disabled by an operator"), By: cmp.Or(c.By, "operator")}
	mark, err := call(ctx, d, func() (notice.Disabled, error) { return d.o.Store.DisableEndpoint(ctx, mark) })
	return showDisabled(mark), err
}

// Enable undoes Disable, and what an answer of the endpoint did.
func (d *Desk) Enable(ctx context.Context, c frontend.Caller, req wire.EndpointRequest) error {
	if req.Reason != "" {
		return refusal.New(refusal.CodeInvalid, "reason: an endpoint is enabled without one; remove it")
	}
	if err := d.exists(ctx, c, req.Endpoint); err != nil {
		return err
	}
	return do(ctx, d, func() error { return d.o.Store.EnableEndpoint(ctx, c.Tenant, req.Endpoint) })
}

// exists refuses an endpoint that can't be there, and a sink, which the deployment alone turns off.
// Those of agent files and runs are not looked up: a later version of the file may have them again.
func (d *Desk) exists(ctx context.Context, c frontend.Caller, endpoint string) error {
	switch {
	case notice.OfTenant(endpoint):
		_, err := d.find(ctx, c.Tenant, endpoint)
		return err
	case notice.OfSink(endpoint):
		return refusal.New(refusal.CodeInvalid, "endpoint: it belongs to the deployment, whose operator turns it off; write the id of a webhook (wh_...), or agent/AGENT/NAME, or run/RUN/NAME")
	}
	return checkEndpoint(endpoint)
}

// checkEndpoint refuses what is not the id of an endpoint.
func checkEndpoint(endpoint string) error {
	if _, is := notice.ParseEndpoint(endpoint); !is || len(endpoint) > mostID || !utf8.ValidString(endpoint) || printable.Text(endpoint) != endpoint {
		return refusal.New(refusal.CodeInvalid, "endpoint: write the id of a webhook (wh_...), or agent/AGENT/NAME, run/RUN/NAME or sink/NAME")
	}
	return nil
}

// Disabled lists the disabled endpoints of the tenant, by id.
func (d *Desk) Disabled(ctx context.Context, c frontend.Caller, cursor string, limit int) (wire.Page[wire.DisabledEndpoint], error) {
	page := wire.Page[wire.DisabledEndpoint]{Items: []wire.DisabledEndpoint{}}
	after, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(after) > mostID || cursor != "" && checkEndpoint(string(after)) != nil {
		return page, badCursor()
	}
	limit = within(limit)
	marks, err := call(ctx, d, func() ([]notice.Disabled, error) {
		return d.o.Store.DisabledEndpoints(ctx, c.Tenant, string(after), limit+1)
	})
	if err != nil {
		return page, err
	}
	if len(marks) > limit {
		marks = marks[:limit]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(marks[limit-1].Endpoint))
	}
	for _, mark := range marks {
		page.Items = append(page.Items, showDisabled(mark))
	}
	return page, nil
}

func showDisabled(d notice.Disabled) wire.DisabledEndpoint {
	return wire.DisabledEndpoint{Endpoint: d.Endpoint, At: wire.Millis(d.At), Reason: d.Reason, By: d.By}
}

func badCursor() error {
	return refusal.New(refusal.CodeBadCursor, "the cursor belongs to another list; start again without one")
}

// within is how many entries a page has: as many as asked for, within bounds.
func within(asked int) int {
	if asked <= 0 {
		return 50
	}
	return min(asked, 200)
}

func sortByAge(all []notice.Webhook) {
	slices.SortStableFunc(all, func(a, b notice.Webhook) int { return cmp.Compare(a.Created, b.Created) })
}
