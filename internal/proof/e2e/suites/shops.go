package suites

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// shopAgent asks two services of this machine, of which its operator allows one.
const shopAgent = "shop-desk"

// shops are those two.
type shops struct{ shop, stranger *service }

// service writes down with which keys it was asked.
type service struct {
	host   string // and port
	server *http.Server
	mu     sync.Mutex
	asked  []string
}

func openShops() (*shops, error) {
	shop, err := openService()
	if err != nil {
		return nil, err
	}
	stranger, err := openService()
	if err != nil {
		_ = shop.server.Close()
		return nil, err
	}
	return &shops{shop, stranger}, nil
}

func openService() (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{host: l.Addr().String()}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(l) }() // ends when it is closed
	return s, nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Header.Get("Idempotency-Key"))
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintln(w, `{"reserved": true}`)
}

func (s *service) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *shops) close() {
	_ = s.shop.server.Close() // nobody asks any more
	_ = s.stranger.server.Close()
}

// agent is the file of an agent whose script asks both.
func (s *shops) agent() string {
	return fmt.Sprintf(`name: %s
description: Reserves a lamp in a private network, and tries it where it may not.
model:
  provider: scripted
  turns:
    - given: {step: 1}
      calls:
        - {tool: reserve, arguments: {what: lamp}}
        - {tool: stray, arguments: {what: lamp}}
    - say: Reserved.
tools:
  - name: reserve
    description: Reserves something at the shop.
    http: {method: POST, url: "http://%s/v1/reservations", allow_private: true}
    parameters: {type: object, properties: {what: {type: string}}, required: [what]}
  - name: stray
    description: Reserves something where nobody may.
    http: {method: POST, url: "http://%s/v1/reservations", allow_private: true}
    parameters: {type: object, properties: {what: {type: string}}, required: [what]}
permissions: {allow: [reserve, stray]}
`, shopAgent, s.shop.host, s.stranger.host)
}
