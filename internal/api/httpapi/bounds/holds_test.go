package bounds

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

func TestReadsAreHeldByNumberHere(t *testing.T) {
	h := NewHolds(3, 2, NewPaces(nil, 0, NewMemory(), nil), time.Now)
	one, two, three, zoo, other := h.Of("acme"), h.Of("acme"), h.Of("acme"), h.Of("zoo"), h.Of("pub")
	for _, hold := range []*Hold{one, two, zoo} {
		if hold.More(t.Context()) <= 0 || hold.Cut() {
			t.Fatal("a read is not held")
		}
	}
	for _, hold := range []*Hold{three, other} {
		if hold.More(t.Context()) > 0 || !hold.Cut() {
			t.Error("too many reads are held, or their readers don't learn that theirs isn't")
		}
		hold.Over()
	}
	one.Over()
	one.Over()
	if h.Of("acme").More(t.Context()) <= 0 || h.Of("acme").More(t.Context()) > 0 {
		t.Error("one read that ended gives room for one other")
	}
	if three.More(t.Context()) > 0 {
		t.Error("a request whose read was cut is held by another read")
	}
}

// TestSecondsOfHeldReadsHaveARate: over any time no tenant holds more than its rate and burst, and
// one that asks for more takes nothing of the others.
func TestSecondsOfHeldReadsHaveARate(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	rates := Rates{pace.Held: pace.PerSecond(2, 20), pace.HeldByAll: pace.PerSecond(8, 20)}
	h := NewHolds(1000, 1000, NewPaces(rates, 0, NewMemory(), nil), func() time.Time { return now })
	hold := func(tenant string) (n int) {
		for range 100 {
			one := h.Of(tenant)
			if one.More(t.Context()) == heldPiece*time.Second {
				n++
			}
			one.Over()
		}
		return n
	}
	if n := hold("acme"); n != 4 { // 20 seconds in pieces of 5
		t.Errorf("%d reads of one tenant are held at once", n)
	}
	for _, tenant := range []string{"zoo", "pub", "inn"} {
		if n := hold(tenant); n != 4 {
			t.Errorf("%d reads of %s are held beside the flood of another", n, tenant)
		}
	}
	if n := hold("new"); n != 0 {
		t.Errorf("%d reads are held beyond the rate of all", n)
	}
	sum := 0
	for range 600 {
		now = now.Add(100 * time.Millisecond)
		for _, tenant := range []string{"acme", "zoo", "pub", "inn", "new"} {
			sum += hold(tenant)
		}
	}
	if most := 8 * 60 / heldPiece; sum > most || sum < most*8/10 {
		t.Errorf("%d pieces in a minute, of %d", sum, most)
	}
}
