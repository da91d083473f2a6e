package httpapi

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// unservedEvery is how often the log says why requests get a 503, for each code: a store that fails
// refuses every request.
const unservedEvery = 10 * time.Second

// unserved counts the refusals with 503 that are not logged yet.
type unserved struct {
	mu     sync.Mutex
	last   map[refusal.Code]time.Time
	silent map[refusal.Code]int
}

// told reports whether to log a refusal with this code now, and how many were not logged since the
// last one.
func (u *unserved) told(code refusal.Code, now time.Time) (yes bool, others int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.last[code]; ok && now.Sub(last) < unservedEvery && !now.Before(last) {
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

// logUnserved writes down why a request was answered with 503. Where waiting does not help, an
// operator is needed: that is an error.
func (a *api) logUnserved(r *http.Request, e *refusal.Error, err error) {
	yes, others := a.unserved.told(e.Code, a.clock.Now())
	if !yes {
		return
	}
	if cause := e.Unwrap(); cause != nil {
		err = cause
	}
	level := slog.LevelWarn
	if e.RetryAfter == 0 {
		level = slog.LevelError
	}
	a.log.Log(r.Context(), level, "a request was refused with 503", "code", e.Code, "call", r.Pattern, "others_since_last", others, "error", err)
}
