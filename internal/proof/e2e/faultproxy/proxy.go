// Package faultproxy puts a reverse proxy between SDK clients and a server that speaks DynamoDB's
// or SQS's JSON protocol. The proxy makes calls fail as they fail on AWS: it throttles them, hands
// parts of batches back, and drops answers of calls that the server has carried out. The clients'
// own retries see these faults, because they happen on the wire.
package faultproxy

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Rates are shares of all calls, from 0 to below 1.
type Rates struct {
	Throttle float64 // the server never sees the call, or sees a part of a batch
	Lose     float64 // the server carries the call out, and its answer is dropped
}

// Counts say what the proxy has done.
type Counts struct {
	Calls     int64 `json:"calls"`
	Throttled int64 `json:"throttled"` // calls that were refused
	Partial   int64 `json:"partial"`   // batches of which a part was refused
	Lost      int64 `json:"lost"`      // answers that were dropped
}

// Plus adds up what two proxies have done.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.Calls + d.Calls, c.Throttled + d.Throttled, c.Partial + d.Partial, c.Lost + d.Lost}
}

// Minus is what has happened since an earlier count.
func (c Counts) Minus(before Counts) Counts {
	return Counts{c.Calls - before.Calls, c.Throttled - before.Throttled, c.Partial - before.Partial, c.Lost - before.Lost}
}

// Proxy passes calls on. Until [Proxy.Set] is called it changes none of them. It is safe for
// concurrent use.
type Proxy struct {
	URL string

	to     string
	client *http.Client
	server *http.Server

	mu     sync.Mutex
	random *rand.Rand
	rates  Rates

	calls, throttled, partial, lost atomic.Int64
}

// Start listens on a free port of this machine, in front of the server at the URL to. The seed
// decides which calls fail, and how. The caller closes the proxy.
func Start(to string, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// Connections are kept, as many as there are callers: with the default of two, each call
	// would use up a port of this machine.
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute}
	p := &Proxy{URL: "http://" + l.Addr().String(), to: strings.TrimSuffix(to, "/"), client: &http.Client{Transport: transport},
		random: rand.New(rand.NewPCG(seed, 3))}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(l) }() // ends when it is closed
	return p, nil
}

// Set changes how often calls fail from now on.
func (p *Proxy) Set(r Rates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rates = r
}

// Counts counts what has happened so far.
func (p *Proxy) Counts() Counts {
	return Counts{p.calls.Load(), p.throttled.Load(), p.partial.Load(), p.lost.Load()}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.client.CloseIdleConnections()
	return err
}

// ServeHTTP passes one call on, or lets it fail.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller is gone
	}
	p.calls.Add(1)
	call := read(r.Header.Get("X-Amz-Target"), body)
	throttled, loses := p.fate()
	var back *handedBack
	if throttled && call.known() {
		var refused *refusal
		if back, refused = call.throttle(p.pick); refused != nil {
			p.throttled.Add(1)
			refused.write(w)
			return
		}
		p.partial.Add(1)
		body = back.rest
	}
	status, header, answer, err := p.forward(r, body)
	if err != nil {
		http.Error(w, fmt.Sprintf("the server behind the proxy: %v", err), http.StatusBadGateway)
		return
	}
	if loses && call.known() {
		p.lost.Add(1)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	if back != nil && status == http.StatusOK {
		if answer, err = back.addTo(answer); err != nil {
			http.Error(w, fmt.Sprintf("the answer to a batch: %v", err), http.StatusBadGateway)
			return
		}
		header.Del("X-Amz-Crc32") // of the answer as it was
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer) // the caller may be gone
}

// fate decides what happens to a call. It draws the same numbers for each call, so that the rate of
// one fault doesn't change the calls that another one meets.
func (p *Proxy) fate() (throttled, loses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, b := p.random.Float64(), p.random.Float64()
	return a < p.rates.Throttle, b < p.rates.Lose
}

// pick is a number from 0 to below n.
func (p *Proxy) pick(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

// hopHeaders are of one connection, and net/http writes them itself.
var hopHeaders = []string{"Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive"}

// forward sends the call to the server, to its end even if the caller goes away.
func (p *Proxy) forward(r *http.Request, body []byte) (status int, header http.Header, answer []byte, err error) {
	req, err := http.NewRequest(r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Content-Length")
	req.Host = r.Host
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	for _, name := range hopHeaders {
		resp.Header.Del(name)
	}
	return resp.StatusCode, resp.Header, answer, err
}
