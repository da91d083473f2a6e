package dynamo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestLinkKeysAreMadeOnceAndReplacedInOrder(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		table := s.table(t)
		made := make(chan access.LinkKeys, 8)
		for i := range cap(made) {
			go func() {
				store := s.store(t, s.client(), table, nil)
				for range i { // each draws other keys
					store = s.store(t, s.client(), table, nil)
				}
				keys, err := store.LinkKeys(t.Context())
				if err != nil {
					t.Error(err)
				}
				made <- keys
			}()
		}
		first := <-made
		for range cap(made) - 1 {
			if diff := cmp.Diff(first, <-made); diff != "" {
				t.Errorf("two that began at once have other keys:\n%s", diff)
			}
		}
		if len(first) != 1 || len(first[0]) < 32 {
			t.Fatalf("keys %v", first)
		}
		link := access.Link{Tenant: "acme", Run: "r", Suspension: "s", Expires: time.Unix(2000, 0)}
		old := first.Sign(link)
		store := s.store(t, s.client(), table, nil)
		must(t, store.AddLinkKey(t.Context()))
		keys, err := store.LinkKeys(t.Context())
		if err != nil || len(keys) != 2 || !cmp.Equal(keys[1], first[0]) {
			t.Fatalf("keys %v, %v", keys, err)
		}
		if _, err := keys.Open(old, time.Unix(1000, 0)); err != nil {
			t.Errorf("a link of the old key: %v", err)
		}
	})
}

func TestAgents(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		store := s.on(t, nil)
		for _, d := range []engine.Definition{
			{Tenant: "a#b", Name: "zoe", Digest: "d1", Body: []byte(`{"v":1}`)}, {Tenant: "a#b", Name: "zoe", Digest: "d2", Body: []byte(`{"v":2}`)},
			{Tenant: "a#b", Name: "amy", Digest: "d1", Body: []byte(`{"v":3}`)}, {Tenant: "b", Name: "amy", Digest: "d1", Body: []byte(`{"v":4}`)}} {
			must(t, store.PutDefinition(t.Context(), d))
			must(t, store.Deploy(t.Context(), d.Tenant, d.Name, d.Digest))
		}
		must(t, store.PutDefinition(t.Context(), engine.Definition{Tenant: "b", Name: "amy", Digest: "d1", Body: []byte(`{"v":5}`)}))
		if err := store.Deploy(t.Context(), "b", "amy", "d9"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("deployed what is not stored: %v", err)
		}
		want := func(tenant string, bodies ...string) {
			t.Helper()
			all, err := store.Deployed(t.Context(), tenant)
			var got []string
			for _, d := range all {
				got = append(got, string(d.Body))
			}
			if err != nil || !slices.Equal(got, bodies) {
				t.Errorf("deployed to %s: %q, want %q, %v", tenant, got, bodies, err)
			}
		}
		want("a#b", `{"v":3}`, `{"v":2}`)
		want("b", `{"v":4}`)
		must(t, store.Undeploy(t.Context(), "b", "amy"))
		must(t, store.Undeploy(t.Context(), "b", "amy"))
		want("b")
		if _, err := store.Current(t.Context(), "b", "amy"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if d, err := store.Definition(t.Context(), "b", "amy", "d1"); err != nil || string(d.Body) != `{"v":4}` {
			t.Errorf("a version that runs are pinned to: %s, %v", d.Body, err)
		}
		if tenants, err := store.Tenants(t.Context()); err != nil || !slices.Equal(tenants, []string{"a#b"}) {
			t.Errorf("tenants %q, %v", tenants, err)
		}
	})
}

// A tenant whose key can't be read hides no other.
func TestADamagedTenantHidesNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		client, table := s.client(), s.table(t)
		store := s.store(t, client, table, nil)
		for _, tenant := range []string{"acme", "zoo"} {
			must(t, store.PutDefinition(t.Context(), engine.Definition{Tenant: tenant, Name: "desk", Digest: "d1", Body: []byte(`{}`)}))
			must(t, store.Deploy(t.Context(), tenant, "desk", "d1"))
		}
		for _, sk := range []string{"#b%zz", "#%"} { // one behind acme, one before it
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "K#tenants"}, "sk": &types.AttributeValueMemberS{Value: sk}}})
			must(t, err)
		}
		tenants, err := store.Tenants(t.Context())
		if !errors.Is(err, engine.ErrUnreadable) || !strings.Contains(err.Error(), "b%zz") || !slices.Equal(tenants, []string{"acme", "zoo"}) {
			t.Errorf("tenants %q, %v", tenants, err)
		}
	})
}
