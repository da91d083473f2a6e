package requestlog

import (
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// every is how often the log says why requests get a 503, for each code: a store that fails
// refuses every request.
const every = 10 * time.Second

// Unserved counts the refusals with 503 that are not logged yet.
type Unserved struct {
	mu     sync.Mutex
	last   map[refusal.Code]time.Time
	silent map[refusal.Code]int
}

// Take reports whether to log a refusal with this code now, and how many were not logged since the
// last one.
func (u *Unserved) Take(code refusal.Code, now time.Time) (yes bool, others int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.last[code]; ok && now.Sub(last) < every && !now.Before(last) {
		u.silent[code]++
		return false, 0
	}
	if u.last == nil {
		u.last, u.silent = map[refusal.Code]time.Time{}, map[refusal.Code]int{}
	}
	others = u.silent[code]
	u.last[code], u.silent[code] = now, 0
	return true, others
}
