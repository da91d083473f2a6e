package webhooks

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Query says which deliveries are wanted.
type Query struct {
	Endpoint, Thread string // empty: of all
	Dead             bool
	Limit            int
	Cursor           string
}

// Deliveries lists deliveries, newest first. Those that wait are listed for a thread only, all of
// them before the first page.
func (d *Desk) Deliveries(ctx context.Context, c frontend.Caller, q Query) (wire.Page[wire.Delivery], error) {
	page := wire.Page[wire.Delivery]{Items: []wire.Delivery{}}
	if len(q.Thread) > mostID || len(q.Endpoint) > mostID {
		return page, nil
	}
	if q.Thread != "" && q.Cursor == "" && !q.Dead {
		waiting, err := d.waiting(ctx, c.Tenant, q)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, waiting...)
	}
	records, next, err := d.records(ctx, c.Tenant, engine.RecordQuery{Thread: q.Thread, Endpoint: q.Endpoint, Dead: q.Dead, Cursor: q.Cursor, Limit: within(q.Limit)})
	for _, r := range records {
		page.Items = append(page.Items, showRecord(r))
	}
	page.Next = next
	return page, err
}

func (d *Desk) records(ctx context.Context, tenant string, q engine.RecordQuery) (records []notice.Record, next string, err error) {
	err = do(ctx, d, func() (err error) {
		records, next, err = d.o.Deliveries.Records(ctx, tenant, q)
		return err
	})
	if errors.Is(err, engine.ErrRefused) {
		err = badCursor()
	}
	return records, next, err
}

func (d *Desk) lines(ctx context.Context, tenant, thread string) (map[string]notice.Line, error) {
	return call(ctx, d, func() (map[string]notice.Line, error) { return d.o.Deliveries.ThreadLines(ctx, tenant, thread) })
}

func (d *Desk) waiting(ctx context.Context, tenant string, q Query) (all []wire.Delivery, err error) {
	lines, err := d.lines(ctx, tenant, q.Thread)
	for _, endpoint := range slices.Sorted(maps.Keys(lines)) {
		if q.Endpoint != "" && q.Endpoint != endpoint {
			continue
		}
		for event, e := range lines[endpoint].Entries {
			all = append(all, showEntry(notice.Key{Tenant: tenant, Thread: q.Thread, Endpoint: endpoint}, event, e))
		}
	}
	slices.SortFunc(all, func(a, b wire.Delivery) int {
		return cmp.Or(cmp.Compare(b.Event, a.Event), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return all, err
}

// Delivery shows one.
func (d *Desk) Delivery(ctx context.Context, c frontend.Caller, id string) (wire.Delivery, error) {
	k, event, err := placeOf(c.Tenant, id)
	if err != nil {
		return wire.Delivery{}, err
	}
	return d.delivery(ctx, k, event)
}

// delivery looks in the line first: what leaves it meanwhile has a record by then.
func (d *Desk) delivery(ctx context.Context, k notice.Key, event int64) (wire.Delivery, error) {
	lines, err := d.lines(ctx, k.Tenant, k.Thread)
	if err != nil {
		return wire.Delivery{}, err
	}
	if e, waits := lines[k.Endpoint].Entries[event]; waits {
		return showEntry(k, event, e), nil
	}
	r, err := call(ctx, d, func() (notice.Record, error) { return d.o.Deliveries.Record(ctx, k, event) })
	if errors.Is(err, engine.ErrNotFound) {
		return wire.Delivery{}, deliveryNotFound()
	}
	return showRecord(r), err
}

// Redrive puts a dead delivery back in its line. One that waits is as it should be, so that the
// request can be repeated; one that was delivered is refused.
func (d *Desk) Redrive(ctx context.Context, c frontend.Caller, id string) (wire.Delivery, error) {
	k, event, err := placeOf(c.Tenant, id)
	if err != nil {
		return wire.Delivery{}, err
	}
	if err := d.enabled(ctx, k.Tenant, k.Endpoint); err != nil {
		return wire.Delivery{}, err
	}
	if err := d.redrive(ctx, k, event); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return wire.Delivery{}, err
	}
	shown, err := d.delivery(ctx, k, event)
	if err == nil && shown.State == wire.DeliveryDelivered {
		err = refusal.New(refusal.CodeNotDead, "the notice was delivered; only dead ones can be redriven or forgotten")
	}
	return shown, err
}

// enabled refuses an endpoint that is disabled: what is redriven to it dies again at once.
func (d *Desk) enabled(ctx context.Context, tenant, endpoint string) error {
	marks, err := call(ctx, d, func() (map[string]notice.Disabled, error) { return d.o.Store.Disabled(ctx, tenant, []string{endpoint}) })
	if _, is := marks[endpoint]; is && err == nil {
		err = refusal.New(refusal.CodeEndpointDisabled, "%s is disabled; enable it first: webhooks enable %s", endpoint, endpoint)
	}
	return err
}

// redrive puts a dead notice back and wakes its line.
func (d *Desk) redrive(ctx context.Context, k notice.Key, event int64) error {
	if err := do(ctx, d, func() error { return d.o.Deliveries.RedriveNotice(ctx, k, event, d.now()) }); err != nil {
		return err
	}
	// a hint: the line is due, and the sweep finds it
	_ = d.o.Waker.Send(context.WithoutCancel(ctx), engine.Wakeup{Tenant: k.Tenant, Thread: k.Thread, Endpoint: k.Endpoint}, 0)
	return nil
}

// mostRedriven is how many notices one request redrives.
const mostRedriven = 100

// mostSilent is how many notices of a request fail before it is given up, if none succeeds.
const mostSilent = 5

// RedriveAll puts dead notices of an endpoint back in their lines, newest first. One that dies
// again meanwhile is in front of the cursor, so that the requests come to an end. One that can't be
// put back stays dead and doesn't stop the others; it is an error if none can.
func (d *Desk) RedriveAll(ctx context.Context, c frontend.Caller, req wire.RedriveRequest) (done wire.Redriven, err error) {
	if err := checkEndpoint(req.Endpoint); err != nil {
		return done, err
	}
	if err := d.enabled(ctx, c.Tenant, req.Endpoint); err != nil {
		return done, err
	}
	records, next, err := d.records(ctx, c.Tenant, engine.RecordQuery{Endpoint: req.Endpoint, Dead: true, Limit: mostRedriven, Cursor: req.Cursor})
	if err != nil {
		return done, err
	}
	var failed []error
	for _, r := range records {
		switch err := d.redrive(ctx, r.Key, r.Event); {
		case err == nil:
			done.Redriven++
		case ctx.Err() != nil:
			return done, err
		case !errors.Is(err, engine.ErrNotFound): // one that is no longer dead
			failed = append(failed, err)
		}
		if len(failed) == mostSilent && done.Redriven == 0 {
			break
		}
	}
	if done.Redriven == 0 && len(failed) > 0 {
		return done, errors.Join(failed...)
	}
	done.Next = next
	return done, nil
}

// Forget deletes a dead delivery.
func (d *Desk) Forget(ctx context.Context, c frontend.Caller, id string) error {
	k, event, err := placeOf(c.Tenant, id)
	if err != nil {
		return err
	}
	shown, err := d.delivery(ctx, k, event)
	switch {
	case err != nil:
		return err
	case shown.State != wire.DeliveryDead:
		return refusal.New(refusal.CodeNotDead, "the delivery is %s; only dead ones can be redriven or forgotten", shown.State)
	}
	err = do(ctx, d, func() error { return d.o.Deliveries.ForgetNotice(ctx, k, event) })
	if errors.Is(err, engine.ErrNotFound) { // forgotten or redriven meanwhile
		return nil
	}
	return err
}

func deliveryNotFound() error {
	return refusal.New(refusal.CodeDeliveryNotFound, "there is no delivery with this id; records of delivered notices are kept for 30 days")
}

const deliveryID = "dlv_"

// idOf makes the id of a delivery: it holds thread, endpoint and event. The tenant is the caller's,
// so an id leads to nothing of another tenant.
func idOf(k notice.Key, event int64) string {
	return deliveryID + base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{k.Thread, strconv.FormatInt(event, 10), k.Endpoint}, "\x00")))
}

func placeOf(tenant, id string) (k notice.Key, event int64, err error) {
	text, ours := strings.CutPrefix(id, deliveryID)
	if !ours || len(text) > 4*mostID {
		return k, 0, deliveryNotFound()
	}
	raw, err1 := base64.RawURLEncoding.Strict().DecodeString(text)
	parts := strings.Split(string(raw), "\x00")
	if err1 != nil || len(parts) != 3 {
		return k, 0, deliveryNotFound()
	}
	event, err2 := strconv.ParseInt(parts[1], 10, 64)
	if k = (notice.Key{Tenant: tenant, Thread: parts[0], Endpoint: parts[2]}); err2 != nil || idOf(k, event) != id {
		return k, 0, deliveryNotFound()
	}
	return k, event, nil
}

func showRecord(r notice.Record) wire.Delivery {
	ended := wire.Millis(r.At)
	return wire.Delivery{ID: idOf(r.Key, r.Event), Endpoint: r.Endpoint, ThreadID: r.Thread, Event: r.Event, Type: string(r.Kind), State: string(r.State),
		QueuedAt: wire.Millis(r.Since), EndedAt: &ended, Attempts: r.Tries, Log: showAttempts(r.Attempts)}
}

func showEntry(k notice.Key, event int64, e notice.Entry) wire.Delivery {
	shown := wire.Delivery{ID: idOf(k, event), Endpoint: k.Endpoint, ThreadID: k.Thread, Event: event, Type: string(e.Kind), State: wire.DeliveryWaiting,
		QueuedAt: wire.Millis(e.Since), Attempts: e.Tries, Log: showAttempts(e.Attempts)}
	if e.NotBefore != 0 {
		next := wire.Millis(e.NotBefore)
		shown.NextAttemptAt = &next
	}
	return shown
}

func showAttempts(attempts []notice.Attempt) []wire.DeliveryAttempt {
	shown := make([]wire.DeliveryAttempt, len(attempts))
	for i, a := range attempts {
		shown[i] = showAttempt(a)
	}
	return shown
}

func showAttempt(a notice.Attempt) wire.DeliveryAttempt {
	return wire.DeliveryAttempt{At: wire.Millis(a.At), DurationMS: a.Took, Status: a.Status, Error: a.Error}
}
