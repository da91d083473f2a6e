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

// FlagsFor say in this program's words what a refused decision should have been.
var FlagsFor = map[string]string{
	"unclear_decision": "; a yes is --approve and a no is --deny; dormouse approvals shows the flags that answer this call",
	"wrong_kind":       "; dormouse approvals shows the flags that answer this call",
}

// RefusedPlainly says why the server said no, and nothing of who may ask; see [app.refused].
func RefusedPlainly(p *client.Error) *Failure {
	detail := Refusal(p.Code, p.Detail, p.Winner) + FlagsFor[p.Code]
	if p.Code == "" { // a gateway's
		detail = fmt.Sprintf("HTTP %d: %s", p.Status, display.OneLine(cmp.Or(p.Message, p.Detail, p.Title, "it gave no reason")))
	}
	if p.RunID != "" {
		detail += "; the run is " + p.RunID
	}
	return Fail(refusedExit(p), cmp.Or(p.Code, "failed"), detail)
}

// refusedExit: what the server cannot read was given wrongly. A decision that only does not suit
// its call was refused.
func refusedExit(p *client.Error) int {
	if _, unsuited := FlagsFor[p.Code]; p.Status == http.StatusBadRequest && !unsuited {
		return ExitUsage
	}
	return ExitFailed
}

// Refusal is a refused decision in words, with the one that was first.
func Refusal(code, detail string, winner *wire.Winner) string {
	words := display.OneLine(cmp.Or(detail, code, "the server refused and gave no reason"))
	if winner != nil {
		words += fmt.Sprintf("; this call was %s%s%s, decision %s", winnerWords(winner), whoAndWhen(winner), display.InQuotes(cmp.Or(winner.Reason, winner.Error)), display.OneLine(winner.DecisionID))
	}
	return words
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

// winnerWords is what the first decision did, in words.
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
