package dynamo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
)

// noise is text that does not compress.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(33 + rng.IntN(90))
	}
	return string(b)
}

func TestBodiesOfAnySizeComeBack(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{"empty": "", "small": "hello", "compressible": strings.Repeat("hello ", 200000), "not compressible": noise(800000),
		"bytes": "\x00\xff\xfe", "many bytes": strings.Repeat("\x00\xff", 5000)}
	eachServer(t, func(t *testing.T, s server) {
		store := s.on(t, nil)
		for name, body := range bodies {
			must(t, store.PutPayload(t.Context(), "acme", "thr_a", name, []byte(body)))
			// what is there stays
			must(t, store.PutPayload(t.Context(), "acme", "thr_a", name, []byte("another")))
			got, err := store.Payload(t.Context(), "acme", "thr_a", name)
			if err != nil || string(got) != body {
				t.Errorf("%s: %d bytes came back of %d, %v", name, len(got), len(body), err)
			}
			definition := engine.Definition{Tenant: "acme", Name: "a", Digest: name, Body: core.Encode(body)}
			must(t, store.PutDefinition(t.Context(), definition))
			found, err := store.Definition(t.Context(), "acme", "a", name)
			if err != nil || string(found.Body) != string(definition.Body) {
				t.Errorf("%s: the definition came back as %d bytes of %d, %v", name, len(found.Body), len(definition.Body), err)
			}
		}
	})
}

func TestAJournalOfManyPagesIsReadInOrder(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		st := &story{t: t, store: s.on(t, nil), head: firstHead("thr_a")}
		st.begin()
		st.claim("w1", 2000)
		var want []string
		// pages are of 1 MB
		for i, size := range []int{10, 800000, 300000, 2000, 300000, 300000, 5, 300000} {
			text := noise(size + i)
			st.commit(st.commitRequest(i+1, text))
			want = append(want, text)
		}
		if got := st.journal(); !slices.Equal(got, want) {
			t.Errorf("%d segments came back of %d, or in another order, or cut", len(got), len(want))
		}
		segments, err := st.store.Segments(t.Context(), "acme", "thr_a", 2, 3)
		if err != nil || len(segments) != 2 || segments[0].Seq != 2 || segments[1].Messages[0].Text() != want[2] {
			t.Errorf("segments 2 and 3: %d, %v", len(segments), err)
		}
	})
}

// Segments that no head ever named stand at every number, before and behind those of the journal.
func TestOrphansAreNotRead(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	st := &story{t: t, d: d, store: quick(t, d), head: firstHead("thr_a")}
	st.begin()
	st.claim("w1", 2000)
	orphan := func(n int) {
		t.Helper()
		d.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if c.Operation != "PutItem" {
				return awsdouble.LoseRequest()
			}
			return awsdouble.Fault{}
		})
		if _, err := st.store.Commit(t.Context(), st.commitRequest(n, fmt.Sprint("orphan ", n))); !errors.Is(err, engine.ErrUnavailable) {
			t.Fatal(err)
		}
		d.Fail(nil)
	}
	var want []string
	for n := 10; n < 50; n += 10 {
		orphan(n - 1)
		orphan(n + 1)
		st.commit(st.commitRequest(n, fmt.Sprint("commit ", n)))
		want = append(want, fmt.Sprint("commit ", n))
		if got := st.journal(); !slices.Equal(got, want) {
			t.Errorf("the journal is %q, want %q", got, want)
		}
	}
	orphan(60)
	for seq := int64(1); seq <= 4; seq++ {
		one, err := st.store.Segments(t.Context(), "acme", "thr_a", seq, seq)
		if err != nil || len(one) != 1 || one[0].Messages[0].Text() != want[seq-1] {
			t.Errorf("segment %d: %+v, %v", seq, one, err)
		}
	}
}

func TestExpiredKeysMakeRoom(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		clock := standing{at: enginetest.AtMilli(1000)}
		st := &story{t: t, store: s.on(t, clock), head: firstHead("thr_a")}
		st.begin()
		key := &engine.Key{Tenant: "acme", Key: "k1", Run: st.head.Run, Digest: "d1", Expires: 5000}
		st.write(st.store.Signal(t.Context(), st.say("m1", key)))
		clock.at.Advance(3999 * time.Millisecond)
		var taken *engine.KeyTakenError
		if _, err := st.store.Signal(t.Context(), st.say("m2", key)); !errors.As(err, &taken) || taken.Key != *key {
			t.Errorf("before it expires: %v", err)
		}
		if used, err := st.store.Used(t.Context(), "acme", "k1"); err != nil || used != *key {
			t.Errorf("before it expires: %+v, %v", used, err)
		}
		clock.at.Advance(time.Millisecond)
		if used, err := st.store.Used(t.Context(), "acme", "k1"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("when it has expired: %+v, %v", used, err)
		}
		st.write(st.store.Signal(t.Context(), st.say("m2", &engine.Key{Tenant: "acme", Key: "k1", Run: st.head.Run, Digest: "d2", Expires: 9000})))
	})
}

func TestAKeyMayBeDeletedOnceItHasExpiredAndNotBefore(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1000)
	d := awsdouble.New(awsdouble.Options{Clock: func() time.Time { return now }})
	s := onDouble(d)
	table := s.table(t)
	_, err := s.client().UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}})
	must(t, err)
	st := &story{t: t, store: s.store(t, s.client(), table, nil), head: firstHead("thr_a")}
	st.begin()
	st.write(st.store.Signal(t.Context(), st.say("m1", &engine.Key{Tenant: "acme", Key: "ends", Run: "r", Digest: "d", Expires: 7500})))
	st.write(st.store.Signal(t.Context(), st.say("m2", &engine.Key{Tenant: "acme", Key: "stays", Run: "r", Digest: "d"})))
	if now = time.UnixMilli(7500); d.Expire() != 0 {
		t.Error("something was deleted before it had expired")
	}
	if now = time.UnixMilli(10000); d.Expire() != 1 {
		t.Error("not one item was deleted")
	}
	_, err = st.store.Load(t.Context(), "acme", "thr_a")
	must(t, err)
	_, err = st.store.Used(t.Context(), "acme", "stays")
	must(t, err)
}

func TestHostileNamesStandApart(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"a#b", "c"}, {"a", "b#c"}, {"a%23b", "c"}, {"a", "b%23c"}, {"", "a"}, {"", "%"}, {"a\xff", "c"}, {"a\xfe", "c"},
		{"a\ufffd", "c"}, {"#", "#H"}, {"a.b", "[0]"}, {":a", "{pk}"}}
	eachServer(t, func(t *testing.T, s server) {
		store := s.on(t, nil)
		for i, p := range pairs {
			h := firstHead(p[1])
			h.Tenant, h.Run, h.Idem = p[0], fmt.Sprint("run_", i), fmt.Sprint("idem ", i)
			_, err := store.Start(t.Context(), engine.StartRequest{Head: h, Due: 5000})
			must(t, err)
			must(t, store.PutPayload(t.Context(), p[0], p[1], "d", fmt.Append(nil, i)))
			must(t, store.PutDefinition(t.Context(), engine.Definition{Tenant: p[0], Name: p[1], Digest: "d", Body: fmt.Append(nil, i)}))
			signal := engine.SignalRequest{Tenant: p[0], Thread: p[1], Run: h.Run, InboxKey: "#:{}.[0]" + h.Run, Signal: core.Signal{Kind: core.SignalMessage, ID: "i"},
				Due: 5000, Key: &engine.Key{Tenant: p[0], Key: p[1], Run: h.Run, Digest: "d"}}
			_, err = store.Signal(t.Context(), signal)
			must(t, err)
		}
		for i, p := range pairs {
			h, err := store.Load(t.Context(), p[0], p[1])
			if err != nil || h.Tenant != p[0] || h.Thread != p[1] || h.Idem != fmt.Sprint("idem ", i) || len(h.Inbox) != 2 {
				t.Errorf("%q: %+v, %v", p, h, err)
			}
			body, err1 := store.Payload(t.Context(), p[0], p[1], "d")
			d, err2 := store.Definition(t.Context(), p[0], p[1], "d")
			used, err3 := store.Used(t.Context(), p[0], p[1])
			if err := errors.Join(err1, err2, err3); err != nil || string(body) != fmt.Sprint(i) || string(d.Body) != fmt.Sprint(i) || used.Run != h.Run {
				t.Errorf("%q: %q, %q, %+v, %v", p, body, d.Body, used, err)
			}
		}
		taken, err := store.TakeOverdue(t.Context(), 5000, 9000, 100)
		for _, p := range pairs {
			if !slices.Contains(taken, engine.Wakeup{Tenant: p[0], Thread: p[1]}) {
				t.Errorf("%q was not found to be due (%v)", p, err)
			}
		}
	})
}

// A newer program has put attributes into a head that this one does not know.
func TestWhatANewerProgramWroteIsLeftAlone(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		st := &story{t: t, store: s.store(t, client, table, nil), head: firstHead("thr_a")}
		st.begin()
		change := func(expression string, status string) {
			t.Helper()
			_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: headKeyOf("acme", "thr_a"), UpdateExpression: &expression,
				ExpressionAttributeNames: map[string]string{"#v": "v", "#n": "novelty", "#st": "st"},
				ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: fmt.Sprint(core.SchemaVersion + 1)},
					":n": &types.AttributeValueMemberS{Value: "unheard of"}, ":st": &types.AttributeValueMemberS{Value: status}}})
			must(t, err)
		}
		change("SET #v = :v, #n = :n, #st = :st", "created")
		_, err := st.store.Claim(t.Context(), st.claimRequest("w1", 2000))
		if !errors.Is(err, engine.ErrNewerSchema) {
			t.Errorf("claimed: %v", err)
		}
		st.write(st.store.Signal(t.Context(), st.say("m1", nil)))
		if taken, err := st.store.TakeOverdue(t.Context(), 9000, 10000, 10); err != nil || len(taken) != 1 {
			t.Errorf("taken: %v, %v", taken, err)
		}
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: headKeyOf("acme", "thr_a"), ConsistentRead: aws.Bool(true)})
		must(t, err)
		if v, ok := out.Item["novelty"].(*types.AttributeValueMemberS); !ok || v.Value != "unheard of" {
			t.Errorf("what it wrote is %v", out.Item["novelty"])
		}
		// a word that this program does not know
		change("SET #v = :v, #n = :n, #st = :st", "hibernating")
		if _, err := st.store.Signal(t.Context(), st.say("m2", nil)); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNewerSchema) {
			t.Errorf("a signal that was stored, and whose head cannot be read: %v", err)
		}
		for name, read := range map[string]func() error{
			"claim": func() error { _, err := st.store.Claim(t.Context(), st.claimRequest("w1", 2000)); return err },
			"load":  func() error { _, err := st.store.Load(t.Context(), "acme", "thr_a"); return err },
		} {
			if err := read(); !errors.Is(err, engine.ErrNewerSchema) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func headKeyOf(tenant, thread string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "T#" + tenant + "#" + thread}, "sk": &types.AttributeValueMemberS{Value: "#H"}}
}

// The indexes answer as of some writes ago.
func TestIndexesThatLagMisleadNobody(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	st := &story{t: t, d: d, store: store, head: firstHead("thr_a")}
	st.begin()
	st.claim("w1", 2000)
	waiting := st.commitRequest(1, "may I?")
	waiting.Next.Status, waiting.Next.Lease, waiting.Next.Oldest = core.RunWaiting, 0, "0000000001000#"+st.head.Run
	waiting.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_1"}}}
	waiting.Next.Deadline = 2100
	st.commit(waiting)
	d.IndexLag(1000) // from here on they stand still
	st.claim("w2", 2000+200)
	t.Log("an approval that was answered, a run that another has followed, and an entry that is due no more are still in the indexes")
	st.commit(st.ending(1))
	prior := st.head
	st.write(store.Start(t.Context(), engine.StartRequest{Head: prior.Succeed("v", core.Signal{Kind: core.SignalStart, ID: "n2"}, 1000), Prior: &prior, Due: 70000}))
	heads, next, err := store.Approvals(t.Context(), "acme", "", 10)
	if err != nil || len(heads) != 0 || next != "" {
		t.Errorf("approvals %+v, %q, %v", heads, next, err)
	}
	runs, _, err := store.Runs(t.Context(), "acme", "", "", 10)
	if diff := cmp.Diff([]core.Record{prior.Record()}, runs); err != nil || diff != "" {
		t.Errorf("%v, runs (-want +got):\n%s", err, diff)
	}
	if taken, err := store.TakeOverdue(t.Context(), 1<<40, 1<<41, 10); err != nil || len(taken) != 0 {
		t.Errorf("taken %v, %v", taken, err)
	}
	d.IndexLag(0)
	if runs, _, err = store.Runs(t.Context(), "acme", "", "", 10); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if taken, err := store.TakeOverdue(t.Context(), 70000, 80000, 10); err != nil || len(taken) != 1 {
		t.Errorf("taken %v, %v", taken, err)
	}
}

func TestTheOldestThatIsDueIsFoundInWhicheverShard(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		store := s.on(t, nil)
		for i := range 12 {
			_, err := store.Start(t.Context(), engine.StartRequest{Head: firstHead(fmt.Sprint("thr_", i)), Due: 5000 - int64(i)})
			must(t, err)
		}
		for now, want := range map[int64]int64{4988: 0, 4989: 4989, 9000: 4989} {
			if got, err := store.OldestDue(t.Context(), now); err != nil || got != want {
				t.Errorf("at %d: %d, want %d, %v", now, got, want, err)
			}
		}
	})
}

func TestABatchThatIsReadInPartsIsWhole(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	for i := range 130 {
		h := firstHead(fmt.Sprintf("thr_%03d", i))
		_, err := store.Start(t.Context(), engine.StartRequest{Head: h, Due: 5000})
		must(t, err)
	}
	n := 0
	d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if n++; c.Operation == "BatchGetItem" && n%2 == 0 {
			return awsdouble.Unprocessed(7)
		}
		return awsdouble.Fault{}
	})
	runs, next, err := store.Runs(t.Context(), "acme", "", "", 125)
	if err != nil || len(runs) != 125 || next == "" {
		t.Errorf("%d runs, %q, %v", len(runs), next, err)
	}
	d.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "BatchGetItem" {
			return awsdouble.Unprocessed(0)
		}
		return awsdouble.Fault{}
	})
	if _, _, err = store.Runs(t.Context(), "acme", "", "", 125); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
