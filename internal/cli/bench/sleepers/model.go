package sleepers

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
)

// model is a server with the protocol of OpenAI. It asks for a refund, and after that is done.
type model struct {
	server *http.Server
	addr   string
	asked  chan time.Time // when it was asked after a refund
}

func startModel() (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{addr: listener.Addr().String(), asked: make(chan time.Time, 1)}
	m.server = &http.Server{Handler: m}
	go m.server.Serve(listener)
	return m, nil
}

func (m *model) close() error { return m.server.Close() }

func (m *model) url() string { return "http://" + m.addr + "/v1" }

// ServeHTTP implements [http.Handler].
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body := new(strings.Builder)
	if _, err := io.Copy(body, r.Body); err != nil {
		return
	}
	refunded := served.Refunded(body.String())
	if refunded {
		select {
		case m.asked <- at:
		case <-r.Context().Done():
			return
		}
	}
	served.Reply(w, refunded)
}

// next returns when the model was asked.
func (m *model) next(ctx context.Context) (time.Time, error) {
	select {
	case at := <-m.asked:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}
