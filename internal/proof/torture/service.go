package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Service is the HTTP service that the tools of [WriteAgents] ask. It appends each request to pay
// to a ledger before it answers, and doesn't look for repeats.
type Service struct {
	Ledger string // file; made with the first payment

	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	open  map[net.Conn]bool
	fewer chan struct{} // closed when a connection ends

	arrived []Arrival
	more    chan struct{} // closed when a notice arrives
}

// Serve starts a service on a free port of this machine. The caller closes it.
func Serve(ledger string) (*Service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Service{Ledger: ledger, listener: l, open: map[net.Conn]bool{}, fewer: make(chan struct{}), more: make(chan struct{})}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /orders/{order}", s.look)
	routes.HandleFunc("POST /pay", s.pay)
	routes.HandleFunc("POST /notices", s.notice)
	s.server = &http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second, ConnState: s.track,
		ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.server.Serve(l) }() // ends when it is closed
	return s, nil
}

// Host is where the service listens, as host:port. Its address is http:// and that.
func (s *Service) Host() string { return s.listener.Addr().String() }

// Close ends the service and every connection to it.
func (s *Service) Close() error { return s.server.Close() }

// look finds every order, and each has cost 120.
func (s *Service) look(w http.ResponseWriter, r *http.Request) {
	answer(w, struct {
		Order  string `json:"order"`
		Amount int    `json:"amount"`
	}{r.PathValue("order"), 120})
}

func (s *Service) pay(w http.ResponseWriter, r *http.Request) {
	line := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&line); err != nil {
		http.Error(w, "the body is not a JSON object", http.StatusBadRequest)
		return
	}
	line["key"] = r.Header.Get("Idempotency-Key")
	if err := s.write(line); err != nil {
		http.Error(w, "the ledger cannot be written", http.StatusInternalServerError)
		return
	}
	answer(w, struct {
		Order    any `json:"order"`
		Refunded any `json:"refunded"`
	}{line["order"], line["amount"]})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a caller that is gone needs no answer
}

func (s *Service) write(line map[string]any) (err error) {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(s.Ledger), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(text, '\n'))
	return err
}

// track notes which connections are open.
func (s *Service) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(s.open, c)
		close(s.fewer)
		s.fewer = make(chan struct{})
	}
}

// settleLimit is how long what a killed process sent may take to be handled.
const settleLimit = 20 * time.Second

// errUnsettled: whether a killed server's calls are done is unknown, so nothing can be said of it.
var errUnsettled = errors.New("the service of the tools has not settled")

// Settle returns when every request that a killed process sent has been handled, so that the
// ledger doesn't change any more because of it. Call it when no living process uses the service.
//
// Connections are accepted in order: once an own one has been answered, those of the process are
// known, and each of them ends when its last request has been handled.
func (s *Service) Settle() error {
	own := &http.Client{Timeout: settleLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := own.Get("http://" + s.Host() + "/orders/none")
	if err != nil {
		return fmt.Errorf("%w: it doesn't answer: %w", errUnsettled, err)
	}
	_ = got.Body.Close()
	late := time.NewTimer(settleLimit)
	defer late.Stop()
	for {
		s.mu.Lock()
		left, fewer := len(s.open), s.fewer
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-fewer:
		case <-late.C:
			return fmt.Errorf("%w: %d connections to it are still open after %s", errUnsettled, left, settleLimit)
		}
	}
}
