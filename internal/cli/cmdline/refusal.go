package cmdline

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// FlagsFor say which flags a refused decision should have used.
var FlagsFor = map[string]string{
	"unclear_decision": "; use --approve or --deny; dormouse approvals shows the flags for this call",
	"wrong_kind":       "; dormouse approvals shows the flags for this call",

	"decision_withdrawn": " with --id",
}

// RefusedPlainly says why the server refused, without advice for the caller; see [App.Refused].
func RefusedPlainly(p *client.Error) *Failure {
	detail := Refusal(p.Code, p.Detail, p.Winner) + FlagsFor[p.Code]
	if p.Code == "" { // a gateway's
		detail = fmt.Sprintf("HTTP %d: %s", p.Status, display.OneLine(cmp.Or(p.Message, p.Detail, p.Title, "no reason given")))
	}
	if p.RunID != "" {
		detail += "; the run is " + p.RunID
	}
	return Fail(refusedExit(p), cmp.Or(p.Code, "failed"), detail)
}

// refusedExit is a usage error for a request that the server can't read. A decision that only
// doesn't match its call was refused.
func refusedExit(p *client.Error) int {
	if _, unsuited := FlagsFor[p.Code]; p.Status == http.StatusBadRequest && !unsuited {
		return ExitUsage
	}
	return ExitFailed
}

// Refusal describes why a decision was refused: by the decision that won, if there is one.
func Refusal(code, detail string, winner *wire.Winner) string {
	if winner != nil {
		return fmt.Sprintf("already %s%s%s, decision %s", winnerWords(winner), whoAndWhen(winner), display.InQuotes(cmp.Or(winner.Reason, winner.Error)), display.OneLine(winner.DecisionID))
	}
	return display.OneLine(cmp.Or(detail, code, "the server refused without a reason"))
}

// whoAndWhen is " by token:anna at 2026-11-22 11:19:03Z", as far as the server says it.
func whoAndWhen(winner *wire.Winner) (words string) {
	if winner.By != "" {
		words = " by " + display.OneLine(winner.By)
	}
	if winner.At != nil {
		words += " at " + display.Clock(*winner.At)
	}
	return words
}

// winnerWords is what the winning decision did.
func winnerWords(winner *wire.Winner) string {
	switch {
	case winner.Error != "":
		return "answered with an error"
	case winner.Action == "cancel":
		return "denied"
	case !core.IsNull(winner.Result):
		return "answered with a result"
	}
	return "approved"
}
