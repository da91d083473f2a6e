package netguard

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/machine"
)

// TestAConnectionEndsWithARequestThatOpenedNoDoor: a host that says nothing to the TLS handshake
// would keep it otherwise.
func TestAConnectionEndsWithARequestThatOpenedNoDoor(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	dialled := make(chan struct{})
	g := New(Options{Clock: machine.Clock{}, Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
		close(dialled)
		return ours, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-dialled
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://93.184.215.14/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.RoundTrip(req); err == nil {
		t.Fatal("it was answered")
	}
	_ = theirs.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, theirs); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}
