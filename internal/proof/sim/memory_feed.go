package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// putInFeed lists a segment when it is stored, before a head names it, and keeps it listed.
func (m *Memory) putInFeed(tenant, thread string, s core.Segment) {
	if marks := s.FeedMarks(); marks != "" {
		tie := fmt.Sprintf("%09d", m.fed)
		m.fed++
		m.feed[tenant] = append(m.feed[tenant], engine.FeedEntry{FeedPlace: engine.FeedPlace{At: m.now(), Tie: tie}, Thread: thread, Seq: s.Seq,
			W: s.W, Marks: marks})
	}
}

// Feed implements frontend.Store.
func (m *Memory) Feed(_ context.Context, tenant string, q engine.FeedQuery) (entries []engine.FeedEntry, err error) {
	if err := q.From.Check(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.feed[tenant])
	slices.SortFunc(all, func(a, b engine.FeedEntry) int { return a.Compare(b.FeedPlace) })
	if q.Newest {
		slices.Reverse(all)
	}
	for _, e := range all {
		behind := e.Compare(q.From) > 0
		if q.Newest {
			behind = q.From == (engine.FeedPlace{}) || e.Compare(q.From) < 0
		}
		if behind && len(entries) < max(q.Limit, 1) {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// FeedLag implements frontend.Store. A segment is listed before its head names it.
func (m *Memory) FeedLag() time.Duration { return memoryFeedLag }

const memoryFeedLag = 10 * time.Second
