package engine

import (
	"maps"

	"github.com/dormouse-dev/dormouse/internal/core/invariant"
)

// Check returns an [*invariant.Error] if the write would leave a head that nothing could ever
// repair. Every store calls it before it writes anything. It reads only the request.
func (r CommitRequest) Check() error {
	left := r.Next
	if len(r.Drained) > 0 && len(left.Inbox) > 0 {
		left.Inbox = maps.Clone(left.Inbox)
		for _, key := range r.Drained {
			delete(left.Inbox, key)
		}
	}
	return invariant.CheckWritten(left)
}

// Check checks the run that the start replaces, like [CommitRequest.Check], if the caller owns it.
// The store's own condition refuses a run that has not ended.
func (r StartRequest) Check() error {
	if r.Owned && r.Prior.End != nil {
		return invariant.CheckEnded(*r.Prior)
	}
	return nil
}
