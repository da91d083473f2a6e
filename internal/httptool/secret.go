package httptool

import (
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// secrets are the values of those that one call needs, by name. None is empty.
type secrets map[string]string

// secrets looks the values up, anew for every call, so that a changed one counts without a restart where it can change.
func (r *request) secrets() (secrets, error) {
	found := secrets{}
	for _, name := range (agent.Definition{Tools: []agent.Tool{r.tool}}).Secrets() {
		value, ok := r.caller.o.Secret(name)
		if !ok || value == "" {
			return nil, fmt.Errorf("the secret %s is not set where the agents are served", name)
		}
		if !plain(value) {
			return nil, fmt.Errorf("the secret %s cannot be sent: it holds a line break, or is no plain ASCII text", name)
		}
		found[name] = value
	}
	return found, nil
}

// clean makes an outcome fit to be stored and shown.
func (s secrets) clean(out core.Outcome) core.Outcome {
	out.Text = strings.ToValidUTF8(s.redact(out.Text), "\uFFFD")
	if out.Ticket != nil {
		ticket := *out.Ticket
		ticket.Suspension.Message = strings.ToValidUTF8(s.redact(ticket.Suspension.Message), "\uFFFD")
		out.Ticket = &ticket
	}
	return out
}
