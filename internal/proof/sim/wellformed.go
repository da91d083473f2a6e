package sim

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Malformed says what is wrong with a transcript that a model is sent, "" if nothing is: each call
// has its one result directly behind its turn, in call order, and no result is without its call
// (I-7). With placeholders, a result may be one that says it will follow.
func Malformed(messages []core.Message, placeholders bool) string {
	var open []string
	for _, m := range messages {
		if m.Role == core.RoleTool {
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Sprintf("a result for %q where %v are open", m.CallID, open)
			}
			if m.Pending && !placeholders {
				return fmt.Sprintf("a placeholder for %q", m.CallID)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("calls %v have no result before the next message", open)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("calls %v have no result", open)
	}
	return ""
}
