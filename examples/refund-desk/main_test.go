package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
)

// The tests of the agent are in tests/refund-desk.yaml. They run the tools of the program.
func TestTheTestsOfTheAgentHold(t *testing.T) {
	var out, errs bytes.Buffer
	if code := command.Run(t.Context(), refunddesk.Program(), []string{"agents", "test", "."}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
}

// A tool is a function: a test can call it without a server.
func TestARefundIsALineInTheLedger(t *testing.T) {
	data := t.TempDir()
	opened, err := refunddesk.Program().Open(data)
	if err != nil {
		t.Fatal(err)
	}
	call := dormouse.Call{Key: "k1", Arguments: json.RawMessage(`{"order":"A-17","amount":20}`)}
	if _, err := opened.Tools[0].Run(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	entries, err := refunddesk.Ledger{Path: filepath.Join(data, refunddesk.LedgerFile)}.Entries()
	if want := (refunddesk.Entry{Key: "k1", Order: "A-17", Amount: 20}); err != nil || len(entries) != 1 || entries[0] != want {
		t.Errorf("the ledger holds %v, %v", entries, err)
	}
}
