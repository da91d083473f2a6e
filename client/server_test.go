package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// refundDesk is a server with one agent, for the examples. Like an httptest.Server it listens on a
// loopback address.
type refundDesk struct {
	URL   string
	Close func()
}

// newRefundDesk starts a server whose agent issues refunds, and asks for approval above $100.
func newRefundDesk() refundDesk {
	type refund struct {
		Order  string `json:"order"`
		Amount int    `json:"amount"`
	}
	tools := tool.NewRegistry(nil)
	err := tools.Register(tool.Func("desk.refund", "Issues a refund.", func(_ context.Context, _ tool.Call, r refund) (any, error) {
		return fmt.Sprintf("Refunded $%d for order %s.", r.Amount, r.Order), nil
	}))
	must(err)
	data, err := os.MkdirTemp("", "")
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	s, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: data, Agents: "testdata/agents", Tools: tools, Version: "v1.0.0",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	must(err)
	return refundDesk{"http://" + s.Addr(), func() {
		stop()
		must(s.Wait())
		must(os.RemoveAll(data))
	}}
}

// must ends an example that cannot go on.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
