// Package turns bounds how many reads are under way at once and shares them among tenants.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Queue bounds how many pages are read at once. Tenants take turns: the next page is of the waiting
// tenant with the fewest under way, and of several such tenants, of the one that has waited longest
// for its turn. Without that, a tenant that asks for many large pages would keep all others from
// their inboxes.
type Queue struct {
	mu      sync.Mutex
	free    int
	reads   map[string]int             // pages under way, by tenant
	waiting map[string][]chan struct{} // by tenant, each closed when its turn comes
	order   []string                   // the tenants that wait
}

// New makes a queue for so many pages at once.
func New(places int) *Queue {
	return &Queue{free: places, reads: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Take waits until a page of the tenant may be read. leave says that it was. It is called where a
// read begins, never within another.
func (q *Queue) Take(ctx context.Context, tenant string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave = func() { q.leave(tenant) }
	came := q.enter(tenant)
	if came == nil {
		return leave, nil
	}
	select {
	case <-came:
		return leave, nil
	case <-ctx.Done():
		if !q.forget(tenant, came) {
			leave()
		}
		return nil, ctx.Err()
	}
}

// enter takes a free place, or says what to wait for.
func (q *Queue) enter(tenant string) (came chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		q.reads[tenant]++
		return nil
	}
	came = make(chan struct{})
	if len(q.waiting[tenant]) == 0 {
		q.order = append(q.order, tenant)
	}
	q.waiting[tenant] = append(q.waiting[tenant], came)
	return came
}

// leave gives the place to who is next.
func (q *Queue) leave(tenant string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reads[tenant]--; q.reads[tenant] == 0 {
		delete(q.reads, tenant)
	}
	if len(q.order) == 0 {
		q.free++
		return
	}
	next := slices.MinFunc(q.order, func(a, b string) int { return q.reads[a] - q.reads[b] })
	close(q.waiting[next][0])
	q.reads[next]++
	q.shorten(next, 0)
	if at := slices.Index(q.order, next); at >= 0 {
		q.order = append(slices.Delete(q.order, at, at+1), next)
	}
}

// forget is for a caller who waits no more. False if its turn has come.
func (q *Queue) forget(tenant string, came chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting[tenant], came)
	if at >= 0 {
		q.shorten(tenant, at)
	}
	return at >= 0
}

// shorten takes one off those of a tenant who wait, and the tenant off the order behind the last.
func (q *Queue) shorten(tenant string, at int) {
	q.waiting[tenant] = slices.Delete(q.waiting[tenant], at, at+1)
	if len(q.waiting[tenant]) == 0 {
		delete(q.waiting, tenant)
		q.order = slices.DeleteFunc(q.order, func(other string) bool { return other == tenant })
	}
}
