package dynamo_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// story is a run in a few writes, each of which may be sent again.
type story struct {
	t     *testing.T
	d     *awsdouble.Double
	store *dynamo.Store
	head  core.Head
}

func newStory(t *testing.T) *story {
	d := newDouble(t)
	return &story{t: t, d: d, store: quick(t, d), head: firstHead("thr_a")}
}

func firstHead(thread string) core.Head {
	return core.Head{Identity: core.Identity{Tenant: "acme", Thread: thread, Run: core.RunID(thread, 0), Agent: "a", Version: "v", Schema: core.SchemaVersion},
		Position: core.Position{Sigs: 1},
		Origin:   core.Origin{Born: 1000, At: 1000}, Inbox: map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, ID: "n1", Value: core.Encode(core.TextParts("hello")), At: 1000}}}
}

func (s *story) begin() {
	s.write(s.store.Start(s.t.Context(), engine.StartRequest{Head: s.head, Due: 6000}))
}

func (s *story) write(w engine.Written, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.head = w.Head
}

func (s *story) claimRequest(claim string, now int64) engine.ClaimRequest {
	return engine.ClaimRequest{Tenant: s.head.Tenant, Thread: s.head.Thread, Claim: claim, Now: now, LeaseEnd: now + 100, Due: now + 60000,
		Schema: core.SchemaVersion}
}

func (s *story) claim(claim string, now int64) {
	s.t.Helper()
	h, err := s.store.Claim(s.t.Context(), s.claimRequest(claim, now))
	s.write(engine.Written{Head: h}, err)
}

// commitRequest is the n-th write of the owner, with a segment that says text.
func (s *story) commitRequest(n int, text string) engine.CommitRequest {
	to := s.head.Clone()
	to.Rev++
	to.Tries, to.CID = 0, core.NewStamp(s.head.Epoch, n)
	to.Seq, to.Seg = s.head.Seq+1, to.CID
	req := engine.CommitRequest{Next: to, Segment: &core.Segment{Seq: to.Seq, W: to.CID, Prev: s.head.Seg, Messages: []core.Message{
		{Role: core.RoleAssistant, Parts: core.TextParts(text), RunID: s.head.Run, At: 1500}}}}
	for key := range s.head.Inbox {
		req.Drained = append(req.Drained, key)
	}
	return req
}

// ending is the commit that ends the run and gives it up.
func (s *story) ending(n int) engine.CommitRequest {
	req := s.commitRequest(n, "bye")
	req.Next.Status, req.Next.Lease, req.Next.End = core.RunDone, 0, &core.Reason{Kind: core.NaturalEnd}
	req.Next.Calls = nil
	req.AllSeen, req.Seen, req.Due = true, s.head.Sigs, new(int64)
	return req
}

func (s *story) say(key string, record *engine.Key) engine.SignalRequest {
	return engine.SignalRequest{Tenant: s.head.Tenant, Thread: s.head.Thread, Run: s.head.Run, InboxKey: core.MessageKey(key), Key: record, Due: 9000,
		Signal: core.Signal{Kind: core.SignalMessage, ID: key, Value: core.Encode(core.TextParts(key)), At: 1000}}
}

func (s *story) commit(req engine.CommitRequest) {
	s.t.Helper()
	s.write(s.store.Commit(s.t.Context(), req))
}

// journal is what the thread's segments say, up to the head's.
func (s *story) journal() (texts []string) {
	s.t.Helper()
	h, err := s.store.Load(s.t.Context(), s.head.Tenant, s.head.Thread)
	if err != nil {
		s.t.Fatal(err)
	}
	segments, err := s.store.Segments(s.t.Context(), h.Tenant, h.Thread, 1, h.Seq)
	if err = errors.Join(err, core.CheckChain(h, 1, segments)); err != nil {
		s.t.Fatal(err)
	}
	for _, segment := range segments {
		texts = append(texts, segment.Messages[0].Text())
	}
	return texts
}

func (s *story) want(epoch, rev, sigs int64, texts ...string) {
	s.t.Helper()
	h, err := s.store.Load(s.t.Context(), s.head.Tenant, s.head.Thread)
	if err != nil {
		s.t.Fatal(err)
	}
	if got, want := []int64{h.Epoch, h.Rev, h.Sigs}, []int64{epoch, rev, sigs}; !slices.Equal(got, want) {
		s.t.Errorf("epoch, rev and sigs are %v, want %v", got, want)
	}
	if diff := cmp.Diff(texts, s.journal()); diff != "" {
		s.t.Errorf("journal (-want +got):\n%s", diff)
	}
}
