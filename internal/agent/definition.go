// Package agent holds agents as data: the definition of one in the canonical form that a run is
// pinned to, its rules about calls, and what layers of permissions make of them. It knows no file
// and no YAML; package agentfile reads those.
package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Definition is one version of an agent, complete: two definitions with one digest behave alike.
// What is not said in a file has its zero value here and does not appear in the canonical form, so
// that a file from before there was more to say keeps its digest.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// that may use it; none: the one that deploys it
	Tenants []string `json:"tenants,omitempty"`
	// callers who may start runs and send messages; none: every caller who may start
	Starters []string `json:"starters,omitempty"`
	// callers who may say that a call runs; none: every caller who may decide
	Approvers []string `json:"approvers,omitempty"`
	// what starts may supply, of [supplied.Acceptable]; none: nothing
	Accepts []string `json:"accepts,omitempty"`
	// who decides about calls whose rules don't say it; nil: the approvers, each alone
	Approval     *vote.Policy `json:"approval,omitempty"`
	Model        Model        `json:"model"`
	Instructions string       `json:"instructions,omitempty"`
	Tools        []Tool       `json:"tools,omitempty"`
	Permissions  Permissions  `json:"permissions"`

	// the calls of a round run side by side
	Parallel bool `json:"parallel,omitempty"`
	// the model goes on while calls wait
	Continue bool `json:"continue,omitempty"`
	// [YieldToNewer], or empty: it does not yield
	YieldWhen string `json:"yield_when,omitempty"`
	// in the order they are asked
	Stop   []stoprule.Spec `json:"stop,omitempty"`
	Budget Budget          `json:"budget,omitzero"`
	// of waits, by their kind: approval, client and input
	Deadlines map[core.Kind]Deadline `json:"deadlines,omitempty"`
	// nil: the agent has no such tool
	Finish *Finish `json:"finish,omitempty"`
	// the names they are registered under
	Hooks []string `json:"hooks,omitempty"`
	// the name it is registered under
	Memory  string            `json:"memory,omitempty"`
	Effects []Effect          `json:"effects,omitempty"`
	Servers map[string]Server `json:"servers,omitempty"` // MCP servers that tools name
	// bytes of a tool's result that are kept; 0: as many as by default
	Results int64 `json:"results,omitempty"`
	Tree
	// who is notified of its runs
	Notify []notice.Target `json:"notify,omitempty"`
}

// Tree bounds the runs that a run starts: how many may be above a child, and how many children it
// may start. 0: see [core.DefaultDepth].
type Tree struct {
	MaxDepth    int `json:"max_depth,omitempty"`
	MaxChildren int `json:"max_children,omitempty"`
}

// YieldToNewer is the [Definition.YieldWhen] of an agent whose runs make way for newer ones that
// wait for a worker.
const YieldToNewer = "newer_run_waits"

// The providers of a model.
const (
	ProviderScripted = "scripted"
	ProviderRecorded = "recorded"
	ProviderBedrock  = "bedrock"
	ProviderOpenAI   = "openai" // any endpoint that speaks its chat completions
)

// Turn is one rule of a script: the answer, and what must hold for it.
type Turn struct {
	Given Given        `json:"given"`
	Say   string       `json:"say,omitempty"`
	Calls []ScriptCall `json:"calls,omitempty"`
}

// Given are the conditions of a [Turn]; those that are not set hold. Package scripted says what
// each is held against.
type Given struct {
	User     string `json:"user,omitempty"`      // regular expression
	Tool     string `json:"tool,omitempty"`      // name
	Result   string `json:"result,omitempty"`    // regular expression
	Step     int    `json:"step,omitempty"`      // counted from 1
	NoResult bool   `json:"no_result,omitempty"` // no tool has answered since the user spoke
}

// ScriptCall is a call a scripted model makes. ID may be empty.
type ScriptCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	ID        string          `json:"id,omitempty"`
}

// Tool is one tool of an agent. Exactly one of Go, HTTP, Lambda, MCP, Agent, Client and Recorded
// says who runs it.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// the name a function was registered under
	Go       string   `json:"go,omitempty"`
	HTTP     *HTTP    `json:"http,omitempty"`
	Lambda   *Lambda  `json:"lambda,omitempty"`
	MCP      *MCP     `json:"mcp,omitempty"`
	Agent    *Callee  `json:"agent,omitempty"`
	Client   bool     `json:"client,omitempty"`
	Recorded []Answer `json:"recorded,omitempty"`
	// JSON Schema; of a Go function the function's own counts
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// of a client tool: JSON Schema of what the client answers
	Result   json.RawMessage `json:"result,omitempty"`
	Delivery core.Delivery   `json:"delivery,omitempty"`
	// may run twice even when a person was asked
	Idempotent bool `json:"idempotent,omitempty"`
	ReadOnly   bool `json:"read_only,omitempty"` // changes nothing in the world
	// of every wait of its calls, in place of the agent's
	Deadline *Deadline `json:"deadline,omitempty"`
	// of questions about its calls, as package title reads it; empty: they have its name
	Title string `json:"title,omitempty"`
	// nil: approvers see the arguments alone
	Preview *Preview `json:"preview,omitempty"`

	// by the start of the run, see [Definition.With]; not a part of the definition
	Supplied bool `json:"-"`
}

// Digest names this version: "sha256:" and the hash of its canonical JSON.
func (d Definition) Digest() string { return "sha256:" + core.Digest(d.Encode()) }

// Encode is the definition's canonical JSON, which [Decode] reads.
func (d Definition) Encode() json.RawMessage {
	raw, err := core.Canonical(core.Encode(d))
	if err != nil {
		panic(fmt.Sprintf("agent: a definition is always JSON: %v", err))
	}
	return raw
}

// Decode reads what [Definition.Encode] wrote. A member it does not know is refused: a version that
// says more than this program understands must not run with less.
func Decode(raw []byte) (Definition, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var d Definition
	if err := dec.Decode(&d); err != nil {
		return Definition{}, fmt.Errorf("agent: reading a stored definition: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Definition{}, fmt.Errorf("agent: something follows the stored definition")
	}
	if !AgentName.MatchString(d.Name) {
		return Definition{}, fmt.Errorf("agent: %q is no agent name", d.Name)
	}
	return d, nil
}

// GroupName is the form of the names of groups of approvers, of people in them, and of policies.
var (
	AgentName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	GroupName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	ToolName  = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)
	ToolGlob  = lazyregexp.New(`^[a-zA-Z0-9_*-]{1,64}$`)
)

// AllTenants in [Definition.Tenants] makes an agent one that every tenant may use.
const AllTenants = "*"

// MayBeUsedBy says whether runs of a tenant may start with this definition; home is the tenant that
// deploys it.
func (d Definition) MayBeUsedBy(tenant, home string) bool {
	if len(d.Tenants) == 0 {
		return tenant == home
	}
	return slices.Contains(d.Tenants, AllTenants) || slices.Contains(d.Tenants, tenant)
}

// DefaultRounds is the max_rounds of an agent whose file does not say it.
const DefaultRounds = 50

// BoundRounds writes the default down as a rule of this version, behind the file's own. So a run
// keeps the bound of the version that it is pinned to: one that was stored before there was a
// default has none.
func (d *Definition) BoundRounds() {
	own := func(spec stoprule.Spec) bool { return spec.Type == "max_rounds" }
	if !slices.ContainsFunc(d.Stop, own) {
		d.Stop = append(d.Stop, stoprule.Spec{Type: "max_rounds", Rounds: DefaultRounds})
	}
}

// Unbounded says whether no stop rule bounds the steps, the tokens or the time of a run.
func (d Definition) Unbounded() bool {
	return !slices.ContainsFunc(d.Stop, func(s stoprule.Spec) bool { return s.Rounds > 0 || s.MaxTotal > 0 || s.Seconds > 0 })
}
