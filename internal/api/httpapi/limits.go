package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
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
