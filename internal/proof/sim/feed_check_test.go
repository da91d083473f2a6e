package sim_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// feedFollower follows the feed of a tenant, like a program that watches for calls that wait. It
// reads after each write, also between the two writes of a commit.
type feedFollower struct {
	*stage
	front *query.Reader
	after string
	got   map[string]string // by thread and number: the type of the event
}

func (s *stage) follow() *feedFollower {
	return &feedFollower{stage: s, got: map[string]string{}}
}

// reader is a frontend with no faults before its store.
func (f *feedFollower) reader() *query.Reader {
	if f.front == nil {
		f.front = query.New(frontend.New(frontend.Options{Store: f.db, Catalog: casts{f.first}, Waker: f.bell, Clock: f.w, Random: f.w, Limits: frontend.Limits{Pages: inNobodysWay}}))
	}
	return f.front
}

// poll reads new events. Each must be committed, and must come once.
func (f *feedFollower) poll(ctx context.Context) {
	if !f.followed() {
		return
	}
	ctx = context.WithoutCancel(ctx) // the writer's may be over
	for {
		page, err := f.reader().Feed(ctx, frontend.Caller{Tenant: f.tenant}, query.FeedQuery{After: f.after, Limit: 3})
		if err != nil {
			f.wrong("feed: %v", err)
			return
		}
		for _, e := range page.Items {
			key := feedKey(e.ThreadID, e.Seq)
			if was, repeated := f.got[key]; repeated {
				f.wrong("feed: %s of %s is sent again, as %s", was, key, e.Type)
			}
			f.got[key] = e.Type
			if h, err := f.db.Load(ctx, f.tenant, e.ThreadID); err != nil || h.Ev < e.Seq {
				f.wrong("feed: %s of %s is sent, and %d events are committed (%v)", e.Type, key, h.Ev, err)
			}
		}
		if f.after = page.Next; len(page.Items) == 0 {
			return
		}
	}
}

// followed says whether the feeds of this schedule are read: one in readEvents, as looking after
// each write takes time.
func (s *stage) followed() bool { return s.first.seed%readEvents == 0 }

func feedKey(thread string, seq int64) string { return fmt.Sprint(thread, " ", seq) }

// checkFeed: the follower received every suspension, decision and run end in the journals exactly
// once and nothing else, and the decision list has each decision once.
func (s *stage) checkFeed(ctx context.Context) {
	if !s.followed() {
		return
	}
	s.follower.poll(ctx)
	want, decisions := map[string]string{}, map[string]string{}
	// also threads whose caller crashed before it got their id
	for _, thread := range slices.Sorted(maps.Keys(s.watched.last)) {
		if s.watched.last[thread].Tenant != s.tenant {
			continue
		}
		for _, seg := range s.journal(ctx, thread) {
			for _, e := range seg.Events {
				key := feedKey(thread, e.Seq)
				if e.FeedMark() != "" {
					want[key] = string(e.Type)
				}
				if e.Type == core.EventDecisionRecorded {
					decisions[key] = string(e.Type)
				}
			}
		}
	}
	s.sameFeed("a follower received", s.follower.got, want)
	listed := map[string]string{}
	for cursor := ""; ; {
		page, err := s.follower.reader().Decisions(ctx, frontend.Caller{Tenant: s.tenant}, query.DecisionQuery{Cursor: cursor, Limit: 3})
		if err != nil {
			s.wrong("decisions: %v", err)
			return
		}
		for _, d := range page.Items {
			key := feedKey(d.ThreadID, d.Seq)
			if listed[key] != "" {
				s.wrong("decisions: %s is listed twice", key)
			}
			listed[key] = string(core.EventDecisionRecorded)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	s.sameFeed("the history has", listed, decisions)
}

func (s *stage) sameFeed(who string, got, want map[string]string) {
	if maps.Equal(got, want) {
		return
	}
	var differ []string
	for key := range want {
		if got[key] != want[key] {
			differ = append(differ, fmt.Sprintf("%s: %q, not %q", key, got[key], want[key]))
		}
	}
	for key := range got {
		if want[key] == "" {
			differ = append(differ, fmt.Sprintf("%s: %q, which is not in the journal", key, got[key]))
		}
	}
	slices.Sort(differ)
	s.wrong("feed: %s: %s", who, strings.Join(differ, "; "))
}
