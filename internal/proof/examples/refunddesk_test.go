package examples

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

func desk(t *testing.T) (*tool.Registry, refunddesk.Ledger) {
	t.Helper()
	// not made yet: a refund may come before anything else needs it
	dir := filepath.Join(t.TempDir(), "data")
	r, _ := have(t, refunddesk.Program(), dir)
	return r, refunddesk.Ledger{Path: filepath.Join(dir, refunddesk.LedgerFile)}
}

func call(t *testing.T, r *tool.Registry, name, key, arguments string) core.Outcome {
	t.Helper()
	f, ok := r.Lookup("refund_desk." + name)
	if !ok {
		t.Fatalf("%s is not registered", name)
	}
	out, err := f.Run(t.Context(), engine.ToolRequest{Call: core.ToolCall{ID: "c1", Name: name, Arguments: json.RawMessage(arguments)}, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTools(t *testing.T) {
	tests := []struct {
		name, tool, arguments string
		want                  core.Outcome
	}{
		{"an order is found", "lookup_order", `{"order":"A-17"}`,
			core.Outcome{Text: `{"order":"A-17","item":"espresso machine","amount":120}`, Value: []byte(`{"order":"A-17","item":"espresso machine","amount":120}`)}},
		{"an unknown order is said to be unknown", "lookup_order", `{"order":"Z-99"}`,
			core.Outcome{Text: "there is no order Z-99", Failed: true}},
		{"a part is refunded", "issue_refund", `{"order":"A-17","amount":20}`, core.Outcome{Text: `{"order":"A-17","refunded":20}`, Value: []byte(`{"order":"A-17","refunded":20}`)}},
		{"more than the price is refused", "issue_refund", `{"order":"B-02","amount":41}`,
			core.Outcome{Text: "order B-02 cost 40; a refund of 41 is not possible", Failed: true}},
		{"an unknown order is not refunded", "issue_refund", `{"order":"Z-99","amount":1}`,
			core.Outcome{Text: "there is no order Z-99", Failed: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, ledger := desk(t)
			if diff := cmp.Diff(tt.want, call(t, r, tt.tool, "k", tt.arguments)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			entries, err := ledger.Entries()
			paid := strings.Contains(tt.want.Text, "refunded")
			if err != nil || (len(entries) == 1) != paid {
				t.Errorf("ledger: %v, %v", entries, err)
			}
		})
	}
}

func TestLedgerKeepsEveryRefundWithItsKey(t *testing.T) {
	r, ledger := desk(t)
	call(t, r, "issue_refund", "k1", `{"order":"A-17","amount":120}`)
	call(t, r, "issue_refund", "k1", `{"order":"A-17","amount":120}`)
	got, err := ledger.Entries()
	if err != nil {
		t.Fatal(err)
	}
	twice := refunddesk.Entry{Key: "k1", Order: "A-17", Amount: 120}
	if diff := cmp.Diff([]refunddesk.Entry{twice, twice}, got); diff != "" {
		t.Errorf("a repeat must be visible (-want +got):\n%s", diff)
	}
}

func TestRefundsRunAtMostOnce(t *testing.T) {
	r, _ := desk(t)
	if got := r.Specs()["refund_desk.issue_refund"].Delivery; got != core.AtMostOnce {
		t.Errorf("delivery %v", got)
	}
}
