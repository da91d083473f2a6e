package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// wantListed demands that both lists have two runs, of which the first cannot be read and has no
// calls, in pages of one.
func wantListed(t *testing.T, store *dynamo.Store, bad, good string) {
	t.Helper()
	heads, next, err := store.Approvals(t.Context(), "acme", "", 1)
	must(t, err)
	more, _, err := store.Approvals(t.Context(), "acme", next, 10)
	must(t, err)
	if heads = append(heads, more...); len(heads) != 2 {
		t.Fatalf("approvals: %+v", heads)
	}
	for _, h := range heads {
		if (len(h.Calls) == 0) != (h.Thread == bad) || h.Thread != bad && h.Thread != good || h.Run == "" || h.Agent == "" || h.Tenant != "acme" {
			t.Errorf("approval %+v", h)
		}
	}
	runs, next, err := store.Runs(t.Context(), "acme", "", "", 1)
	must(t, err)
	rest, _, err := store.Runs(t.Context(), "acme", "", next, 10)
	must(t, err)
	if runs = append(runs, rest...); len(runs) != 2 || runs[0].Thread == runs[1].Thread || runs[0].Run == "" || runs[1].Run == "" {
		t.Errorf("runs: %+v", runs)
	}
	of, _, err := store.Runs(t.Context(), "acme", bad, "", 10)
	if err != nil || len(of) != 1 || of[0].Thread != bad || of[0].Run == "" || of[0].Status == core.RunDone {
		t.Errorf("runs of the thread: %+v, %v", of, err)
	}
}

// spoiled is a store where the runs of thr_a and thr_b wait, and these attributes were written over
// those of the head of thr_a.
func spoiled(t *testing.T, s server, attributes map[string]types.AttributeValue) *dynamo.Store {
	t.Helper()
	client, table := s.client(), s.table(t)
	store := s.store(t, client, table, nil)
	for _, thread := range []string{"thr_a", "thr_b"} {
		waitsIn(t, store, thread)
	}
	names, values := map[string]string{}, map[string]types.AttributeValue{}
	var sets []string
	for name, value := range attributes {
		names["#"+name], values[":"+name] = name, value
		sets = append(sets, "#"+name+" = :"+name)
	}
	set := "SET " + strings.Join(sets, ", ")
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: headKeyOf("acme", "thr_a"), UpdateExpression: &set,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values})
	must(t, err)
	return store
}

// A head that is damaged hides no other either.
func TestADamagedHeadHidesNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		store := spoiled(t, s, map[string]types.AttributeValue{"x": &types.AttributeValueMemberS{Value: "{"}})
		if _, err := store.Load(t.Context(), "acme", "thr_a"); !errors.Is(err, engine.ErrUnreadable) {
			t.Fatalf("the head itself: %v", err)
		}
		wantListed(t, store, "thr_a", "thr_b")
	})
}

// waitsIn is a run that waits for an approval.
func waitsIn(t *testing.T, store *dynamo.Store, thread string) {
	t.Helper()
	st := &story{t: t, store: store, head: firstHead(thread)}
	st.begin()
	st.claim("w"+thread, 2000)
	waiting := st.commitRequest(1, "may I?")
	waiting.Next.Status, waiting.Next.Lease, waiting.Next.Oldest = core.RunWaiting, 0, "0000000001000#"+st.head.Run
	waiting.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_1"}}}
	st.commit(waiting)
}

// One head that a newer program has written, in words that this one does not know, hides no other
// from the lists and from the sweep: while a canary is taken back, people still have to find what
// waits for them.
func TestAHeadOfANewerSchemaHidesNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		store := spoiled(t, s, map[string]types.AttributeValue{"v": &types.AttributeValueMemberN{Value: fmt.Sprint(core.SchemaVersion + 1)},
			"st": &types.AttributeValueMemberS{Value: "hibernating"}})
		wantListed(t, store, "thr_a", "thr_b")
		if taken, err := store.TakeOverdue(t.Context(), 1<<40, 1<<41, 10); err != nil || len(taken) != 2 {
			t.Errorf("taken: %v, %v", taken, err)
		}
		if _, err := store.Claim(t.Context(), engine.ClaimRequest{Tenant: "acme", Thread: "thr_a", Claim: "x", Now: 1 << 40, LeaseEnd: 1 << 41, Schema: core.SchemaVersion}); err == nil {
			t.Error("claimed")
		}
	})
}

// A head whose partition is throttled for good hides no other: it is listed with what its keys say.
func TestAThrottledHeadHidesNoOther(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	store := quick(t, d)
	for _, thread := range []string{"thr_a", "thr_b", "thr_c"} {
		waitsIn(t, store, thread)
	}
	d.ReadLag(0)
	heads, _, err := store.Approvals(t.Context(), "acme", "", 10)
	must(t, err)
	runs, _, err := store.Runs(t.Context(), "acme", "", "", 10)
	must(t, err)
	first := func(c awsdouble.Call) awsdouble.Fault { // one item of each batch stays unread
		if c.Operation == "BatchGetItem" {
			return awsdouble.Unprocessed(len(c.Keys) - 1)
		}
		return awsdouble.Fault{}
	}
	d.Fail(first)
	some, _, err := store.Approvals(t.Context(), "acme", "", 10)
	if err != nil || len(some) != 3 {
		t.Fatalf("%d approvals, %v", len(some), err)
	}
	for i, h := range some {
		if hot := i == 2; h.Thread != heads[i].Thread || h.Run != heads[i].Run || (len(h.Calls) == 0) != hot {
			t.Errorf("approval %d: %+v", i, h)
		}
	}
	listed, _, err := store.Runs(t.Context(), "acme", "", "", 10)
	if err != nil || len(listed) != 3 {
		t.Fatalf("%d runs, %v", len(listed), err)
	}
	for i, r := range listed {
		if r.Run != runs[i].Run || r.Thread != runs[i].Thread || r.Born != runs[i].Born {
			t.Errorf("run %d: %+v", i, r)
		}
	}
}

// A record of a notice that is damaged hides no other, in the list of the tenant and in that of its
// thread.
func TestADamagedRecordOfANoticeHidesNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		store := s.store(t, client, table, nil)
		k := notice.Key{Tenant: "acme", Thread: "thr_a", Endpoint: "ops"}
		for event := range int64(3) {
			event++
			_, err := store.HandOver(t.Context(), engine.HandOver{Key: k, Event: event, Kind: notice.Done, Seq: event, Now: event * 1000})
			must(t, err)
			l, err := store.ClaimLine(t.Context(), engine.LineClaim{Key: k, Claim: fmt.Sprint("c", event), Now: event * 1000, LeaseEnd: event*1000 + 500, Due: event*1000 + 500})
			must(t, err)
			r := l.Entries[event].Record(k, event, notice.StateDead, event*1000)
			_, err = store.WriteLine(t.Context(), engine.LineWrite{Key: k, Epoch: l.Epoch, Event: event, Record: &r, Release: true, Adds: l.Adds})
			must(t, err)
		}
		key := map[string]types.AttributeValue{"pk": headKeyOf("acme", "thr_a")["pk"], "sk": &types.AttributeValueMemberS{Value: "NR#ops#000000000000002"}}
		set, body := "SET #b = :b", "body"
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &set,
			ConditionExpression: aws.String("attribute_exists(#b)"), ExpressionAttributeNames: map[string]string{"#b": body},
			ExpressionAttributeValues: map[string]types.AttributeValue{":b": &types.AttributeValueMemberS{Value: "{"}}})
		must(t, err)
		for _, q := range []engine.RecordQuery{{Limit: 10}, {Limit: 10, Endpoint: "ops", Dead: true}, {Limit: 10, Thread: "thr_a"}} {
			page, _, err := store.Records(t.Context(), "acme", q)
			if err != nil || len(page) != 3 {
				t.Fatalf("%+v: %+v, %v", q, page, err)
			}
			if r := page[1]; r.Event != 2 || r.Key != k || r.State != notice.StateDead || r.At != 2000 || len(r.Attempts) != 1 || page[2].Kind != notice.Done {
				t.Errorf("%+v: %+v", q, page)
			}
		}
		if _, err := store.Record(t.Context(), k, 2); !errors.Is(err, engine.ErrUnreadable) {
			t.Errorf("the record itself: %v", err)
		}
	})
}

// spoil writes over an attribute of an item, which must be there.
func spoil(t *testing.T, client *dynamodb.Client, table, pk, sk, attribute string) {
	t.Helper()
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
	set := "SET #a = :a"
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: &set,
		ConditionExpression: aws.String("attribute_exists(pk)"), ExpressionAttributeNames: map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":a": &types.AttributeValueMemberS{Value: "{"}}})
	must(t, err)
}

// A webhook, and the mark of a disabled endpoint, that can't be read hide no other.
func TestADamagedWebhookHidesNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		store := s.store(t, client, table, nil)
		ids := []string{"wh_a", "wh_b", "wh_c"}
		for _, id := range ids {
			must(t, store.PutWebhook(t.Context(), notice.Webhook{Tenant: "acme", ID: id, Rev: 1, Target: notice.Target{Name: id, On: notice.Set{notice.Done}, URL: "https://a.example.com/"}}))
			_, err := store.DisableEndpoint(t.Context(), notice.Disabled{Tenant: "acme", Endpoint: id, At: 1000, Reason: "410 Gone"})
			must(t, err)
		}
		spoil(t, client, table, "W#acme", "WH#wh_b", "body")
		spoil(t, client, table, "W#acme", "WX#wh_b", "body")
		all, err := store.Webhooks(t.Context(), "acme")
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		for i, w := range all {
			if w.ID != ids[i] || w.Damaged != (w.ID == "wh_b") || w.Damaged == (w.URL != "") || w.Tenant != "acme" || w.Rev != 1 {
				t.Errorf("%+v", w)
			}
		}
		if _, err := store.Webhook(t.Context(), "acme", "wh_b"); !errors.Is(err, engine.ErrUnreadable) {
			t.Errorf("the webhook itself: %v", err)
		}
		found, err := store.Disabled(t.Context(), "acme", ids)
		if err != nil || len(found) != 3 || found["wh_b"] != notice.DamagedMark("acme", "wh_b") || found["wh_c"].Reason != "410 Gone" {
			t.Errorf("%+v, %v", found, err)
		}
		listed, err := store.DisabledEndpoints(t.Context(), "acme", "wh_a", 10)
		if err != nil || len(listed) != 2 || listed[0] != notice.DamagedMark("acme", "wh_b") || listed[1].Reason != "410 Gone" {
			t.Errorf("%+v, %v", listed, err)
		}
	})
}

// An agent whose deployed version can't be read hides no other. It is listed without a body.
func TestADamagedVersionHidesNoOtherAgent(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		store := s.store(t, client, table, nil)
		for _, name := range []string{"a", "b", "c"} {
			must(t, store.PutDefinition(t.Context(), engine.Definition{Tenant: "acme", Name: name, Digest: "d1", Body: []byte(`{"name":"x"}`)}))
			must(t, store.Deploy(t.Context(), "acme", name, "d1"))
		}
		spoil(t, client, table, "A#acme#b", "V#d1", "form")
		all, err := store.Deployed(t.Context(), "acme")
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		for i, d := range all {
			if d.Name != []string{"a", "b", "c"}[i] || d.Digest != "d1" || d.Tenant != "acme" || (len(d.Body) == 0) != (d.Name == "b") {
				t.Errorf("%+v", d)
			}
		}
	})
}
