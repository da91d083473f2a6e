package frontend

import (
	"context"
	"slices"
	"sync"
)

// turns bound how many pages are read at once. Tenants take turns: the next page is of the waiting
// tenant with the fewest under way, and of several such tenants, of the one that has waited longest
// for its turn. Without that, a tenant that asks for many large pages would keep all others from
// their inboxes.
type turns struct {
	mu      sync.Mutex
	free    int
	reads   map[string]int             // pages under way, by tenant
	waiting map[string][]chan struct{} // by tenant, each closed when its turn comes
	order   []string                   // the tenants that wait
}

func newTurns(places int) *turns {
	return &turns{free: places, reads: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Take waits until a page of the tenant may be read. leave says that it was. It is called where a
// read begins, never within another.
func (t *turns) Take(ctx context.Context, tenant string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave = func() { t.leave(tenant) }
	came := t.enter(tenant)
	if came == nil {
		return leave, nil
	}
	select {
	case <-came:
		return leave, nil
	case <-ctx.Done():
		if !t.forget(tenant, came) {
			leave()
		}
		return nil, ctx.Err()
	}
}

// enter takes a free place, or says what to wait for.
func (t *turns) enter(tenant string) (came chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		t.reads[tenant]++
		return nil
	}
	came = make(chan struct{})
	if len(t.waiting[tenant]) == 0 {
		t.order = append(t.order, tenant)
	}
	t.waiting[tenant] = append(t.waiting[tenant], came)
	return came
}

// leave gives the place to who is next.
func (t *turns) leave(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reads[tenant]--; t.reads[tenant] == 0 {
		delete(t.reads, tenant)
	}
	if len(t.order) == 0 {
		t.free++
		return
	}
	next := slices.MinFunc(t.order, func(a, b string) int { return t.reads[a] - t.reads[b] })
	close(t.waiting[next][0])
	t.reads[next]++
	t.shorten(next, 0)
	if at := slices.Index(t.order, next); at >= 0 {
		t.order = append(slices.Delete(t.order, at, at+1), next)
	}
}

// forget is for a caller who waits no more. False if its turn has come.
func (t *turns) forget(tenant string, came chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.waiting[tenant], came)
	if at >= 0 {
		t.shorten(tenant, at)
	}
	return at >= 0
}

// shorten takes one off those of a tenant who wait, and the tenant off the order behind the last.
func (t *turns) shorten(tenant string, at int) {
	t.waiting[tenant] = slices.Delete(t.waiting[tenant], at, at+1)
	if len(t.waiting[tenant]) == 0 {
		delete(t.waiting, tenant)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == tenant })
	}
}
