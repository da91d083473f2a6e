package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Store is everything a store is asked for: [engine.Store], [engine.Overdue] and the Store of
// package frontend, whose methods are repeated here so that the tests of that package can import
// this one.
type Store interface {
	engine.Store
	engine.Overdue
	requests
	lists
}

// requests is what callers' requests need.
type requests interface {
	Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error)
	PutPayload(ctx context.Context, tenant, thread, digest string, body []byte) error
	Used(ctx context.Context, tenant, key string) (engine.Key, error)
}

// lists is what can be listed of a tenant.
type lists interface {
	Archived(ctx context.Context, tenant, run string) (core.Record, error)
	Runs(ctx context.Context, tenant, thread, cursor string, limit int) (records []core.Record, next string, err error)
	RunsBehind(born int64, run string) (cursor string)
	Approvals(ctx context.Context, tenant, cursor string, limit int) (heads []core.Head, next string, err error)
	Feed(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error)
	FeedLag() time.Duration
}

// TestStore checks a store. Open returns an empty one, closed by the test's cleanup; it is called
// for each subtest.
func TestStore(t *testing.T, open func(t *testing.T) Store) {
	suite := map[string][]storeCase{
		"claim":    claimCases,
		"commit":   commitCases,
		"broken":   invariantCases,
		"start":    startCases,
		"held":     heldCases,
		"signal":   signalCases,
		"vote":     voteCases,
		"hold":     holdCases,
		"overdue":  overdueCases,
		"lists":    listCases,
		"family":   familyCases,
		"feed":     feedCases,
		"payloads": payloadCases,
	}
	for name, cases := range suite {
		t.Run(name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.run(&storeTest{T: t, store: open(t)}) })
			}
		})
	}
}

type storeCase struct {
	name string
	run  func(t *storeTest)
}

// storeTest is one subtest with its store. Its methods do one thing each and fail the test if that
// does not work.
type storeTest struct {
	*testing.T
	store Store
}

const (
	tenant = "acme"
	thread = "thr_a"
	second = int64(1000)
)

// created is a thread's head as its first start makes it.
func created(thread string) core.Head {
	return core.Head{Identity: core.Identity{Tenant: tenant, Thread: thread, Run: core.RunID(thread, 0), Agent: "refund-desk", Version: "sha256:1", Schema: core.SchemaAlone, Idem: "digest"},
		Position: core.Position{Sigs: 1}, Origin: core.Origin{Born: 1000, At: 1000},
		Inbox: map[string]core.Signal{core.KeyStart: message("please refund A-17")}}
}

func message(text string) core.Signal {
	return core.Signal{Kind: core.SignalMessage, ID: text, Value: core.Encode(core.TextParts(text)), At: 1000}
}

// decision is a decision on the call c1.
func decision(id string) core.Signal {
	return core.Signal{Kind: core.SignalDecision, Call: "c1", ID: id, Digest: "digest of " + id, At: 2000}
}

func (t *storeTest) start(thread string) core.Head {
	t.Helper()
	return t.startHead(created(thread))
}

func (t *storeTest) startHead(h core.Head) core.Head {
	t.Helper()
	w, err := t.store.Start(t.Context(), engine.StartRequest{Head: h, Due: 6000})
	t.must(err)
	return w.Head
}

func claimOf(h core.Head, claim string, now int64) engine.ClaimRequest {
	return engine.ClaimRequest{Tenant: h.Tenant, Thread: h.Thread, Claim: claim, Now: now, LeaseEnd: now + 100,
		Due: now + 60*second, Schema: core.SchemaVersion}
}

func (t *storeTest) claim(h core.Head, claim string, now int64) core.Head {
	t.Helper()
	got, err := t.store.Claim(t.Context(), claimOf(h, claim, now))
	t.must(err)
	return got
}

// next is the head after the n-th write of the activation that owns h, with a segment that says
// text and drains all of h's inbox.
func next(h core.Head, n int, text string) engine.CommitRequest {
	to := h.Clone()
	to.Rev++
	to.CID = core.NewStamp(h.Epoch, n)
	to.Tries = 0
	req := engine.CommitRequest{Next: to}
	if text != "" {
		req.Segment = &core.Segment{Seq: h.Seq + 1, W: to.CID, Prev: h.Seg, Messages: []core.Message{
			{Role: core.RoleAssistant, Parts: core.TextParts(text), RunID: h.Run, At: 1500}}}
		req.Next.Seq, req.Next.Seg = h.Seq+1, to.CID
	}
	for key := range h.Inbox {
		req.Drained = append(req.Drained, key)
	}
	return req
}

func (t *storeTest) commit(req engine.CommitRequest) core.Head {
	t.Helper()
	w, err := t.store.Commit(t.Context(), req)
	t.must(err)
	return w.Head
}

func (t *storeTest) load(h core.Head) core.Head {
	t.Helper()
	got, err := t.store.Load(t.Context(), h.Tenant, h.Thread)
	t.must(err)
	return got
}

// waiting starts a thread and brings it to where its call c1 waits on sus_1.
func (t *storeTest) waiting(thread string) core.Head {
	t.Helper()
	h := t.claim(t.start(thread), "claim of "+thread, 1000)
	return t.commit(suspend(h, 1, "sus_1"))
}

// suspend is a release of h with c1 waiting on sus.
func suspend(h core.Head, n int, sus string) engine.CommitRequest {
	req := next(h, n, "I ask first")
	req.Next.Status, req.Next.Lease = core.RunWaiting, 0
	req.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindApproval, Sus: sus, Suspensions: 1}}}
	req.Next.Pending, req.Next.Oldest = 1, sus+"#"+h.Run
	req.AllSeen, req.Seen = true, h.Sigs
	req.Due = new(int64)
	return req
}

// finish is a release of h as done.
func finish(h core.Head, n int) engine.CommitRequest {
	req := next(h, n, "that is all")
	req.Next.Status, req.Next.Lease = core.RunDone, 0
	req.Next.End = &core.Reason{Kind: core.NaturalEnd}
	req.Next.Calls, req.Next.Pending, req.Next.Oldest = nil, 0, ""
	req.AllSeen, req.Seen = true, h.Sigs
	req.Due = new(int64)
	return req
}

// done starts a thread and ends its run.
func (t *storeTest) done(thread string) core.Head {
	t.Helper()
	return t.commit(finish(t.claim(t.start(thread), "claim of "+thread, 1000), 1))
}

// decide is the request that answers c1 of h.
func decide(h core.Head, sus, id string) engine.SignalRequest {
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: sus, Signal: decision(id),
		Call: "c1", Suspension: sus, Due: 9000}
}

// say is the request that leaves a message under a key.
func say(h core.Head, key string) engine.SignalRequest {
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.MessageKey(key), Signal: message(key),
		Due: 9000}
}

func (t *storeTest) signal(req engine.SignalRequest) core.Head {
	t.Helper()
	w, err := t.store.Signal(t.Context(), req)
	t.must(err)
	return w.Head
}

func (t *storeTest) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *storeTest) wantErr(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func (t *storeTest) equal(what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// unchanged checks that the stored head is still want.
func (t *storeTest) unchanged(want core.Head) {
	t.Helper()
	t.equal("stored head", t.load(want), want)
}

// texts are what the journal of h's thread says.
func (t *storeTest) texts(h core.Head) (texts []string) {
	t.Helper()
	segments, err := t.store.Segments(t.Context(), h.Tenant, h.Thread, 1, h.Seq)
	t.must(err)
	for i, s := range segments {
		if s.Seq != int64(i)+1 {
			t.Fatalf("segment %d has number %d", i+1, s.Seq)
		}
		for _, m := range s.Messages {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// Together runs f n times at once and returns the errors, in the order of their numbers.
func Together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-gate
			errs[i] = f(i)
		})
	}
	close(gate)
	all.Wait()
	return errs
}

// winners are the numbers that got no error; it fails unless every other got lost.
func (t *storeTest) winners(errs []error, lost error) (winners []int) {
	t.Helper()
	for i, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, i)
		case !errors.Is(err, lost):
			t.Errorf("number %d: got %v, want %v", i, err, lost)
		}
	}
	return winners
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s%03d", prefix, i) }
