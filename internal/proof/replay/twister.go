package replay

import (
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
)

// twister is a network on which requests are doubled and answers lost. What it does to the n-th
// request of a conversation hangs on the seed.
type twister struct {
	inner http.RoundTripper
	rate  float64
	count func(kind string)

	mu     sync.Mutex
	random *rand.Rand
}

func newTwister(inner http.RoundTripper, rate float64, seed uint64, conversation string, count func(kind string)) *twister {
	h := fnv.New64a()
	_, _ = h.Write([]byte(conversation))
	return &twister{inner: inner, rate: rate, count: count, random: rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// What becomes of a request that goes wrong.
const (
	sentTwice  = "sent twice, one after the other"
	sentAtOnce = "sent twice at once"
	answerLost = "answer thrown away"
)

var errThrownAway = errors.New("replay: the answer was thrown away")

func (t *twister) fate() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.random.Float64() >= t.rate {
		return ""
	}
	return []string{sentTwice, sentAtOnce, answerLost}[t.random.IntN(3)]
}

// RoundTrip implements [http.RoundTripper]. Whatever it does, the caller gets the answer to one
// copy of the request, or is told that there is none.
func (t *twister) RoundTrip(req *http.Request) (*http.Response, error) {
	fate := t.fate()
	if fate == "" {
		return t.inner.RoundTrip(req)
	}
	t.count(fate)
	copied, err := copyOf(req)
	if err != nil {
		return nil, err
	}
	switch fate {
	case sentTwice:
		t.sink(copied)
	case sentAtOnce:
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			t.sink(copied)
		}()
		defer func() { <-gone }()
	case answerLost:
		t.sink(req)
		return nil, errThrownAway
	}
	return t.inner.RoundTrip(req)
}

// sink sends a request and looks away.
func (t *twister) sink(req *http.Request) {
	resp, err := t.inner.RoundTrip(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

func copyOf(req *http.Request) (*http.Request, error) {
	copied := req.Clone(req.Context())
	if req.GetBody == nil {
		return copied, nil
	}
	var err error
	copied.Body, err = req.GetBody()
	return copied, err
}
