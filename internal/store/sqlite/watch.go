package sqlite

import "github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"

// The topics of notices.
type (
	place   struct{ tenant, thread string } // the head of a thread, or a tenant's feed
	arrival struct{}                        // of something in the queue
)

// Watch returns a channel that is signalled when this process has changed the thread's head since
// the last receive; the committed data can be read then. With an empty thread the channel signals
// new entries in the tenant's feed. Changes by other processes are not signalled. Call stop when
// done.
func (db *DB) Watch(tenant, thread string) (changed <-chan struct{}, stop func()) {
	return txfile.Watch(db.File, place{tenant, thread})
}

// Arrived is signalled after this process put something into the queue: a new message, a returned
// message, or a dead letter that is sent again. It holds one signal; the receiver then calls
// [DB.Receive] again. Other processes do not signal it.
func (db *DB) Arrived() <-chan struct{} { return db.arrived }
