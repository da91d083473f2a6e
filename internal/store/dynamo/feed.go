package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// feedLag covers clocks of workers that differ by a few seconds, the duration of a put, and the
// delay of an index.
const feedLag = 10 * time.Second

// FeedLag implements frontend.Store.
func (s *Store) FeedLag() time.Duration { return feedLag }

func feedPartition(tenant string) string { return prefixFeed + escape(tenant) }

// feedPosition is the position of a segment in the feed of its tenant: ordered by time, then by
// key, followed by its marks.
//
//	000001700000000000#thr_a#000000000005#0000000000300001#sd
func feedPosition(at int64, thread string, seq int64, w core.Stamp, marks core.FeedMarks) string {
	return fmt.Sprintf("%015d#%s#%012d#%016x#%s", at, escape(thread), seq, int64(w), marks)
}

// putInFeed adds a marked segment to the index of the feed, in the item that holds it. It may be
// listed before a head names it, and possibly no head ever names it: see [engine.FeedEntry].
func (s *Store) putInFeed(it item, tenant, thread string, seg core.Segment) {
	if marks := seg.FeedMarks(); marks != "" {
		it[attrListPK] = text(feedPartition(tenant))
		it[attrListSK] = text(feedPosition(s.now(), thread, seg.Seq, seg.W, marks))
	}
}

// Feed implements frontend.Store. It reads only keys, and the index lags slightly behind the table.
func (s *Store) Feed(ctx context.Context, tenant string, q engine.FeedQuery) (entries []engine.FeedEntry, err error) {
	if err := q.From.Check(); err != nil {
		return nil, err
	}
	behind := ""
	if q.From != (engine.FeedPlace{}) {
		behind = fmt.Sprintf("%015d#%s", q.From.At, q.From.Tie)
	}
	limit := max(q.Limit, 1)
	in := indexQuery(indexList, attrListPK, feedPartition(tenant), attrListSK, behind, !q.Newest, limit)
	err = s.pages(ctx, in, func(hits []item) (bool, error) {
		for _, hit := range hits {
			e, err := feedEntry(hit)
			if err != nil {
				return false, err
			}
			if len(entries) < limit {
				entries = append(entries, e)
			}
		}
		return len(entries) < limit, nil
	})
	return entries, err
}

func feedEntry(hit item) (engine.FeedEntry, error) {
	position := textAt(hit, attrListSK)
	at, err := threadOf(textAt(hit, attrPK))
	moment, tie, found := strings.Cut(position, "#")
	ms, err1 := strconv.ParseInt(moment, 10, 64)
	parts := strings.Split(tie, "#")
	if err != nil || err1 != nil || !found || len(parts) != 4 {
		return engine.FeedEntry{}, unreadable("place "+position+" of a feed", errors.New("not the place of a segment"))
	}
	w, err := strconv.ParseInt(parts[2], 16, 64)
	if err != nil {
		return engine.FeedEntry{}, unreadable("place "+position+" of a feed", err)
	}
	return engine.FeedEntry{FeedPlace: engine.FeedPlace{At: ms, Tie: tie}, Thread: at.Thread, Seq: segmentSeq(hit), W: core.Stamp(w),
		Marks: core.FeedMarks(parts[3])}, nil
}
