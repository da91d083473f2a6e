// Package partial is for work on the things of many tenants: it goes on past an entry that fails,
// so that one run or one tenant doesn't stop the others, and returns all failures.
package partial

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// EntryError is the failure of one due thread.
type EntryError struct {
	engine.Wakeup
	Err error
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("thread %s of tenant %q: %v", e.Thread, e.Tenant, e.Err)
}

// Unwrap is what failed.
func (e *EntryError) Unwrap() error { return e.Err }

// Failures are what went wrong beside what succeeded; an [*EntryError] where one thread failed.
type Failures []error

func (f Failures) Error() string {
	return fmt.Sprintf("%d failed, the first: %v", len(f), f[0])
}

// Unwrap makes every failure visible to [errors.Is].
func (f Failures) Unwrap() []error { return f }

// OrNil is the error for nothing failed: nil.
func (f Failures) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Each calls do with 0 to n-1, up to most at once, and returns when all are done. With a most of 1
// it calls on the goroutine of its caller: a simulated caller may crash there.
func Each(most, n int, do func(i int)) {
	if most == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(most, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
