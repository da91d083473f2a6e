package local

import (
	"fmt"
	"testing"
)

// A tenant's share of places is always there, however many tenants have taken all they may.
func TestEachTenantHasAShareOfThePlaces(t *testing.T) {
	p := newPlaces(16, 8, 2)
	take := func(tenant string, want int) {
		t.Helper()
		got := 0
		for got <= want && p.Take(tenant) {
			got++
		}
		if got != want {
			t.Errorf("%s has %d places, want %d", tenant, got, want)
		}
	}
	take("a", 8)
	take("b", 8)
	for n := range 20 {
		take(fmt.Sprint("late ", n), 2)
	}
	p.Free("a")
	take("a", 0) // all places are taken, and it has more than its share
	for range 40 {
		p.Free("b")
		if !p.Take("b") {
			break
		}
	}
	if p.tenant["b"] > 8 {
		t.Errorf("b has %d places", p.tenant["b"])
	}
}

func TestAFreedPlaceIsGivenAgain(t *testing.T) {
	p := newPlaces(1, 1, 1)
	for range 3 {
		if !p.Take("a") || p.Take("a") {
			t.Fatal("there is not one place")
		}
		p.Free("a")
		select {
		case <-p.freed:
		default:
			t.Fatal("nobody hears of a freed place")
		}
	}
	if len(p.tenant) != 0 || p.total != 0 {
		t.Errorf("left: %v, %d", p.tenant, p.total)
	}
}

func TestStepsFollowFromTheWorkers(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want Steps
	}{
		{Options{}, Steps{64, 32}},
		{Options{Workers: 1}, Steps{16, 8}},
		{Options{Workers: 1, Steps: Steps{Most: 1}}, Steps{1, 1}},
		{Options{Steps: Steps{Tenant: 5}}, Steps{64, 5}},
	} {
		if got := tt.o.steps(); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.o, got, tt.want)
		}
	}
}
