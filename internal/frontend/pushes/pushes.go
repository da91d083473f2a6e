// Package pushes answers clients of A2A that want to hear how their tasks go on: they add, read
// and remove the endpoints of a task. It delivers nothing itself.
package pushes

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// Store keeps the endpoints of tasks. Reads see every write that was answered before.
type Store interface {
	// PutPushes stores the revision p.Rev if the one before it is stored, or none for revision
	// 1. [engine.ErrRefused] otherwise, unless exactly p is stored. Once the time of
	// [notice.Pushes.Gone] is over, the store may delete it.
	PutPushes(ctx context.Context, p notice.Pushes) error

	// Pushes reads those of a task. [engine.ErrNotFound] if it never had one.
	Pushes(ctx context.Context, tenant, group string) (notice.Pushes, error)
}

// Options configure a [Desk]. All are required.
type Options struct {
	Store    Store
	Lines    engine.Lines
	Waker    engine.Waker
	Frontend *frontend.Frontend
}

// Desk answers callers. It is safe for concurrent use and remembers nothing from one call to the
// next. Every write may be sent again by its caller after an error.
type Desk struct{ o Options }

// New makes a desk.
func New(o Options) *Desk { return &Desk{o} }

// Put adds an endpoint to the group of a task of the agent that is about to begin. The task may be
// there already, and be another caller's: who sends its first message again names its group. So the
// caller needs the same right as in [Desk.Create].
func (d *Desk) Put(ctx context.Context, c frontend.Caller, agent, group string, one notice.Push) error {
	return d.put(ctx, c.Tenant, group, one, func() error {
		def, err := d.o.Frontend.Current(ctx, c.Tenant, agent)
		if err != nil {
			return err
		}
		return d.o.Frontend.MayStart(ctx, c, def)
	})
}

// put adds an endpoint, if may says so. One that is there as it is changes nothing.
func (d *Desk) put(ctx context.Context, tenant, group string, one notice.Push, may func() error) error {
	if err := Check(one); err != nil {
		return err
	}
	return d.change(ctx, tenant, group, func(p notice.Pushes, at int64) (notice.Pushes, error) {
		there, ok := p.Find(one.ID)
		if ok && there == one {
			return p, nil
		}
		if !ok && len(p.All) >= notice.MostPushes {
			return p, refusal.New(refusal.CodeInvalid, "the task has %d endpoints for push notifications, which is the limit; delete one first", len(p.All))
		}
		return p.With(one, at), may()
	})
}

// Create adds an endpoint to a task, or takes the place of the one with its id. A task that has
// come to rest by then is sent once.
//
//	stored ── the owner of the run reads it ── line: the task as it is, after that
func (d *Desk) Create(ctx context.Context, c frontend.Caller, run string, one notice.Push) error {
	p, group, err := d.task(ctx, c, run)
	if err != nil {
		return err
	}
	err = d.put(ctx, c.Tenant, group, one, func() error {
		return d.o.Frontend.MayStart(ctx, c, engine.Definition{Tenant: c.Tenant, Name: p.Record.Agent, Digest: p.Record.Version})
	})
	if err != nil {
		return err
	}
	if p, err = d.begun(ctx, c.Tenant, run); err != nil { // as it is after the write
		return err
	}
	if err := d.o.Frontend.Resubscribe(ctx, c, p); err != nil {
		return err
	}
	return d.catchUp(ctx, c.Tenant, p, notice.PushEndpoint(group, one.ID))
}

// begun is a task that is not in the middle of its first commit: it would have no event to begin
// with.
func (d *Desk) begun(ctx context.Context, tenant, run string) (journal.Place, error) {
	for n := range mostRivals {
		p, err := d.o.Frontend.Find(ctx, tenant, run)
		if err != nil || p.Record.Ev > p.Record.Ev0 || p.Head.Lease == 0 {
			return p, err
		}
		if err := engine.Sleep(ctx, d.o.Frontend.Clock, storecall.FirstPause<<n); err != nil {
			return p, err
		}
	}
	return journal.Place{}, &refusal.Error{Code: refusal.CodeUnavailable, Detail: "the task is about to begin; send the same request again"}
}

// catchUp has the line of an endpoint look at the task: an owner that had not heard of the endpoint
// may have committed that the task asks or ends.
func (d *Desk) catchUp(ctx context.Context, tenant string, p journal.Place, endpoint string) error {
	if p.Record.Ev == p.Record.Ev0 {
		return nil // it has yet to begin, and who begins it reads the endpoints
	}
	last, err := d.last(ctx, p)
	if err != nil || last.Event == 0 {
		return err
	}
	last.Key = notice.Key{Tenant: tenant, Thread: p.Head.Thread, Endpoint: endpoint}
	last.Now, last.Wake, last.Kind = d.o.Frontend.Now(), true, notice.Suspended
	if p.Record.End != nil {
		last.Kind = notice.Done
	}
	woken, err := storecall.Try(ctx, d.o.Frontend.Clock, func() (bool, error) { return d.o.Lines.HandOver(ctx, last) })
	if err == nil && !woken {
		// a hint: the line is due, and the sweep finds it
		_ = d.o.Waker.Send(context.WithoutCancel(ctx), engine.Wakeup{Tenant: tenant, Thread: last.Thread, Endpoint: endpoint}, 0)
	}
	return err
}

// last is the newest event of a run.
func (d *Desk) last(ctx context.Context, p journal.Place) (last engine.HandOver, err error) {
	for from := p.Record.Seq; from > p.Record.Seq0 && last.Event == 0 && err == nil; from-- {
		err = d.o.Frontend.Journal(ctx, p, from, func(s core.Segment) bool {
			if n := len(s.Events); n > 0 {
				last.Event, last.Seq = s.Events[n-1].Seq, s.Seq
			}
			return false
		})
	}
	return last, err
}

// List returns the endpoints of a task, without their secrets.
func (d *Desk) List(ctx context.Context, c frontend.Caller, run string) ([]notice.Push, error) {
	_, group, err := d.task(ctx, c, run)
	if err != nil {
		return nil, err
	}
	p, err := d.read(ctx, c.Tenant, group)
	all := slices.Clone(p.All)
	for i := range all {
		all[i] = Shown(all[i])
	}
	return all, err
}

// Shown is an endpoint without its secrets.
func Shown(p notice.Push) notice.Push {
	p.Token, p.Credentials = "", ""
	return p
}

// Delete removes an endpoint. What is not being sent by then is never sent. One that is not there
// is no error.
func (d *Desk) Delete(ctx context.Context, c frontend.Caller, run, id string) error {
	_, group, err := d.task(ctx, c, run)
	if err != nil {
		return err
	}
	return d.change(ctx, c.Tenant, group, func(p notice.Pushes, at int64) (notice.Pushes, error) {
		if _, ok := p.Find(id); !ok {
			return p, nil
		}
		return p.Without(id, at), nil
	})
}

// task finds a run and the group of its endpoints.
func (d *Desk) task(ctx context.Context, c frontend.Caller, run string) (p journal.Place, group string, err error) {
	if p, err = d.o.Frontend.Find(ctx, c.Tenant, run); err != nil {
		return p, "", err
	}
	if p.Record.Notify != "" && p.Record.Parent == nil {
		var targets []notice.Target
		body, err := storecall.Try(ctx, d.o.Frontend.Clock, func() ([]byte, error) {
			return d.o.Frontend.Store.Payload(ctx, c.Tenant, p.Head.Thread, p.Record.Notify)
		})
		if err == nil {
			err = json.Unmarshal(body, &targets)
		}
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return p, "", err
		}
		group = notice.PushGroup(targets)
	}
	if group == "" {
		err = ErrNoGroup
	}
	return p, group, err
}

// ErrNoGroup reports a run that was not begun as a task of A2A.
var ErrNoGroup = errors.New("pushes: the run was not begun as a task of A2A")

func (d *Desk) read(ctx context.Context, tenant, group string) (notice.Pushes, error) {
	p, err := storecall.Try(ctx, d.o.Frontend.Clock, func() (notice.Pushes, error) { return d.o.Store.Pushes(ctx, tenant, group) })
	if errors.Is(err, engine.ErrNotFound) {
		return notice.Pushes{Tenant: tenant, Group: group}, nil
	}
	return p, err
}

// mostRivals is how often a change is tried that another one precedes.
const mostRivals = 8

// change replaces the endpoints of a task. Changes at the same moment are made one after the other,
// so that none is lost and the limit holds.
func (d *Desk) change(ctx context.Context, tenant, group string, to func(p notice.Pushes, at int64) (notice.Pushes, error)) error {
	for range mostRivals {
		p, err := d.read(ctx, tenant, group)
		if err != nil {
			return err
		}
		next, err := to(p, d.o.Frontend.Now())
		if err != nil || next.Rev == p.Rev {
			return err
		}
		_, err = storecall.Try(ctx, d.o.Frontend.Clock, func() (struct{}, error) { return struct{}{}, d.o.Store.PutPushes(ctx, next) })
		if !errors.Is(err, engine.ErrRefused) {
			return err
		}
	}
	return &refusal.Error{Code: refusal.CodeUnavailable, Detail: "others change the task's push notifications at this moment; send the same request again"}
}

// Check refuses an endpoint that could never receive anything, or that its client may not name. It
// doesn't resolve host names: each delivery does, and checks the addresses.
func Check(one notice.Push) error {
	if e, ok := errors.AsType[*notice.FieldError](one.Check()); ok {
		return refusal.New(refusal.CodeInvalid, "%s: %s", e.Field, e.Problem)
	}
	u, err := url.Parse(one.URL)
	if err != nil {
		return refusal.New(refusal.CodeInvalid, "url: not an absolute URL")
	}
	inside := netguard.Inside(u.Host)
	address, err := netip.ParseAddr(netguard.CanonicalHost(u.Hostname()))
	switch {
	case netguard.Numeric(u.Host):
		return refusal.New(refusal.CodeInvalid, "url: the host is an address in an unusual form; write it as in 93.184.216.34")
	case err == nil && netguard.Metadata(address):
		return refusal.New(refusal.CodeInvalid, "url: the address belongs to a metadata service or a link; use another one")
	case inside && !one.AllowPrivate:
		return refusal.New(refusal.CodeInvalid, "url: the host is this machine or a private address; use a public one, or a token with the role webhooks if the operator allows the address")
	case !inside && !strings.EqualFold(u.Scheme, "https"):
		return refusal.New(refusal.CodeInvalid, "url: http is not encrypted; use https")
	}
	return nil
}
