package measure

import (
	"net/http"
	"sync/atomic"
)

// traffic counts the requests of an HTTP client and the bytes of their bodies.
type traffic struct{ requests, bytes atomic.Int64 }

// RoundTrip implements [http.RoundTripper].
func (t *traffic) RoundTrip(r *http.Request) (*http.Response, error) {
	t.requests.Add(1)
	t.bytes.Add(max(r.ContentLength, 0))
	return http.DefaultTransport.RoundTrip(r)
}

func (t *traffic) count() (requests, bytes float64) {
	return float64(t.requests.Load()), float64(t.bytes.Load())
}
