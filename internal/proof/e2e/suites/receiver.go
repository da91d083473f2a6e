package suites

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// ReceiverSecret is the name of the secret that signs notices for the receiver, and ReceiverKey its
// value, which the functions have in their environment.
const (
	ReceiverSecret = "PROOF_RECEIVER_KEY"
	ReceiverKey    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// Receiver gets notices. It answers the first one only when it is released.
type Receiver struct {
	host   string
	server *http.Server
	hold   chan struct{} // closed when requests are answered
	first  chan struct{} // gets a value when a request is held

	mu   sync.Mutex
	got  []client.Notice
	bad  []error // requests that were not signed well
	once sync.Once
}

// Receive opens a receiver on this machine. The caller closes it.
func Receive() (*Receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{host: l.Addr().String(), hold: make(chan struct{}), first: make(chan struct{}, 1)}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }() // ends when it is closed
	return r, nil
}

// Host is its address and port.
func (r *Receiver) Host() string { return r.host }

// Close stops it.
func (r *Receiver) Close() error {
	r.release()
	return r.server.Close()
}

func (r *Receiver) release() { r.once.Do(func() { close(r.hold) }) }

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var n client.Notice
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	if key, wrong := signature.Key(signature.Standard, ReceiverKey); err == nil && wrong == nil {
		_, err = signature.Verify(signature.Standard, req.Header.Get, body, time.Now(), key)
	}
	r.mu.Lock()
	if err != nil {
		r.bad = append(r.bad, err)
	} else {
		r.got = append(r.got, n)
	}
	r.mu.Unlock()
	select {
	case r.first <- struct{}{}:
	default:
	}
	select {
	case <-r.hold:
		w.WriteHeader(http.StatusNoContent)
	case <-req.Context().Done(): // the sender was killed
	}
}

func (r *Receiver) notices() ([]client.Notice, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got), slices.Clone(r.bad)
}
