package servers

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// serial is a front that lets one request through at a time. moto takes no lock of its own: two
// writers of one item both win at times, which no run would survive and DynamoDB does not do. A
// receive that waits for messages is asked without the wait, and repeated until its time is over,
// so that nobody stands behind it.
type serial struct {
	mu     sync.Mutex
	to     string
	client *http.Client
}

// putFront puts one before the server.
func (s *Server) putFront() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// A connection for each request: moto closes idle ones at a bad moment, and a request that
	// was lost with one is sent twice by the SDK.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	s.front = &http.Server{Handler: &serial{to: s.URL, client: client}, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.front.Serve(l) }() // ends when it is closed
	s.URL = "http://" + l.Addr().String()
	return nil
}

const waitStep = 100 * time.Millisecond // between two looks for a message

func (f *serial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller is gone
	}
	body, wait := withoutWait(r.Header.Get("X-Amz-Target"), body)
	until := time.Now().Add(wait)
	for {
		resp, answer, err := f.forward(r, body)
		if err != nil {
			http.Error(w, fmt.Sprintf("the server behind this one: %v", err), http.StatusBadGateway)
			return
		}
		if resp.StatusCode == http.StatusOK && wait > 0 && !bytes.Contains(answer, []byte(`"Messages"`)) && time.Now().Before(until) {
			timer := time.NewTimer(waitStep)
			select {
			case <-r.Context().Done():
				timer.Stop()
				return
			case <-timer.C:
				continue
			}
		}
		reply(w, resp, answer)
		return
	}
}

// forward sends the request while nobody else does. It is sent to its end even if the caller goes
// away: half a request is none of AWS's faults.
func (f *serial) forward(r *http.Request, body []byte) (*http.Response, []byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	req, err := http.NewRequest(r.Method, f.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = r.Header.Clone()
	req.Host = r.Host
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp, answer, err
}

func reply(w http.ResponseWriter, resp *http.Response, answer []byte) {
	for name, values := range resp.Header {
		if !strings.EqualFold(name, "Content-Length") && !strings.EqualFold(name, "Connection") && !strings.EqualFold(name, "Transfer-Encoding") {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer) // the caller is gone, or not
}
