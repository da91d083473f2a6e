package runview

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// mostAlike is how many bytes of arguments and preview a question has at most that is answered
// together with others: so much can be read in one row of a table.
const mostAlike = 4 << 10

// Alike identifies what several questions have in common that one reader may answer at once: the
// version of the agent, the tool, and the rule that asks. It is empty for a question that has to be
// answered by itself; why says the reason. Once a question is asked, only an
// escalation changes it; so a repeated answer is judged like the first.
func Alike(agent, version string, c core.SuspendedCall) (alike, why string) {
	if why = bySelf(agent, c); why != "" {
		return "", why
	}
	parts := []string{agent, version, c.ToolName, c.Suspension.Action, c.Suspension.Message, c.NotBy, strconv.FormatBool(c.Grantable)}
	if c.Policy != nil {
		parts = append(parts, "policy", c.Policy.Digest(), strconv.Itoa(c.Stage))
	} else {
		parts = append(append(parts, "approvers"), c.Approvers...)
	}
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return "alike_" + core.Digest([]byte(text.String()))[:24], ""
}

// bySelf says why a question is not answered together with others.
func bySelf(agent string, c core.SuspendedCall) string {
	switch p := c.SuspendTicket.Preview; {
	case c.Kind != core.KindApproval || c.ToolName == "" || agent == ask.Agent:
		return "it doesn't ask whether a call of a tool may run"
	case c.Mode() != core.ReplayToolCall || c.Suspension.Declares():
		return "its answer may be more than yes or no"
	case c.Counted():
		return "several people decide about it"
	case c.Follows != "" || string(c.Arguments) != string(c.Pending.Arguments):
		return "it follows an earlier question"
	case p != nil && p.Failed != "":
		return "its preview failed"
	case p != nil && len(p.Text)+len(c.Pending.Arguments) > mostAlike || len(c.Pending.Arguments) > mostAlike:
		return "its values are too long for a table"
	case !printable.Harmless(c.Pending.Arguments):
		return "its values have a warning"
	case p != nil && len(printable.Spell(p.Text).Warnings) > 0:
		return "its preview has unusual characters"
	}
	return ""
}
