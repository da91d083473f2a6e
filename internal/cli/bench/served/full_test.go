package served_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
)

func TestAFullDiskEndsABenchmark(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"status":"ok","version":"1","storage":"full"}`)
	}))
	defer server.Close()
	ctx, stop := served.UntilFull(t.Context(), client.New(server.URL, client.WithRetries(0)))
	defer stop()
	<-ctx.Done()
	if err := served.Why(ctx, ctx.Err()); !errors.Is(err, served.ErrFull) {
		t.Errorf("the benchmark ended with %v", err)
	}
	if err := served.Why(ctx, nil); err != nil {
		t.Errorf("a measurement that was made ended with %v", err)
	}
}
