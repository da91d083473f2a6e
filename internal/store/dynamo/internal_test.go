package dynamo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// FuzzKeys: two threads never have one key, and a key says whose it is.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"", "a", "#", "%", "%23", "a#b", "a%23b", "\x00", "\xff", "\ufffd", "\xff\xfe", "naïve ☕", "+", "%2", "/", "#H", "CURRENT"} {
		f.Add(s, "x", "x", s)
		f.Add(s, s, s+"#", s)
		f.Add("a#"+s, "b", "a", s+"#b")
	}
	f.Fuzz(func(t *testing.T, tenant, thread, other, another string) {
		pk := threadPK(tenant, thread)
		raw, err := json.Marshal(pk)
		var sent string
		if err == nil {
			err = json.Unmarshal(raw, &sent)
		}
		if err != nil || sent != pk {
			t.Fatalf("%q is another key on its way to the server: %q, %v", pk, sent, err)
		}
		if at, err := threadOf(pk); err != nil || at != (engine.Wakeup{Tenant: tenant, Thread: thread}) {
			t.Errorf("%q is %+v, %v", pk, at, err)
		}
		if same := tenant == other && thread == another; same != (pk == threadPK(other, another)) {
			t.Errorf("%q %q and %q %q have the keys %q and %q", tenant, thread, other, another, pk, threadPK(other, another))
		}
		if strings.Count(pk, "#") != 2 {
			t.Errorf("%q has a # of its own", pk)
		}
	})
}

// fill sets every member of v to something, so that one that is forgotten on its way is missed.
func fill(v reflect.Value, n *int64) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"n":1}`))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.String:
		v.SetString("text " + string(rune('a'+*n%26)))
	case v.CanInt():
		v.SetInt(*n)
	case v.CanUint():
		v.SetUint(1 + uint64(*n)%2) // of an enum; none has fewer words
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case v.Kind() == reflect.Map:
		of, key := reflect.New(v.Type().Elem()).Elem(), reflect.New(v.Type().Key()).Elem()
		fill(of, n)
		fill(key, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, of)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	default:
		panic("nothing to fill a " + v.Type().String() + " with")
	}
}

func TestEveryMemberOfAHeadComesBack(t *testing.T) {
	t.Parallel()
	s := New(nil, Options{})
	for _, oldest := range []string{"", "another", "0001#run"} {
		var want core.Head
		var n int64
		fill(reflect.ValueOf(&want).Elem(), &n)
		if want.Oldest = oldest; oldest == "0001#run" {
			want.Run = "run"
		}
		got, err := readHead(s.headItem(want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("oldest %q: %v (-want +got):\n%s", oldest, err, diff)
		}
	}
}

func TestASignalComesBackAsItWas(t *testing.T) {
	t.Parallel()
	resume := core.Encode(core.Resume{DecisionID: "d1", Action: core.ActionResume, Result: []byte("true"), UpdatedAt: 77})
	for name, want := range map[string]core.Signal{
		"a decision":                  {ID: "d1", At: 77, Value: resume, Digest: core.Digest([]byte("x"))},
		"of another time":             {ID: "d1", At: 78, Value: resume, Digest: "d1"},
		"of another id":               {ID: "d2", At: 77, Value: resume, Digest: "ABCD"},
		"that says nothing but those": {ID: "d1", At: 77, Value: []byte(`{"decision_id":"d1","updated_at":77}`)},
		"in another order":            {ID: "d1", At: 77, Value: []byte(`{"updated_at":77,"decision_id":"d1"}`)},
		"with an id to escape":        {ID: "d\"\u2028<", At: -1, Value: []byte(`{"decision_id":"d\"\u2028<","x":1,"updated_at":-1}`)},
		"null":                        {Value: []byte("null")},
		"a text":                      {Value: []byte(`"text"`)},
		"none":                        {},
	} {
		got := readSignal(mapAt(item{"s": signalOf("thr_a", want)}, "s"), same)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	decision := mapAt(item{"s": signalOf("thr_a", core.Signal{ID: "d1", At: 77, Value: resume})}, "s")
	if textAt(decision, attrDecision) == "" {
		t.Errorf("a decision is stored in full: %v", decision)
	}
}

func same(id string) string { return id }

func TestAHeadDoesNotRepeatItsThreadInItsSuspensions(t *testing.T) {
	t.Parallel()
	const thread = "thr_ewuibbrzogybp3m2aylul3cr"
	one, other := core.SuspensionID(thread, 2, "lt3l2msrmzhpnsyu"), core.SuspensionID("thr_another", 2, "lt3l2msrmzhpnsyu")
	want := core.Head{Identity: core.Identity{Tenant: "acme", Thread: thread, Run: core.RunID(thread, 0)},
		Waits: core.Waits{TimedOut: map[string]int{one: 1, other: 1, "sus_1": 1}},
		Calls: map[string]core.Call{"c1": {Wait: core.Wait{Sus: one}, Approval: core.Approval{PassedDecision: one, EditedBy: one}}, "c2": {Wait: core.Wait{Sus: other}}, "c3": {Wait: core.Wait{Sus: "sus_1"}}, "c4": {}},
		Votes: map[string]vote.Tally{one: {"anna": vote.Yes}, "sus_1": {"ben": vote.No}},
		Out:   map[string]core.Out{core.NoticeKey(one): {Kind: core.OutNotify, Call: "c1", Sus: one}, "memory": {Kind: core.OutMemory}},
		Inbox: map[string]core.Signal{one: {Kind: core.SignalDecision}, core.LateKey(one): {Kind: core.SignalLate}, core.VoteKey("anna", one): {Kind: core.SignalVote}, "m:sus_": {Kind: core.SignalMessage, Sus: one}}}
	stored := New(nil, Options{}).headItem(want)
	got, err := readHead(stored)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	delete(stored, attrPK)
	delete(stored, attrRun)
	delete(stored, attrListSK)
	if text := fmt.Sprint(flat(stored)); strings.Contains(text, "ewuibbrzogybp3m2aylul3cr") {
		t.Errorf("the thread is repeated: %s", text)
	}
}

// flat is an item as text, with everything in it.
func flat(it item) (all []string) {
	for name, v := range it {
		all = append(all, name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			all = append(all, v.Value)
		case *types.AttributeValueMemberM:
			all = append(all, flat(v.Value)...)
		}
	}
	return all
}
