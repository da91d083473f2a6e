package agent

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Callee is another agent that a tool calls: each call starts a run of it and waits for its end.
// Exactly one of Name and A2A says which one.
type Callee struct {
	Name string `json:"name,omitempty"`
	A2A  *A2A   `json:"a2a,omitempty"`
	// the run's first message, with {placeholders} for arguments; empty: the arguments as JSON
	Input string `json:"input,omitempty"`
	// the result is the run's last text, even if it finished with an output
	Final bool `json:"final,omitempty"`
}

// The members of a tool that name the agent that it calls.
const (
	kindAgent = "agent"
	kindA2A   = "a2a"
)

// Kind is the member of the tool that names the agent: "agent", or "a2a" if it runs elsewhere.
func (c Callee) Kind() string {
	if c.A2A != nil {
		return kindA2A
	}
	return kindAgent
}

// A2A is an agent elsewhere that speaks A2A 1.0. {secret:NAME} in a header is a secret.
type A2A struct {
	// its agent card, or where /.well-known/agent-card.json is
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers,omitempty"`
	AllowPrivate bool              `json:"allow_private,omitempty"`
	Timeout      int64             `json:"timeout,omitempty"` // ms of one request; 0: 30 s
	MaxBytes     int64             `json:"max_bytes,omitempty"`
}

// Limit is as for [Lambda].
func (a A2A) Limit() time.Duration { return limitOf(a.Timeout) }

// Most is as for [Lambda].
func (a A2A) Most() int64 { return mostOf(a.MaxBytes) }

// Host is where its card is, with the port if that is not the usual one. It is empty if the stored
// URL cannot be read: calls fail then.
func (a A2A) Host() string {
	u, err := url.Parse(a.URL)
	if err != nil {
		return ""
	}
	return shownHost(u.Scheme, u.Host)
}

// Child implements [core.Rules].
func (r *Rules) Child(call core.ToolCall) (core.ChildSpec, bool) {
	t, ok := r.tools[call.Name]
	if !ok || t.callee == nil {
		return core.ChildSpec{}, false
	}
	child := core.ChildSpec{Agent: t.callee.Name, Input: t.callee.message(call), Final: t.callee.Final}
	if t.callee.A2A != nil {
		child.Agent, child.Remote = call.Name, call.Name
	}
	return child, true
}

// Inserted are the arguments that the input takes, whole or in part. A stored input that cannot be
// read takes all.
func (c Callee) Inserted() (names []string, all bool) {
	template, err := placeholder.Read(c.Input)
	if c.Input == "" || err != nil {
		return nil, true
	}
	for _, name := range template.Arguments() {
		first, _, _ := strings.Cut(name, ".")
		names = AddName(AddName(names, name), first)
	}
	slices.Sort(names)
	return names, false
}

// checkInserted refuses an argument that the input would omit, as [HTTP.checkSent] does.
func (c Callee) checkInserted(raw json.RawMessage) error {
	names, all := c.Inserted()
	if all {
		return nil
	}
	return checkUsed(raw, names)
}

// message is the first message of the run that a call starts.
func (c Callee) message(call core.ToolCall) string {
	if c.Input == "" {
		return string(call.Arguments)
	}
	template, err := placeholder.Read(c.Input)
	if err != nil {
		return string(call.Arguments) // it was checked when it was loaded
	}
	return previewOf(template, readArguments(call.Arguments))
}
