// Package query has the reads that callers page through: runs, approvals, decisions, the feed of a
// tenant, the events of a run, messages and calls. It shows what is committed.
package query

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/longpoll"
)

// Reader is the callers' side with the reads of this package. What it embeds also writes.
type Reader struct {
	*frontend.Frontend
	feeds longpoll.Shared[feedOf, *SharedPage]
}

// stamped is a store that knows, without a read, that nothing was stored: see
// [longpoll.Reads.Stamp].
type stamped interface {
	Stamp(ctx context.Context) string
}

// feedKept is how long a page of a feed is kept for readers that come a little later.
const feedKept = time.Second

// New adds the reads to a frontend.
func New(f *frontend.Frontend) *Reader {
	r := &Reader{Frontend: f}
	if s, is := f.Store.(stamped); is {
		f.Held.Stamp = s.Stamp
	}
	r.feeds.Later = func(forget func()) { f.Clock.AfterFunc(feedKept, forget) }
	r.feeds.Worth = func(p *SharedPage) bool { return len(p.Items) > 0 }
	return r
}
