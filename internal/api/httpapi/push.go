package httpapi

import (
	"errors"
	"io"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/requestlog"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

const maxPush = 64 << 10

// receivePush has a run look at the task of its remote agent. The body is dropped: the look shows
// what is new. An address of no run and one with a wrong token are refused alike.
func (a *api) receivePush(w http.ResponseWriter, r *http.Request) error {
	at, ok := access.ReadPush(r.PathValue("token"))
	if !ok {
		return noPush()
	}
	if wait := a.senders.Take(at.Text(), a.clock.Now()); wait > 0 {
		return &refusal.Error{Code: problems.CodeRateLimited, RetryAfter: wait, Detail: "too many notifications come to this address; send the last one again after Retry-After"}
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxPush)); errors.As(err, new(*http.MaxBytesError)) {
		return &refusal.Error{Code: problems.CodeTooLarge, Detail: "the notification is larger than 64 KiB; send it without the task's content, which is not read"}
	} else if err != nil {
		return bodies.Unreadable(err)
	}
	err := a.front.News(r.Context(), at.Tenant, at.Run, at.Token)
	if e, known := problems.Refused(err); known && e.Code == refusal.CodeRunNotFound {
		return noPush()
	}
	if err == nil {
		requestlog.Of(r).Tenant = at.Tenant
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func noPush() error {
	return &refusal.Error{Code: problems.CodeNotFound, Detail: "this address is not from this server, or its run is gone; send to the address that the task came with"}
}
