package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/frontend/longpoll"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

// Limits bound what this process does for callers at once.
type Limits = bounds.Limits

// pace holds the caller's tenant to its rate.
func (a *api) pace(r *http.Request, kind pace.Kind) error {
	return a.paces.Admit(r.Context(), kind, principal(r).Tenant, a.clock.Now())
}

// enterStream counts a stream that opens here. The rate of one with a ticket was counted when it
// got the ticket.
func (a *api) enterStream(r *http.Request) (leave func(), err error) {
	if r.PathValue("ticket") == "" {
		if err := a.pace(r, pace.Streams); err != nil {
			return nil, err
		}
	}
	return a.streams.Enter(principal(r).Tenant)
}

// seat counts a stream that a protocol will show, here or at the address of streams.
func (a *api) seat(r *http.Request) (leave func(), err error) {
	if a.streamURL == "" {
		return a.enterStream(r)
	}
	return func() {}, a.pace(r, pace.Streams)
}

// heldOf has the tenant pay for the time for which the request's reads are held.
func (a *api) heldOf(r *http.Request) *http.Request {
	return r.WithContext(longpoll.With(r.Context(), a.holds.Of(principal(r).Tenant)))
}

// streamed is the request of a stream: one that isn't buffered is held by its own rules.
func (a *api) streamed(r *http.Request) *http.Request {
	if a.buffered {
		return r
	}
	return r.WithContext(longpoll.With(r.Context(), nil))
}

// cut says whether a read of the request was answered before its time, because too many are held.
func cut(r *http.Request) bool {
	h, ok := longpoll.Of(r.Context()).(*bounds.Hold)
	return ok && h.Cut()
}
