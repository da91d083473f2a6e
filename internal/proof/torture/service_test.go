package torture_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

func serveLedger(t *testing.T) *torture.Service {
	t.Helper()
	s, err := torture.Serve(filepath.Join(t.TempDir(), "kept", "refunds.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// payment is a request to pay as bytes, after which a client would wait for the answer.
func payment(s *torture.Service, key string) []byte {
	body := `{"order":"A-17","amount":5}`
	return fmt.Appendf(nil, "POST /pay HTTP/1.1\r\nHost: %s\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", s.Host(), key, len(body), body)
}

func TestTheServiceWritesEveryPaymentDown(t *testing.T) {
	s := serveLedger(t)
	for range 2 { // it looks for no repeats
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Host()+"/pay", bytes.NewReader([]byte(`{"order":"A-17","amount":5}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "run_a_0/c1/1")
		got, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if string(said) != `{"order":"A-17","refunded":5}`+"\n" {
			t.Errorf("it answers %s", said)
		}
	}
	effects, err := torture.ReadLedger(s.Ledger)
	if err != nil || len(effects) != 2 || effects[1].Key != "run_a_0/c1/1" || string(effects[1].Arguments) != `{"amount":5,"order":"A-17"}` {
		t.Errorf("%+v, %v", effects, err)
	}
}

// A killed process leaves requests in the network that nobody waits for. After Settle the ledger
// has all of them.
func TestWhatAKilledProcessSentIsInTheLedgerOnceSettled(t *testing.T) {
	const killed = 50
	s := serveLedger(t)
	for n := range killed {
		c, err := net.Dial("tcp", s.Host())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(payment(s, fmt.Sprintf("run_a_0/c%d/1", n))); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	if effects, err := torture.ReadLedger(s.Ledger); err != nil || len(effects) != killed {
		t.Errorf("%d of %d payments are in the ledger: %v", len(effects), killed, err)
	}
}
