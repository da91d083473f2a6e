package engine

import (
	"cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// FeedPlace is a place in a tenant's feed: a moment, and the order among the entries of that
// moment. With an empty Tie it is before all entries of the moment; the zero value is before all
// entries.
type FeedPlace struct {
	At  int64 // ms
	Tie string
}

// Compare orders places as the feed does.
func (p FeedPlace) Compare(q FeedPlace) int {
	return cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.Tie, q.Tie))
}

// FeedEntry names a segment that [core.Segment.FeedMarks] marks, in the feed of its tenant. Its At
// is when it was stored, by the clock of its store. A store whose commits are two writes may list a
// segment before, or without, its head naming it: only the journal says what is committed.
type FeedEntry struct {
	FeedPlace
	Thread string
	Seq    int64
	W      core.Stamp
	Marks  core.FeedMarks
}

// FeedQuery says which part of a feed is wanted: up to Limit entries behind From, oldest first; or,
// with Newest, before From, newest first, where the zero From is the end of the feed. Fewer than
// Limit entries say that there are no more.
type FeedQuery struct {
	From   FeedPlace
	Newest bool
	Limit  int
}

// Where places end: 15 digits of a moment, and a tie that fits into a key of any store.
const (
	maxFeedAt  = 999_999_999_999_999
	maxFeedTie = 512
)

// Check says whether a place may be one of a feed; a caller may have made it up. [ErrRefused] if
// not.
func (p FeedPlace) Check() error {
	if p.At < 0 || p.At > maxFeedAt || len(p.Tie) > maxFeedTie {
		return ErrRefused
	}
	return nil
}
