// Package linktest has the conformance suite for stores of approval links. Only tests import it.
package linktest

import (
	"context"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// Store is the LinkStore of package frontend, whose methods are repeated here so that its tests
// can import this package.
type Store interface {
	PutLink(ctx context.Context, l engine.Link) error
	Link(ctx context.Context, tenant, run, id string) (engine.Link, error)
	Links(ctx context.Context, tenant, run string) ([]engine.Link, error)
	RevokeLink(ctx context.Context, tenant, run, id string, at int64, by string) (engine.Link, error)
	SwapLinkCode(ctx context.Context, tenant, run, id, from, to string) (bool, error)
}

// Test checks a store of the records of approval links. Open returns an empty one, closed by
// the test's cleanup.
func Test(t *testing.T, open func(t *testing.T) Store) {
	for name, run := range map[string]func(*testing.T, Store){
		"a record comes back as it was put":            testLinkComesBack,
		"a record belongs to one run of one tenant":    testLinkIsOfOneRun,
		"a link is revoked once, by the first":         testLinkIsRevokedOnce,
		"a put that comes late undoes no revocation":   testLinkPutAgain,
		"what was never made is neither read nor dead": testLinkNeverMade,
		"of many who revoke at once one is recorded":   testLinkRevokedAtOnce,
		"what is known of codes is swapped by one":     testLinkCodeSwapped,
		"codes and revocations keep one another":       testLinkCodeAndRevocation,
	} {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

func linkRecord(id string) engine.Link {
	return engine.Link{Tenant: "acme", Run: "run_a_0", ID: id, Suspension: "sus_2_x", Call: "c#1", Tool: "refund", For: "Anna Bäcker <anna@example.com>",
		Maker: "mailer", Fingerprint: "f00d", Made: 1000, Expires: 1 << 41}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sameLink(t *testing.T, got, want engine.Link, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
}

func testLinkComesBack(t *testing.T, store Store) {
	first, second := linkRecord("lnk_1"), linkRecord("lnk_2#%")
	second.Maker, second.Fingerprint, second.Edit, second.Require = "", "", true, engine.RequireToken
	must(t, store.PutLink(t.Context(), second))
	must(t, store.PutLink(t.Context(), first))
	for _, want := range []engine.Link{first, second} {
		got, err := store.Link(t.Context(), want.Tenant, want.Run, want.ID)
		sameLink(t, got, want, err)
	}
	all, err := store.Links(t.Context(), first.Tenant, first.Run)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	sameLink(t, all[0], first, nil)
	sameLink(t, all[1], second, nil)
}

func testLinkIsOfOneRun(t *testing.T, store Store) {
	l := linkRecord("lnk_1")
	must(t, store.PutLink(t.Context(), l))
	for _, elsewhere := range [][3]string{{"zoo", l.Run, l.ID}, {l.Tenant, "run_b_0", l.ID}, {l.Tenant, l.Run, "lnk_2"}, {l.Tenant + "#run_a_0", "", l.ID}} {
		if _, err := store.Link(t.Context(), elsewhere[0], elsewhere[1], elsewhere[2]); err != engine.ErrNotFound {
			t.Errorf("%q: %v", elsewhere, err)
		}
		if _, err := store.RevokeLink(t.Context(), elsewhere[0], elsewhere[1], elsewhere[2], 2000, "x"); err != engine.ErrNotFound {
			t.Errorf("%q: revoked: %v", elsewhere, err)
		}
		if all, err := store.Links(t.Context(), elsewhere[0], elsewhere[1]); err != nil || (len(all) > 0) != (elsewhere[2] == "lnk_2") {
			t.Errorf("%q: %+v, %v", elsewhere, all, err)
		}
	}
	got, err := store.Link(t.Context(), l.Tenant, l.Run, l.ID)
	sameLink(t, got, l, err)
}

func testLinkIsRevokedOnce(t *testing.T, store Store) {
	l, other := linkRecord("lnk_1"), linkRecord("lnk_2")
	must(t, store.PutLink(t.Context(), l))
	must(t, store.PutLink(t.Context(), other))
	l.Revoked, l.RevokedBy = 2000, "token:anna"
	got, err := store.RevokeLink(t.Context(), l.Tenant, l.Run, l.ID, 2000, "token:anna")
	sameLink(t, got, l, err)
	got, err = store.RevokeLink(t.Context(), l.Tenant, l.Run, l.ID, 3000, "token:bob")
	sameLink(t, got, l, err)
	got, err = store.Link(t.Context(), l.Tenant, l.Run, l.ID)
	sameLink(t, got, l, err)
	got, err = store.Link(t.Context(), l.Tenant, l.Run, other.ID)
	sameLink(t, got, other, err)
}

func testLinkPutAgain(t *testing.T, store Store) {
	l := linkRecord("lnk_1")
	must(t, store.PutLink(t.Context(), l))
	revoked, err := store.RevokeLink(t.Context(), l.Tenant, l.Run, l.ID, 2000, "")
	must(t, err)
	must(t, store.PutLink(t.Context(), l))
	got, err := store.Link(t.Context(), l.Tenant, l.Run, l.ID)
	sameLink(t, got, revoked, err)
}

func testLinkNeverMade(t *testing.T, store Store) {
	l := linkRecord("lnk_1")
	if _, err := store.RevokeLink(t.Context(), l.Tenant, l.Run, l.ID, 2000, "x"); err != engine.ErrNotFound {
		t.Errorf("revoked: %v", err)
	}
	if all, err := store.Links(t.Context(), l.Tenant, l.Run); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	must(t, store.PutLink(t.Context(), l)) // the revocation before left nothing behind
	got, err := store.Link(t.Context(), l.Tenant, l.Run, l.ID)
	sameLink(t, got, l, err)
}

func testLinkRevokedAtOnce(t *testing.T, store Store) {
	l := linkRecord("lnk_1")
	must(t, store.PutLink(t.Context(), l))
	told := make([]engine.Link, 8)
	for _, err := range enginetest.Together(len(told), func(i int) (err error) {
		told[i], err = store.RevokeLink(t.Context(), l.Tenant, l.Run, l.ID, int64(2000+i), fmt.Sprint("token:", i))
		return err
	}) {
		must(t, err)
	}
	for _, got := range told {
		sameLink(t, got, told[0], nil)
	}
}

func testLinkCodeSwapped(t *testing.T, store Store) {
	l, other := linkRecord("lnk_1"), linkRecord("lnk_2")
	if done, err := store.SwapLinkCode(t.Context(), l.Tenant, l.Run, l.ID, "", "a"); done || err != nil {
		t.Fatalf("of no link: %v, %v", done, err)
	}
	must(t, store.PutLink(t.Context(), l))
	must(t, store.PutLink(t.Context(), other))
	if done, err := store.SwapLinkCode(t.Context(), l.Tenant, l.Run, l.ID, "a", "b"); done || err != nil {
		t.Fatalf("from what it never was: %v, %v", done, err)
	}
	for _, from := range []string{"", "0"} {
		won := make([]bool, 8)
		for _, err := range enginetest.Together(len(won), func(i int) (err error) {
			won[i], err = store.SwapLinkCode(t.Context(), l.Tenant, l.Run, l.ID, from, from+fmt.Sprint("", i))
			return err
		}) {
			must(t, err)
		}
		got, err := store.Link(t.Context(), l.Tenant, l.Run, l.ID)
		must(t, err)
		for i, is := range won {
			if is != (got.Code == from+fmt.Sprint("", i)) {
				t.Fatalf("%v: %q", won, got.Code)
			}
		}
		_, err = store.SwapLinkCode(t.Context(), l.Tenant, l.Run, l.ID, got.Code, "0")
		must(t, err)
	}
	must(t, store.PutLink(t.Context(), l)) // a put that comes late forgets no tries
	l.Code = "0"
	got, err := store.Link(t.Context(), l.Tenant, l.Run, l.ID)
	sameLink(t, got, l, err)
	got, err = store.Link(t.Context(), l.Tenant, l.Run, other.ID)
	sameLink(t, got, other, err)
}

func testLinkCodeAndRevocation(t *testing.T, store Store) {
	l := linkRecord("lnk_1")
	must(t, store.PutLink(t.Context(), l))
	if done, err := store.SwapLinkCode(t.Context(), l.Tenant, l.Run, l.ID, "", "a"); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	l.Code, l.Revoked, l.RevokedBy = "a", 2000, "token:anna"
	got, err := store.RevokeLink(t.Context(), l.Tenant, l.Run, l.ID, 2000, "token:anna")
	sameLink(t, got, l, err)
	if done, err := store.SwapLinkCode(t.Context(), l.Tenant, l.Run, l.ID, "a", "b"); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	l.Code = "b"
	all, err := store.Links(t.Context(), l.Tenant, l.Run)
	must(t, err)
	sameLink(t, all[0], l, nil)
}
