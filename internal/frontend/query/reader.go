// Package query has the reads that callers page through: runs, approvals, decisions, the feed of a
// tenant, the events of a run, messages and calls. It shows what is committed.
package query

import "github.com/dormouse-dev/dormouse/internal/frontend"

// Reader is the callers' side with the reads of this package. What it embeds also writes.
type Reader struct{ *frontend.Frontend }

// New adds the reads to a frontend.
func New(f *frontend.Frontend) *Reader { return &Reader{f} }
