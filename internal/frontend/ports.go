package frontend

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// Store is what callers' requests need of a store. It never claims and never commits. Errors are
// those of package engine.
type Store interface {
	journal.Store
	ThreadStore
	PayloadStore
	KeyStore
	RunIndex
	FeedStore
}

// ThreadStore lets callers begin runs and leave signals.
type ThreadStore interface {
	// Start creates a run. [*engine.KeyTakenError] if req.Key is there; [engine.ErrRefused],
	// with the head that is in the way, if the thread exists (no Prior), or if it is not at
	// Prior's revision or not done. Checked in this order. [engine.ErrNewerSchema] if what is
	// there was written by a newer program. All or nothing.
	Start(ctx context.Context, req engine.StartRequest) (engine.Written, error)

	// Signal stores a signal. [*engine.KeyTakenError], then [engine.ErrRefused] with the head
	// that refused (a zero head if there is none). All or nothing.
	Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error)
}

// PayloadStore keeps what is too large for a signal, beside its thread.
type PayloadStore interface {
	// PutPayload stores body under its digest. Storing it again changes nothing.
	PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error

	// Payload reads what was put under its digest. [engine.ErrNotFound] if it is not there.
	Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error)
}

// KeyStore knows the idempotency keys of requests.
type KeyStore interface {
	// Used is the record of a key that has not expired. [engine.ErrNotFound] if there is none.
	Used(ctx context.Context, tenant, key string) (engine.Key, error)
}

// RunIndex lists the runs of a tenant.
type RunIndex interface {
	// Runs lists runs, newest first, from behind the cursor; thread "" lists all threads. The
	// cursor of the last page is "". [engine.ErrRefused] for a cursor that this list did not
	// give out. A run that cannot be read comes with as much of its record as its place in the
	// list tells, and hides no other.
	Runs(ctx context.Context, tenant, thread, cursor string, limit int) (records []core.Record, next string, err error)

	// RunsBehind is the cursor of Runs behind a run, by when it was born and its id, whether
	// there is such a run or not. With no id it is the one behind every run born at that time
	// or later: a list that begins there has what was born before.
	RunsBehind(born int64, run string) (cursor string)

	// Approvals lists heads with something suspended ([core.Head.Oldest] set), oldest first,
	// from behind the cursor. [engine.ErrRefused] as for Runs. A head that cannot be read comes
	// without calls.
	Approvals(ctx context.Context, tenant, cursor string, limit int) (heads []core.Head, next string, err error)
}

// FeedStore lists what happened in the threads of a tenant.
type FeedStore interface {
	// Feed lists the marked segments of all threads of a tenant. Every segment that a commit
	// has made part of a journal is there once, from that commit on or at most FeedLag later.
	// [engine.ErrRefused] for a place that is none of this feed.
	Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error)

	// FeedLag is how far an entry may turn up behind others whose places are later: by so much
	// clocks may differ and an index may be late. 0 says that entries turn up in their order,
	// each with its commit.
	FeedLag() time.Duration
}

// LinkStore keeps the records of approval links, each under its tenant, its run and its id. Errors
// are those of package engine.
type LinkStore interface {
	// PutLink stores the record of a new link. A record that is there stays as it is, so that a
	// put sent again changes nothing. Once the time of [engine.Link.Gone] is over, the store
	// may delete it.
	PutLink(ctx context.Context, l engine.Link) error

	// Link reads one, consistently. [engine.ErrNotFound] if there is none.
	Link(ctx context.Context, tenant, run, id string) (engine.Link, error)

	// Links are all of a run, consistently, by id.
	Links(ctx context.Context, tenant, run string) ([]engine.Link, error)

	// RevokeLink records that the link was revoked, and returns its record. One that was
	// revoked before is returned unchanged. [engine.ErrNotFound] if there is none.
	RevokeLink(ctx context.Context, tenant, run, id string, at int64, by string) (engine.Link, error)

	// SwapLinkCode replaces what is known of the link's one-time codes, unless it has changed
	// since from was read: of several who swap at once, one does. False if it was not replaced;
	// after an error it may have been.
	SwapLinkCode(ctx context.Context, tenant, run, id, from, to string) (bool, error)
}

// Catalog is what can be run.
type Catalog interface {
	// Current is the deployed version of an agent. [engine.ErrNotFound] if there is no such
	// agent.
	Current(ctx context.Context, tenant, name string) (engine.Definition, error)

	// Deployed are all deployed versions, by name. One that is damaged has no body.
	Deployed(ctx context.Context, tenant string) ([]engine.Definition, error)
}

// Live is what models are saying just now, as far as this process can know.
type Live interface {
	// Spoken is what is being said in the thread; false if nothing is, or nothing is known of
	// it here. An attempt that is not there any more has been committed before it went, or it
	// was given up.
	Spoken(ctx context.Context, tenant, thread string) (engine.Speech, bool)

	// Watch returns a channel that gets a signal soon after what is said in the thread has
	// changed, and a function that ends that.
	Watch(tenant, thread string) (changed <-chan struct{}, stop func())
}
