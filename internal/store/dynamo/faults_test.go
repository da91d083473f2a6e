package dynamo_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Every first try of a request fails without effect, in one way after the other; the whole contract
// holds.
func TestStoreWhereEveryFirstTryFails(t *testing.T) {
	t.Parallel()
	enginetest.TestStore(t, func(t *testing.T) enginetest.Store {
		d := newDouble(t)
		store := quick(t, d)
		d.Fail(firstTry(awsdouble.RateLimit(), awsdouble.InternalError(), awsdouble.LoseRequest(), awsdouble.Throttle()))
		return insisting{store}
	})
}

// insisting sends what the store sends once by itself, a message without a key, again: a caller may
// who knows that nothing was done.
type insisting struct{ *dynamo.Store }

func (s insisting) Signal(ctx context.Context, req engine.SignalRequest) (engine.Written, error) {
	for {
		w, err := s.Store.Signal(ctx, req)
		if req.Key != nil || req.Signal.Kind != core.SignalMessage || !errors.Is(err, engine.ErrUnavailable) {
			return w, err
		}
	}
}

// firstTry gives the faults in turn to what is tried for the first time. A transaction that is
// cancelled, as the last fault does it, is a request of its own when it is sent again, so that the
// client's count of tries does not bound that one: it comes once in so many.
func firstTry(faults ...awsdouble.Fault) func(awsdouble.Call) awsdouble.Fault {
	var n atomic.Int64
	return func(c awsdouble.Call) awsdouble.Fault {
		if c.Attempt > 1 {
			return awsdouble.Fault{}
		}
		return faults[n.Add(1)%int64(len(faults))]
	}
}

// quick is a store on a new table of a double, whose client does not pause before it tries again.
func quick(t *testing.T, d *awsdouble.Double) *dynamo.Store {
	t.Helper()
	s := onDouble(d)
	return s.store(t, quickClient(d), s.table(t), restless{enginetest.AtMilli(1000)})
}

func quickClient(d *awsdouble.Double) *dynamodb.Client {
	return dynamodb.NewFromConfig(d.Config(), dynamo.Retries(), func(o *dynamodb.Options) { o.Retryer = impatient{o.Retryer} })
}

type impatient struct{ aws.Retryer }

func (impatient) RetryDelay(int, error) (time.Duration, error) { return 0, nil }

// silent is a server that does not send the item that refused.
type silent struct{ dynamo.API }

func (s silent) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := s.API.UpdateItem(ctx, in, o...)
	return out, silenced(err)
}

func (s silent) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	out, err := s.API.PutItem(ctx, in, o...)
	return out, silenced(err)
}

func (s silent) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (
	*dynamodb.TransactWriteItemsOutput, error) {
	out, err := s.API.TransactWriteItems(ctx, in, o...)
	return out, silenced(err)
}

func silenced(err error) error {
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) {
		refused.Item = nil
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for i := range cancelled.CancellationReasons {
			cancelled.CancellationReasons[i].Item = nil
		}
	}
	return err
}

func TestStoreOnAServerThatDoesNotSayWhatRefused(t *testing.T) {
	t.Parallel()
	enginetest.TestStore(t, func(t *testing.T) enginetest.Store {
		s := onDouble(newDouble(t))
		return s.store(t, silent{s.client()}, s.table(t), nil)
	})
}

// Each write lands and its answer is lost; the client sends it again, and again. It has happened
// once.
func TestAWriteWhoseAnswerWasLostHappensOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]awsdouble.Fault{"lost": awsdouble.LoseReply(), "an error": awsdouble.InternalErrorAfter()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.begin()
			s.d.Fail(func(c awsdouble.Call) awsdouble.Fault {
				if c.Attempt < 3 && !strings.HasPrefix(c.Operation, "Get") && c.Operation != "Query" {
					return fault
				}
				return awsdouble.Fault{}
			})
			s.claim("w1", 2000)
			s.commit(s.commitRequest(1, "one"))
			record := &engine.Key{Tenant: "acme", Key: "k1", Run: s.head.Run, Digest: "d1"}
			s.write(s.store.Signal(t.Context(), s.say("m1", record)))
			s.commit(s.ending(2))
			s.want(1, 3, 2, "one", "bye")
			prior := s.head
			next := prior.Succeed("v", core.Signal{Kind: core.SignalStart, ID: "n2"}, 5000)
			s.write(s.store.Start(t.Context(), engine.StartRequest{Head: next, Prior: &prior, Due: 8000,
				Key: &engine.Key{Tenant: "acme", Key: "k2", Run: next.Run, Digest: "d2"}}))
			s.want(2, 4, 3, "one", "bye")
			if runs, _, err := s.store.Runs(t.Context(), "acme", "", "", 10); err != nil || len(runs) != 2 {
				t.Errorf("%d runs, %v", len(runs), err)
			}
		})
	}
}

// A signal without a key cannot tell its own copy from another's: it is refused, and the inbox
// shows whose is there.
func TestASignalWhoseAnswerWasLostIsShown(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.begin()
	s.d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Attempt == 1 {
			return awsdouble.LoseReply()
		}
		return awsdouble.Fault{}
	})
	cancel := s.say("m1", nil)
	cancel.InboxKey, cancel.Signal.Kind = core.KeyCancel, core.SignalCancel
	w, err := s.store.Signal(t.Context(), cancel)
	if !errors.Is(err, engine.ErrRefused) || w.Head.Inbox[core.KeyCancel].ID != "m1" {
		t.Fatalf("%v, %+v", err, w.Head.Inbox)
	}
	s.want(0, 0, 2)
}

// A message without a key cannot be told from its repeat once a worker has drained it. So it is
// sent once, whatever the client would do.
func TestAMessageWithoutAKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]awsdouble.Fault{"answer lost": awsdouble.LoseReply(), "an error after it": awsdouble.InternalErrorAfter()} {
		s := newStory(t)
		s.begin()
		s.d.ResetCounts()
		s.d.Fail(func(awsdouble.Call) awsdouble.Fault { return fault })
		if _, err := s.store.Signal(t.Context(), s.say("m1", nil)); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if n := s.d.Requests()["UpdateItem"]; n != 1 {
			t.Errorf("%s: it was sent %d times", name, n)
		}
		s.d.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if c.Attempt == 1 {
				return awsdouble.Throttle() // which says that nothing was done
			}
			return awsdouble.Fault{}
		})
		if _, err := s.store.Signal(t.Context(), s.say("m2", nil)); err != nil {
			t.Errorf("throttled once: %v", err)
		}
	}
}

// No answer comes at all; what was asked has happened. The caller sends the same request again when
// the network is back.
func TestTheSameRequestAfterUnavailableHappensOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.begin()
	lost := func(f func() error) {
		t.Helper()
		s.d.Fail(func(awsdouble.Call) awsdouble.Fault { return awsdouble.LoseReply() })
		if err := f(); !errors.Is(err, engine.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		s.d.Fail(nil)
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	lost(func() (err error) {
		s.head, err = keep(s.head)(s.store.Claim(t.Context(), s.claimRequest("w1", 2000)))
		return err
	})
	req := s.commitRequest(1, "one")
	lost(func() (err error) {
		w, err := s.store.Commit(t.Context(), req)
		s.head, err = keep(s.head)(w.Head, err)
		return err
	})
	ended := s.ending(2)
	ended.Next.Status, ended.Next.Lease = core.RunRunning, s.head.Lease
	s.commit(ended)
	prior := s.head
	next := engine.StartRequest{Head: prior.Succeed("v", core.Signal{Kind: core.SignalStart, ID: "n2"}, 5000), Prior: &prior, Owned: true,
		Seen: prior.Sigs, Due: 8000}
	lost(func() error { _, err := s.store.Start(t.Context(), next); return err })
	s.want(2, 4, 2, "one", "bye")
}

// keep is the head that was there before, where an answer brings none.
func keep(before core.Head) func(core.Head, error) (core.Head, error) {
	return func(h core.Head, err error) (core.Head, error) {
		if err != nil {
			return before, err
		}
		return h, nil
	}
}

// A second copy of each write lands when the run has moved on.
func TestLateCopiesChangeNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.d.Fail(func(awsdouble.Call) awsdouble.Fault { return awsdouble.Copy() })
	s.begin()
	s.claim("w1", 2000)
	s.commit(s.commitRequest(1, "one"))
	s.write(s.store.Signal(t.Context(), s.say("m1", &engine.Key{Tenant: "acme", Key: "k1", Run: s.head.Run, Digest: "d1"})))
	s.write(s.store.Signal(t.Context(), s.say("m2", nil)))
	s.commit(s.commitRequest(2, "two"))
	s.commit(s.ending(3))
	before, err := s.store.Load(t.Context(), "acme", "thr_a")
	if err != nil {
		t.Fatal(err)
	}
	s.d.Fail(nil)
	t.Logf("%d late copies, %d did something (reads, and puts of what is there)", s.d.Held(), s.d.Release())
	after, err := s.store.Load(t.Context(), "acme", "thr_a")
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("%v, head (-before +after):\n%s", err, diff)
	}
	s.want(1, 4, 3, "one", "two", "bye")
}

// An owner is held up between the put of its segment and the write of the head, loses the run, and
// goes on.
func TestASegmentOfAStaleOwnerDoesNotReachTheJournal(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.begin()
	s.claim("w1", 2000)
	stale := *s
	s.d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" {
			return awsdouble.LoseRequest()
		}
		return awsdouble.Fault{}
	})
	late := stale.commitRequest(1, "stale")
	if _, err := stale.store.Commit(t.Context(), late); !errors.Is(err, engine.ErrUnavailable) {
		t.Fatal(err)
	}
	s.d.Fail(nil)
	s.claim("w2", 2101)
	s.commit(s.commitRequest(1, "fresh"))
	if _, err := stale.store.Commit(t.Context(), late); !errors.Is(err, engine.ErrFenced) {
		t.Fatal(err)
	}
	s.want(2, 3, 1, "fresh")
	s.commit(s.commitRequest(2, "more"))
	s.want(2, 4, 1, "fresh", "more")
}

func TestAThrottledTableIsSaidToBeAndLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.begin()
	s.claim("w1", 2000)
	before, err := s.store.Load(t.Context(), "acme", "thr_a")
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]awsdouble.Fault{"throttled": awsdouble.Throttle(), "conflict": awsdouble.Conflict(),
		"server": awsdouble.InternalError()} {
		s.d.Fail(func(awsdouble.Call) awsdouble.Fault { return fault })
		s.d.ResetCounts()
		_, err := s.store.Commit(t.Context(), s.commitRequest(1, "one"))
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: got %v", name, err)
		}
		if n := s.d.Requests()["PutItem"]; n != 3 {
			t.Errorf("%s: %d tries", name, n)
		}
		_, err = s.store.Signal(t.Context(), s.say("m1", &engine.Key{Tenant: "acme", Key: "k1", Run: s.head.Run, Digest: "d"}))
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: got %v", name, err)
		}
		_, err = s.store.TakeOverdue(t.Context(), 1<<40, 1<<41, 10)
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: got %v", name, err)
		}
		s.d.Fail(nil)
		after, err := s.store.Load(t.Context(), "acme", "thr_a")
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Errorf("%s: %v, head (-before +after):\n%s", name, err, diff)
		}
	}
	s.commit(s.commitRequest(1, "one"))
	s.want(1, 2, 1, "one")
}

func TestErrorsSayWhatToLookAt(t *testing.T) {
	t.Parallel()
	store := onDouble(newDouble(t)).store(t, quickClient(newDouble(t)), "not-there", nil)
	_, err := store.Load(t.Context(), "acme", "thr_a")
	if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "table not-there") || !strings.Contains(err.Error(), "name and region") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = store.Load(ctx, "acme", "thr_a"); !errors.Is(err, engine.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
