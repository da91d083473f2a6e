package queuetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// crowd is a queue of several tenants, and what the suite knows of it.
type crowd struct {
	*queueTest
	rng    *rand.Rand
	queued map[string]int               // visible messages by tenant
	held   map[string][]engine.Delivery // handed out and not settled
	// receives in a row that passed the tenant over while it had as few held as any
	waiting map[string]int
	sent    int
}

// testTurns plays random backlogs. Each message goes to a tenant with the fewest messages handed
// out, and a tenant with a message and that few handed out is served within as many receives as
// there are tenants.
func testTurns(t *queueTest) {
	if t.lack(NoTurns) {
		t.Skip("this queue does not promise turns")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &crowd{queueTest: t, rng: rand.New(rand.NewPCG(seed, seed)), queued: map[string]int{}, held: map[string][]engine.Delivery{},
		waiting: map[string]int{}}
	for n := range 1 + c.rng.IntN(6) {
		c.add(fmt.Sprintf("tenant %d", n), c.rng.IntN(1+c.rng.IntN(60)))
	}
	for range 200 {
		switch c.rng.IntN(5) {
		case 0:
			c.add(fmt.Sprintf("tenant %d", c.rng.IntN(6)), 1+c.rng.IntN(3))
		case 1:
			c.settle()
		default:
			c.receive()
		}
	}
}

func (c *crowd) add(tenant string, n int) {
	c.Helper()
	for range n {
		c.sent++
		c.must(c.queue.Send(c.Context(), engine.Wakeup{Tenant: tenant, Thread: numbered("thr_", c.sent)}, 0))
		c.queued[tenant]++
	}
}

// settle acknowledges one message, or gives it back.
func (c *crowd) settle() {
	c.Helper()
	for _, tenant := range slices.Sorted(maps.Keys(c.held)) {
		held := c.held[tenant]
		if len(held) == 0 {
			continue
		}
		c.held[tenant] = held[1:]
		if held[0].Attempts == 1 && c.rng.IntN(2) == 0 {
			c.must(c.queue.Nack(c.Context(), held[0], 0, "again"))
			c.queued[tenant]++
			return
		}
		c.must(c.queue.Ack(c.Context(), held[0]))
		return
	}
}

func (c *crowd) receive() {
	c.Helper()
	ds, err := c.queue.Receive(c.Context(), 1)
	c.must(err)
	tenants, least := 0, 0
	for tenant, n := range c.queued {
		if n == 0 {
			continue
		}
		if tenants++; tenants == 1 || len(c.held[tenant]) < least {
			least = len(c.held[tenant])
		}
	}
	if len(ds) != min(tenants, 1) {
		c.Fatalf("received %d of %v", len(ds), c.queued)
	}
	if tenants == 0 {
		return
	}
	got := ds[0]
	if len(c.held[got.Tenant]) != least {
		c.Fatalf("%s has %d handed out and was served, while another tenant with a message has %d", got.Tenant, len(c.held[got.Tenant]), least)
	}
	c.passOver(got.Tenant, least, tenants)
	c.queued[got.Tenant]--
	c.held[got.Tenant] = append(c.held[got.Tenant], got)
}

func (c *crowd) passOver(served string, least, tenants int) {
	c.Helper()
	for tenant, n := range c.queued {
		if tenant == served || n == 0 || len(c.held[tenant]) > least {
			c.waiting[tenant] = 0
			continue
		}
		if c.waiting[tenant]++; c.waiting[tenant] >= 6 {
			c.Fatalf("%s was passed over %d times; %d tenants have messages", tenant, c.waiting[tenant], tenants)
		}
	}
}

// testTurnsWhenSettled: a tenant whose messages are settled as fast as they come has the fewest
// handed out all the time. It still does not keep the others waiting.
func testTurnsWhenSettled(t *queueTest) {
	if t.lack(NoTurns) {
		t.Skip("this queue does not promise turns")
	}
	for i := range 100 {
		t.must(t.queue.Send(t.Context(), engine.Wakeup{Tenant: "many", Thread: numbered("thr_", i)}, 0))
	}
	t.at(2000)
	t.must(t.queue.Send(t.Context(), engine.Wakeup{Tenant: "one", Thread: "thr_one"}, 0))
	for range 2 {
		ds, err := t.queue.Receive(t.Context(), 1)
		t.must(err)
		t.must(t.queue.Ack(t.Context(), ds[0]))
		if ds[0].Tenant == "one" {
			return
		}
	}
	t.Fatal("one message of one tenant waits behind the backlog of another")
}
