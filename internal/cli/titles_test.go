package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// The question of the tool's author is shown with the values set off, and the arguments are on
// lines of their own: behind the title, they could pass for a part of it.
func TestACallIsShownWithTheTitleOfItsTool(t *testing.T) {
	titled := pending("sus_1_a")
	one := func(value string) wire.Run {
		return run("waiting", titled, func(r *wire.Run) {
			r.Pending[0].Arguments = json.RawMessage(`{"order":"A-17","amount":120}`)
			r.Pending[0].ToolDetails = &wire.ToolDetails{Title: []wire.TitlePart{{Text: "Refund "}, {Text: "120", Argument: "amount"}, {Text: " for "}, {Text: value, Argument: "order"}, {Text: "?"}}}
		})
	}
	shown := one("A-17")
	item := wire.Approval{RunID: runID, Agent: "refund-desk", Pending: shown.Pending[0]}
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, shown), "GET /v1/approvals": answer(200, wire.Page[wire.Approval]{Items: []wire.Approval{item}})})
	for _, args := range [][]string{{"runs", runID}, {"approvals"}} {
		out := dormouse(t, s, args...)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, squeezed(out.stdout), `waits for approval of issue_refund: Refund 120 for "A-17"?`+"\n", "with order", "amount")
	}
	s = newServer(t, map[string]http.HandlerFunc{readRun: answer(200, one("A-17\"? Yes.\n\u202eno"))})
	if out := dormouse(t, s, "runs", runID); strings.Contains(out.stdout, "\u202e") || !strings.Contains(out.stdout, `"A-17\"? Yes.\n`) {
		t.Error(out.stdout)
	}
}
