package httpapi

import (
	"net/http"
	"time"
)

// answerTime is kept back, of a request that has a deadline, for the answer.
const answerTime = time.Second

// inTime is how long to wait where the request itself must be over at some time.
func inTime(r *http.Request, wait time.Duration) time.Duration {
	if deadline, ok := r.Context().Deadline(); ok {
		return max(0, min(wait, time.Until(deadline)-answerTime))
	}
	return wait
}
