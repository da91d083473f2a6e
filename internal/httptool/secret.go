package httptool

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// secrets are the values of those that one call needs, by name.
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

// forms are the ways in which a secret may come back: as it is, or escaped for a query, a path or JSON. Longer ones come first, so that
// none is cut up by another.
func (s secrets) forms() (forms [][2]string) {
	for name, value := range s {
		word := "[secret " + name + "]"
		quoted, _ := json.Marshal(value) // text always has a JSON form
		bare := core.Encode(value)
		for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value), string(quoted[1 : len(quoted)-1]), string(bare[1 : len(bare)-1])} {
			forms = append(forms, [2]string{form, word})
		}
	}
	slices.SortFunc(forms, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	return forms
}

// redact puts the names of secrets in the place of their values.
func (s secrets) redact(text string) string {
	for _, f := range s.forms() {
		text = strings.ReplaceAll(text, f[0], f[1])
	}
	return text
}

// cutEnd drops the end of a text that was cut off if a secret may begin there.
func (s secrets) cutEnd(text string) string {
	longest := 0
	for _, f := range s.forms() {
		for n := min(len(f[0])-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, f[0][:n]) {
				longest = n
			}
		}
	}
	return text[:len(text)-longest]
}

func (s secrets) in(text string) bool {
	return slices.ContainsFunc(s.forms(), func(f [2]string) bool { return strings.Contains(text, f[0]) })
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
