package dynamo_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// What each write costs: requests, and units of the table and of its indexes. A change of an index
// entry costs two.
func TestWhatWritesCost(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	costs := func(what string, requests int, want awsdouble.Units, do func()) {
		t.Helper()
		s.d.ResetCounts()
		do()
		n := 0
		for _, of := range s.d.Requests() {
			n += of
		}
		if got := s.d.Units(); got != want || n != requests {
			t.Errorf("%s: %d requests, %+v; want %d, %+v", what, n, got, requests, want)
		}
	}
	costs("a start", 1, awsdouble.Units{Write: 1, IndexWrite: 2}, s.begin) // list, due
	costs("a claim that moves the due time", 1, awsdouble.Units{Write: 1, IndexWrite: 2}, func() { s.claim("w1", 2000) })
	costs("a commit", 2, awsdouble.Units{Write: 2}, func() { s.commit(s.commitRequest(1, "one")) })
	for i, event := range []core.Event{{Type: core.EventCallSuspended}, {Type: core.EventDecisionRecorded}, {Type: core.EventRunStatus, Data: []byte(`{"status":"done"}`)}} {
		costs("a commit that is in the feed: "+string(event.Type), 2, awsdouble.Units{Write: 2, IndexWrite: 1}, func() {
			req := s.commitRequest(i+2, "two")
			req.Segment.Events = []core.Event{event}
			s.commit(req)
		})
	}
	costs("a page of the feed", 1, awsdouble.Units{Read: 0.5}, func() {
		entries, err := s.store.Feed(t.Context(), "acme", engine.FeedQuery{Limit: 10})
		must(t, err)
		if len(entries) != 3 {
			t.Errorf("the feed: %+v", entries)
		}
	})
	release := func(n int) func() {
		return func() {
			req := s.commitRequest(n, "two")
			req.Next.Lease = 0
			s.commit(req)
		}
	}
	costs("a release for the next step", 2, awsdouble.Units{Write: 2}, release(5))
	again := s.claimRequest("w2", 2001)
	again.Due = s.head.Due // the same, rounded up
	costs("a claim that finds the same due time", 1, awsdouble.Units{Write: 1}, func() {
		h, err := s.store.Claim(t.Context(), again)
		s.write(engine.Written{Head: h}, err)
	})
	costs("a claim that is refused", 1, awsdouble.Units{Write: 1}, func() {
		if _, err := s.store.Claim(t.Context(), s.claimRequest("w3", 2002)); err == nil {
			t.Error("claimed twice")
		}
	})
	costs("a message with a key", 2, awsdouble.Units{Write: 4, Read: 1, IndexWrite: 2}, func() {
		s.write(s.store.Signal(t.Context(), s.say("m1", &engine.Key{Tenant: "acme", Key: "k1", Run: s.head.Run, Digest: "d"})))
	})
	costs("a release to waiting, listed for approval", 2, awsdouble.Units{Write: 2, IndexWrite: 2}, func() {
		req := s.commitRequest(1, "may I?")
		req.Next.Status, req.Next.Lease, req.Next.Oldest = core.RunWaiting, 0, "0000000001000#"+s.head.Run
		req.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_1"}}}
		req.Due = new(int64)
		s.commit(req)
	})
	costs("a decision", 1, awsdouble.Units{Write: 1, IndexWrite: 1}, func() {
		req := s.say("", nil)
		req.InboxKey, req.Call, req.Suspension = "sus_1", "c1", "sus_1"
		s.write(s.store.Signal(t.Context(), req))
	})
	costs("reading a head", 1, awsdouble.Units{Read: 1}, func() {
		_, err := s.store.Load(t.Context(), "acme", "thr_a")
		must(t, err)
	})
	costs("reading the journal", 1, awsdouble.Units{Read: 1}, func() {
		segments, err := s.store.Segments(t.Context(), "acme", "thr_a", 1, s.head.Seq)
		if err != nil || core.CheckChain(s.head, 1, segments) != nil {
			t.Errorf("the journal: %+v, %v", segments, err)
		}
	})
	costs("reading an earlier state of it", 1, awsdouble.Units{Read: 0.5}, func() {
		segments, err := s.store.EarlierSegments(t.Context(), "acme", "thr_a", 1, s.head.Seq)
		if err != nil || len(segments) == 0 || core.CheckChain(s.head, 1, segments) == nil {
			t.Errorf("a few writes earlier: %+v, %v", segments, err)
		}
		for i, segment := range segments {
			if segment.Seq != int64(i)+1 {
				t.Errorf("segment %d is in place %d", segment.Seq, i+1)
			}
		}
	})
}
