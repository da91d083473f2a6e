package fair

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
)

// agentFile is the agent of both tenants; %s is the address of the model. What waits for longer
// than an hour is denied.
const agentFile = `name: desk
model: {provider: openai, model: scripted, base_url: "%s"}
tenants: [large, small]
groups: {desk: ["token:large", "token:small"]}
approvals: {refund: {group: desk, deadline: 1h}}
` + served.Work

// model is a server with the protocol of OpenAI. It asks for a refund, and then it is done.
type model struct {
	server *http.Server
	addr   string
	takes  time.Duration

	asked atomic.Int64 // how often since the last call of reached
}

// reached returns once the model was asked n times.
func (m *model) reached(ctx context.Context, n int64) error {
	m.asked.Store(0)
	for m.asked.Load() < n {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func startModel(takes time.Duration) (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{addr: listener.Addr().String(), takes: takes}
	m.server = &http.Server{Handler: m}
	go m.server.Serve(listener)
	return m, nil
}

func (m *model) close() error { return m.server.Close() }

// ServeHTTP implements [http.Handler].
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answers := time.After(m.takes)
	m.asked.Add(1)
	body := new(strings.Builder)
	if _, err := io.Copy(body, r.Body); err != nil {
		return
	}
	select {
	case <-answers:
		served.Reply(w, served.Refunded(body.String()))
	case <-r.Context().Done():
	}
}
