package sqlite_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

// step is what a step writes: a claim, the model's turn, its tool's result, a release that wakes
// the next.
func step(t *testing.T, db *sqlite.DB, n int) {
	t.Helper()
	h := claim(t, db, thread, fmt.Sprintf("claim %04d", n), int64(1_000_000+n))
	drained := make([]string, 0, 1)
	for key := range h.Inbox {
		drained = append(drained, key)
	}
	for i, text := range []string{"I look it up for you.", strings.Repeat("result ", 50), ""} {
		h.Rev, h.CID, h.Tries = h.Rev+1, core.NewStamp(h.Epoch, i+1), 0
		req := engine.CommitRequest{Drained: drained}
		if text != "" {
			h.Seq++
			req.Segment = &core.Segment{Seq: h.Seq, W: h.CID, Prev: h.Seg,
				Messages: []core.Message{{Role: core.RoleAssistant, Parts: core.TextParts(text), RunID: h.Run, At: 1_000_000}}}
			h.Seg, h.Ev = h.CID, h.Ev+3
			h.Calls = map[string]core.Call{"c1": {Status: core.CallSucceeded}}
			h.Step++
		} else {
			due := int64(2_000_000)
			h.Lease, req.Due, req.Wake = 0, &due, &engine.Delay{}
		}
		req.Next, drained = h, nil
		w, err := db.Commit(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		h = w.Head
	}
}

func TestStepCostsTheSameHoweverOldTheRun(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	start(t, db, newHead(thread))
	cost := map[int]txfile.Stats{}
	for n := 1; n <= 1000; n++ {
		before := db.Stats()
		step(t, db, n)
		after := db.Stats()
		cost[n] = txfile.Stats{Statements: after.Statements - before.Statements, BytesWritten: after.BytesWritten - before.BytesWritten}
	}
	young, old := cost[10], cost[1000]
	t.Logf("step 10: %+v, step 1000: %+v", young, old)
	if young.Statements != old.Statements {
		t.Errorf("%d statements at step 10, %d at step 1,000", young.Statements, old.Statements)
	}
	if diff := math.Abs(float64(old.BytesWritten-young.BytesWritten)) / float64(young.BytesWritten); diff > 0.02 {
		t.Errorf("%d bytes at step 10, %d at step 1,000", young.BytesWritten, old.BytesWritten)
	}
}

func TestEveryMemberOfAHeadIsKept(t *testing.T) {
	db := fresh(t)
	var want core.Head
	fill(reflect.ValueOf(&want).Elem(), 1)
	w, err := db.Start(t.Context(), engine.StartRequest{Head: want, Due: want.Due})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, w.Head); diff != "" {
		t.Fatalf("after the start:\n%s", diff)
	}

	var next core.Head
	fill(reflect.ValueOf(&next).Elem(), 2)
	next.Tenant, next.Thread, next.Run, next.Agent, next.Born = want.Tenant, want.Thread, want.Run, want.Agent, want.Born
	next.Epoch, next.Rev, next.Claim = want.Epoch, want.Rev+1, want.Claim
	next.Status, next.Schema = core.RunRunning, core.SchemaVersion // whatever else it has
	next.Sigs, next.Inbox, next.Due = want.Sigs, want.Inbox, want.Due
	next.Votes = want.Votes
	if w, err = db.Commit(t.Context(), engine.CommitRequest{Next: next}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(next, w.Head); diff != "" {
		t.Fatalf("after the commit:\n%s", diff)
	}
}

// fill sets everything below v to something that is not its zero value and depends on n.
func fill(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a' + n)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8:
		v.SetUint(uint64(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"n":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("fill: " + v.Kind().String())
	}
}
