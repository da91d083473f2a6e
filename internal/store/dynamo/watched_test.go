package dynamo_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// markers mark each head before and after each request that names it.
type markers struct {
	dynamo.API
	marks atomic.Int64
}

func (m *markers) mark(ctx context.Context, table *string, key map[string]types.AttributeValue) {
	pk, sk := key["pk"].(*types.AttributeValueMemberS).Value, key["sk"].(*types.AttributeValueMemberS).Value
	names := strings.Split(pk, "#")
	if sk != "#H" || len(names) != 3 || strings.Contains(pk, "%") {
		return
	}
	n := m.marks.Add(1)
	// an error says that there is no head
	_ = dynamo.New(m.API, dynamo.Options{Table: *table, Clock: wallClock{}}).MarkWatched(ctx, names[1], names[2], time.Unix(1_800_000_000+n, 0))
}

func (m *markers) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	m.mark(ctx, in.TableName, in.Key)
	return m.API.GetItem(ctx, in, o...)
}

func (m *markers) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	m.mark(ctx, in.TableName, in.Key)
	defer m.mark(ctx, in.TableName, in.Key)
	return m.API.UpdateItem(ctx, in, o...)
}

func (m *markers) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, w := range in.TransactItems {
		if w.Update != nil {
			m.mark(ctx, w.Update.TableName, w.Update.Key)
			defer m.mark(ctx, w.Update.TableName, w.Update.Key)
		}
	}
	return m.API.TransactWriteItems(ctx, in, o...)
}

// The whole suite of a store, with a mark between any two of its requests: no write is refused, and
// no head reads differently.
func TestAMarkDisturbsNothing(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		marked := &markers{API: s.client()}
		enginetest.TestStore(t, func(t *testing.T) enginetest.Store { return s.store(t, &markers{API: s.client()}, s.table(t), nil) })
		d := openDesk(t, s)
		d.scales.API = marked
		d.work(d.begin())
		if marked.marks.Load() < 50 {
			t.Errorf("%d marks", marked.marks.Load())
		}
		d.fits() // in one unit, still
	})
}

func TestTheOwnerSeesWhoWatchesInTheAnswersToItsRequests(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	client := dynamodb.NewFromConfig(d.Config(), dynamo.Retries())
	_, err := client.CreateTable(t.Context(), dynamo.Schema("table"))
	must(t, err)
	var watched []int64
	store := dynamo.New(client, dynamo.Options{Table: "table", Clock: wallClock{}, Random: enginetest.NewRandom(t, 1), Seen: func(h core.Head, until time.Time) {
		if h.Tenant != "acme" || h.Thread != "thr_a" {
			t.Errorf("seen: %+v", h)
		}
		watched = append(watched, until.Unix())
	}})
	until := time.Unix(1_800_000_000, 0)
	if err := store.MarkWatched(t.Context(), "acme", "thr_a", until); err == nil {
		t.Error("what does not exist is marked")
	}
	if _, err := store.Load(t.Context(), "acme", "thr_a"); err == nil {
		t.Error("the mark made a head")
	}
	run := core.RunID("thr_a", 0)
	_, err = store.Start(t.Context(), engine.StartRequest{Due: 5000, Head: core.Head{Identity: core.Identity{Tenant: "acme", Thread: "thr_a", Run: run, Agent: "desk", Version: "v", Schema: core.SchemaAlone},
		Origin: core.Origin{Born: 1000, At: 1000}, Inbox: map[string]core.Signal{}}})
	must(t, err)
	claim := func(name string) {
		t.Helper()
		_, err := store.Claim(t.Context(), engine.ClaimRequest{Tenant: "acme", Thread: "thr_a", Claim: name, Now: 2000, LeaseEnd: 3000, Due: 60000, Schema: core.SchemaVersion})
		if name == "first" {
			must(t, err)
		} else if err == nil {
			t.Error("claimed twice")
		}
	}
	claim("first")
	d.ResetCounts()
	must(t, store.MarkWatched(t.Context(), "acme", "thr_a", until))
	if got := d.Units(); got != (awsdouble.Units{Write: 1}) || d.Requests()["UpdateItem"] != 1 {
		t.Errorf("a mark costs %+v, %v", got, d.Requests())
	}
	claim("second") // and is refused
	_, err = store.Load(t.Context(), "acme", "thr_a")
	must(t, err)
	if err := store.MarkWatched(t.Context(), "acme", "thr_a", until.Add(-time.Second)); err == nil {
		t.Error("a late mark shortens another")
	}
	_, err = store.Load(t.Context(), "acme", "thr_a")
	must(t, err)
	if want := []int64{0, until.Unix(), until.Unix(), until.Unix()}; !slices.Equal(watched, want) {
		t.Errorf("seen: %v, want %v", watched, want)
	}
}
