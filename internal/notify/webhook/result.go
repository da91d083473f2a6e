package webhook

import (
	"errors"
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

var errBadURL = errors.New("the endpoint's URL is not valid; write it as https://hooks.example.com/path, with {secret:NAME} only behind the host")

// bodyError is a body that can't be written, at this attempt or a later one.
type bodyError struct{ error }

func refused(why string) delivery.Result {
	return delivery.Result{Outcome: notice.Refused, Error: why}
}

// resultOf says what a status means. A receiver that refuses may be deployed wrong, so the notice
// is sent again until it is too old; only 410 says that the endpoint is gone for good.
func resultOf(status int) delivery.Result {
	r := delivery.Result{Outcome: notice.Refused, Status: status, Error: "the receiver answered " + remote.Status(status)}
	switch {
	case status >= 200 && status < 300:
		return delivery.Result{Outcome: notice.Delivered, Status: status}
	case status >= 300 && status < 400:
		r.Error += ", and redirects are not followed; set the endpoint's URL to where it leads"
	case status == http.StatusGone:
		r.Outcome = notice.Gone
	}
	return r
}

// unreached says why there was no answer. Addresses are for the operator alone.
func (s *Sender) unreached(err error) string {
	if forbidden, is := errors.AsType[netguard.RefusedError](err); is {
		return "the receiver can't be reached: " + forbidden.Error()
	}
	if errors.Is(err, remote.ErrSlow) {
		return "the receiver did not answer within " + s.o.Limit.String()
	}
	return "the receiver " + remote.Unreached(err, s.o.Limit, ": the connection failed")
}
