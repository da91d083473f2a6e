// Package frontend answers callers: it starts runs, takes decisions, messages, interrupts and
// cancels, and reads what is stored. Everything a caller wants done it stores as a signal and then
// sends a wake-up; it never claims a run, never commits to one and runs no tool. It knows no HTTP:
// package httpapi translates.
//
// Every write may be sent again by its caller after an error: starts and messages under their key,
// decisions by their id, interrupts and cancels as they are, have the effect of one.
package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/family"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/longpoll"
	"github.com/dormouse-dev/dormouse/internal/frontend/quota"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
	"github.com/dormouse-dev/dormouse/internal/frontend/spending"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// Options configure a [Frontend]. Store, Catalog, Waker, Clock and Random are required.
type Options struct {
	Store   Store
	Catalog Catalog
	Waker   engine.Waker
	Clock   engine.Clock
	Random  engine.Random
	Limits  Limits
	Quota   quota.Bounds // of each tenant

	// Links keeps the records of approval links. Nil: none can be made.
	Links LinkStore

	// Stopping, once closed, ends every held read with what is there then: a server that stops
	// does not make its callers wait, nor wait for them. Nil never does.
	Stopping <-chan struct{}

	// Watch, if set, returns a channel that gets a signal soon after the thread has changed,
	// or, for an empty thread, after the tenant's feed has; stop ends it. It is only a hint:
	// held reads also poll, less often if there is a Watch.
	Watch func(tenant, thread string) (changed <-chan struct{}, stop func())

	// Live, if set, is what models are saying just now, for readers who ask for it. Nil: they
	// get the whole text with the commit.
	Live Live

	// Describe shows a definition to callers. Nil shows name and version.
	Describe func(engine.Definition) (wire.Agent, error)

	// Tool shows what a tool of the version that a run is pinned to does and where its calls
	// go. An error leaves that out. Nil: nothing is known of tools.
	Tool runview.DescribeTool

	// Unavailable returns why agents cannot be served for now, by name, in words that may be
	// shown: they are listed with the reason, and starts of them are refused. The map is the
	// frontend's to change. Nil: all can be served.
	Unavailable func() map[string]string

	// Check explains, in words for the caller, why a call with edited arguments can't run in
	// the version that the run is pinned to; nil if it can. An error that wraps
	// [engine.ErrUnavailable] means that the check can't be made now. notBy names who must not
	// approve the call with these arguments, as in [core.SuspendTicket]. A nil Check accepts
	// all arguments.
	Check func(ctx context.Context, pin engine.Pin, call core.ToolCall) (notBy string, err error)

	// Accepts says, in words for the caller, why a run of a version can't start with what was
	// supplied; nil if it can. The body of the definition is there. A nil Accepts accepts
	// nothing.
	Accepts func(engine.Definition, supplied.Input) error

	// Starters are the callers who may start runs of a version of an agent and send them
	// messages; none: every caller with the role. Without it every caller may. The body of the
	// definition may be missing.
	Starters func(context.Context, engine.Definition) ([]string, error)

	// DayBudget is what the runs of a version of an agent may cost that start on one day; 0 is
	// no limit. The body of the definition may be missing. Nil: no agent has a limit.
	DayBudget func(context.Context, engine.Definition) (core.USD, error)

	// TenantDay is what all runs of a tenant may cost that start on one day; 0 is no limit.
	TenantDay core.USD

	// Asking are the groups and policies that asks may name.
	Asking ask.Policies

	// Narrow says what is wrong with the permissions of one run, in words that may be shown.
	// Without it all are accepted.
	Narrow func(raw json.RawMessage) error
}

// Limits bound what callers may store, and what is read for them at once. A zero member means its
// default.
type Limits struct {
	Messages int // signals in an inbox that a further message is refused at; 32
	// bytes of a value kept in the head; larger ones are put beside it; 512
	Inline   int
	Held     int           // messages behind an open run that one more is refused at; 32
	Metadata int           // bytes of a run's metadata; 2048
	Narrow   int           // bytes of a run's own permissions; 1024
	Wait     time.Duration // the longest a read is held; 20 seconds
	KeyLife  time.Duration // how long an idempotency key on a thread is remembered; 30 days
	// how many pages are read at once; 2. More wait for their turn: each is held in memory
	// while it is read
	Pages int
}

func (l Limits) orDefaults() Limits {
	set(&l.Messages, 32)
	set(&l.Inline, 512)
	set(&l.Held, 32)
	set(&l.Metadata, 2048)
	set(&l.Narrow, 1024)
	set(&l.Wait, 20*time.Second)
	set(&l.KeyLife, 30*24*time.Hour)
	set(&l.Pages, 2)
	return l
}

func set[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// Frontend answers callers. It is safe for concurrent use and remembers nothing from one call to
// the next.
type Frontend struct {
	*journal.Reader // finds runs, threads and what they wait for
	*runview.Viewer // shows a run
	Family          *family.Tree

	Store     Store
	Catalog   Catalog
	waker     engine.Waker
	Random    engine.Random
	LinkStore LinkStore
	limits    Limits
	quota     quota.Gate
	Held      *longpoll.Reads
	Live      Live
	Describe  func(engine.Definition) (wire.Agent, error)
	Missing   func() map[string]string
	check     func(ctx context.Context, pin engine.Pin, call core.ToolCall) (notBy string, err error)
	accepts   func(engine.Definition, supplied.Input) error
	starters  func(context.Context, engine.Definition) ([]string, error)
	narrow    func(raw json.RawMessage) error
	asking    ask.Policies
	dayBudget func(context.Context, engine.Definition) (core.USD, error)
	tenantDay core.USD
	today     *spending.Today
}

// New makes a frontend.
func New(opts Options) *Frontend {
	f := &Frontend{Store: opts.Store, Catalog: opts.Catalog, waker: opts.Waker, Random: opts.Random,
		LinkStore: opts.Links, limits: opts.Limits.orDefaults(), quota: quota.Gate{Bounds: opts.Quota}, Live: opts.Live, Describe: opts.Describe,
		check: opts.Check, accepts: opts.Accepts, starters: opts.Starters, narrow: opts.Narrow, Missing: opts.Unavailable,
		asking: opts.Asking, dayBudget: opts.DayBudget, tenantDay: opts.TenantDay, today: &spending.Today{Runs: pages{opts.Store, opts.Clock}}}
	if f.LinkStore == nil {
		f.LinkStore = noLinks{}
	}
	f.Held = &longpoll.Reads{Clock: opts.Clock, Longest: f.limits.Wait, Stopping: opts.Stopping, Watch: opts.Watch, Live: opts.Live}
	f.Reader = journal.New(opts.Store, opts.Clock, f.limits.Pages)
	f.Viewer = runview.New(f.Reader, opts.Tool)
	f.Family = family.In(f.Reader)
	if f.Missing == nil {
		f.Missing = func() map[string]string { return nil }
	}
	if f.Describe == nil {
		f.Describe = func(d engine.Definition) (wire.Agent, error) {
			return wire.Agent{Name: d.Name, Version: d.Digest, Tools: []wire.Tool{}}, nil
		}
	}
	return f
}

// Caller is who sends a request: the tenant whose data it sees, and the name and the way in that
// the journal records.
type Caller struct {
	Tenant string
	By     string // such as token:anna; empty where callers have no names
	Via    string // such as api, link or queue
	Roles  []access.Role
	Claims map[string]string // of a token that an identity provider signed

	// Verified is how a recipient of a link has shown who they are; empty if they have not.
	Verified string

	// Link is the approval link that the caller answers by; nil for a caller with a right of
	// its own.
	Link *engine.Link
}

// ViaHook is the entry point of incoming webhooks.
const ViaHook = "hook"

// HookKeys begins the idempotency keys of webhooks. No other caller may use such a key: it could
// have an event that is still to come taken for a repeat.
const HookKeys = "hook:"

// dueAfter is when the sweep looks after a signal whose wake-up got lost.
const dueAfter = 5 * time.Second

// Now is the time in milliseconds since the Unix epoch.
func (f *Frontend) Now() int64 { return f.Clock.Now().UnixMilli() }

func (f *Frontend) due() int64 { return f.Clock.Now().Add(dueAfter).UnixMilli() }

// wake sends a wake-up unless the store has. It is a hint: if it cannot be sent, the sweep finds
// the thread by its due time, so that is not an error. It is sent even if the caller disconnects.
func (f *Frontend) wake(ctx context.Context, tenant, thread string, woken bool) {
	if !woken {
		_ = f.waker.Send(context.WithoutCancel(ctx), engine.Wakeup{Tenant: tenant, Thread: thread}, 0)
	}
}

// offload moves a value that is large for the head out of the signal: it is stored beside the
// thread, under its digest.
func (f *Frontend) offload(ctx context.Context, tenant, thread string, s core.Signal) (core.Signal, error) {
	if len(s.Value) <= f.limits.Inline {
		return s, nil
	}
	value := s.Value
	s.Value, s.Ref = nil, core.Digest(value)
	return s, f.putPayload(ctx, tenant, thread, s.Ref, value)
}

func (f *Frontend) putPayload(ctx context.Context, tenant, thread, digest string, body []byte) error {
	_, err := storecall.Try(ctx, f.Clock, func() (struct{}, error) {
		return struct{}{}, f.Store.PutPayload(ctx, tenant, thread, digest, body)
	})
	return err
}

func (f *Frontend) send(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	again := req.Signal.Kind != core.SignalMessage || req.Key != nil
	return write(ctx, f, again, func() (engine.Written, error) { return f.Store.Signal(ctx, req) })
}

func (f *Frontend) start(ctx context.Context, req engine.StartRequest) (engine.Written, error) {
	again := req.Prior == nil || req.Key != nil
	return write(ctx, f, again, func() (engine.Written, error) { return f.Store.Start(ctx, req) })
}

// write is [storecall.Try] for a request whose repeat the store recognizes. It cannot recognize a
// message, or a thread's next run, without a key once a worker has drained it, so such a request is
// sent once:
//
//	stored, reply lost ── worker drains it ── sent again: stored twice
func write(ctx context.Context, f *Frontend, again bool, op func() (engine.Written, error)) (engine.Written, error) {
	if again {
		return storecall.Try(ctx, f.Clock, op)
	}
	w, err := op()
	if !errors.Is(err, engine.ErrUnavailable) {
		return w, err
	}
	refused := refusal.Storage(err)
	if refused.Code == refusal.CodeUnavailable || refused.Code == refusal.CodeStorageFailing {
		refused.Detail = "the store didn't answer, so the request may have been stored; check before sending it again, or send it with an Idempotency-Key"
	}
	return w, refused
}
