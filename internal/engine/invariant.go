package engine

import "maps"

// Check says whether the write may be made: a [*core.InvariantError] if the head that it leaves is
// one that nothing could ever set right. Every store calls it before it writes anything; it reads
// nothing but the request.
func (r CommitRequest) Check() error {
	left := r.Next
	if len(r.Drained) > 0 && len(left.Inbox) > 0 {
		left.Inbox = maps.Clone(left.Inbox)
		for _, key := range r.Drained {
			delete(left.Inbox, key)
		}
	}
	return left.CheckWritten()
}

// Check is [CommitRequest.Check] of the run whose place a start takes, if the caller owns it. One
// that has not ended is refused by the store's own condition.
func (r StartRequest) Check() error {
	if r.Owned && r.Prior.End != nil {
		return r.Prior.CheckEnded()
	}
	return nil
}
