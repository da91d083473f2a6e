package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"math"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// A call of an agent starts a child: another run, on a thread of its own, that works for the call
// while the parent waits.
//
//	parent   suspend ── launch ─┐ waits ······················· drain ── the call's result
//	child                       └ start ── check ── … ── end ── tell ┘

// Parent is the suspended call of another run that a run works for.
type Parent struct {
	Thread string `json:"t"`
	Run    string `json:"r"`
	Call   string `json:"c"`
	Sus    string `json:"s"`
	Depth  int    `json:"d"` // how many runs are above: 1 for the child of a root
	// the depth that no run below may exceed: the least that an agent above allows
	Deepest int  `json:"m,omitempty"`
	Final   bool `json:"f,omitempty"` // the parent wants the last text, see [ChildSpec]
}

// Family is what a run knows of the runs above and below it.
type Family struct {
	Parent   *Parent `json:"pa,omitempty"`  // nil: the run is a root
	Children int     `json:"chn,omitempty"` // how many it has started
	// what the run and everything below it may cost, in millionths of a dollar; 0: the parent
	// set no limit
	Allowance int64     `json:"alw,omitempty"`
	Below     TreeUsage `json:"bel,omitzero"` // of the children that have ended, and theirs
	// the run's work is done by an agent elsewhere; nil: by this program
	Peer *peer.Work `json:"peer,omitempty"`
}

// TreeUsage is what a run and the runs below it have used.
type TreeUsage struct {
	Runs         int   `json:"n,omitempty"`
	InputTokens  int64 `json:"i,omitempty"`
	OutputTokens int64 `json:"o,omitempty"`
	Cost         int64 `json:"c,omitempty"` // millionths of a dollar
	Unpriced     bool  `json:"u,omitempty"` // the cost of some answer is not known
	// the agent that got such an answer; empty in what an older program wrote
	UnpricedAgent string `json:"a,omitempty"`
	// the allowances of children that were given up: it is not known what they spent of them
	Forfeited int64 `json:"f,omitempty"`
}

// Plus is the sum of both. It does not overflow.
func (u TreeUsage) Plus(v TreeUsage) TreeUsage {
	add := func(a, b int64) int64 { return min(a+min(max(b, 0), math.MaxInt64/4), math.MaxInt64/4) }
	return TreeUsage{Runs: u.Runs + v.Runs, InputTokens: add(u.InputTokens, v.InputTokens), OutputTokens: add(u.OutputTokens, v.OutputTokens),
		Cost: add(u.Cost, v.Cost), Unpriced: u.Unpriced || v.Unpriced, UnpricedAgent: cmp.Or(u.UnpricedAgent, v.UnpricedAgent),
		Forfeited: add(u.Forfeited, v.Forfeited)}
}

// Tree is what the run has used, together with the runs below it that have ended.
func (r Record) Tree() TreeUsage {
	own := TreeUsage{Runs: 1, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Cost: r.Cost, Unpriced: r.Step > 0 && !r.Priced}
	if own.Unpriced {
		own.UnpricedAgent = r.Agent
	}
	return own.Plus(r.Below)
}

// SchemaOf is the form in which a head is stored: the oldest that has what is in it and in its
// journal.
func SchemaOf(h Head) int {
	if h.Seq > 0 {
		return SchemaPacked
	}
	return LeastSchema(h)
}

// LeastSchema is the oldest form that has what is in a head. Its journal may take a newer one.
func LeastSchema(h Head) int {
	if h.knowsHolds() {
		return SchemaHold
	}
	if h.Supplied != "" {
		return SchemaSupplied
	}
	if h.Parent != nil || h.Children > 0 {
		return SchemaFamily
	}
	return SchemaAlone
}

func (h Head) knowsHolds() bool {
	for _, c := range h.Calls {
		if c.Withdrawn != "" {
			return true
		}
	}
	for _, s := range h.Inbox {
		if s.Hold != 0 {
			return true
		}
	}
	return false
}

// ChildThread is the thread of the child that works for a suspension. So a launch that is repeated
// names the same child, and the parent needs no list of its children.
func ChildThread(tenant, parent, suspension string) string {
	sum := sha256.Sum256([]byte("child\x00" + tenant + "\x00" + parent + "\x00" + suspension))
	return ThreadID(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26])
}

// ChildRun is the run of the child that works for a suspension.
func ChildRun(tenant, parent, suspension string) string {
	return RunID(ChildThread(tenant, parent, suspension), 0)
}

// WaitsFor says whether the head still waits for exactly this child.
func (h Head) WaitsFor(p Parent) bool {
	return h.Run == p.Run && h.End == nil && h.Open() && h.Calls[p.Call].Kind == KindChild && h.Calls[p.Call].WaitsOn(p.Sus)
}

// ChildSpec is what a call of an agent asks for, as the definition says it.
type ChildSpec struct {
	Agent string
	// the agent runs elsewhere: the tool that says where; empty: in this program
	Remote string
	Input  string // the child's first message
	Final  bool   // the result is the last text, also of a child that finished with an output
}

// Child is the child of a suspended call, as the suspension pins it: a launch that is repeated
// after a deployment starts the same.
type Child struct {
	Agent string `json:"agent"`
	// the agent runs elsewhere, and Version is that of the caller, whose tool Agent says where
	Remote bool `json:"remote,omitempty"`
	// of a remote one: see [peer.Work]
	Once      bool   `json:"once,omitempty"`
	Version   string `json:"version"`
	Run       string `json:"run_id"`
	Thread    string `json:"thread_id"`
	Input     string `json:"input"`
	Final     bool   `json:"final,omitempty"`
	Depth     int    `json:"depth"`
	Deepest   int    `json:"max_depth"`
	Allowance int64  `json:"allowance,omitempty"` // see [Family]
}

// ChildResult is how a child ended: what its parent learns.
type ChildResult struct {
	Outcome CallOutcome `json:"outcome"`
	Code    string      `json:"code,omitempty"` // the child's own
	Detail  string      `json:"detail,omitempty"`
	// the result of a child that succeeded; absent if it left none
	Value json.RawMessage `json:"value,omitempty"`
	Usage TreeUsage       `json:"usage,omitzero"`
}

// ChildOutcome is what the end of a child means for the call that waits for it.
func ChildOutcome(r Reason) CallOutcome {
	switch r.Kind {
	case NaturalEnd:
		return CallOutcomeSucceeded
	case Stopped, BehaviorRequested:
		return CallOutcomeChildStopped
	case Blocked:
		return CallOutcomeChildBlocked
	case Cancelled:
		return CallOutcomeChildCancelled
	}
	return CallOutcomeChildFailed
}

// OutputIn is what a run that came to its natural end leaves: the value that it finished with, or
// the text of its last assistant turn, which final asks for in any case. Nil if there is none.
func OutputIn(segments []Segment, run, finish string, final bool) (output json.RawMessage) {
	for _, m := range Messages(segments) {
		if m.Role != RoleAssistant || m.RunID != run {
			continue
		}
		if text := m.Text(); text != "" && (final || finish == "") {
			output = Encode(text)
		}
		if value := m.ResultValue(); value != nil && !final {
			output = value
		}
		for _, call := range m.Calls {
			var arguments struct {
				Output json.RawMessage `json:"output"`
			}
			// it ran, so it can be read
			if call.ID == finish && !final && json.Unmarshal(call.Arguments, &arguments) == nil {
				output = arguments.Output
			}
		}
	}
	return output
}

// Interrupt is the interrupt that the run is paused by, see [Call.Interrupt]; empty if it is not.
func (h Head) Interrupt() string {
	for _, c := range h.Calls {
		if c.Kind == KindInterrupt && c.Status == CallSuspended {
			return c.Interrupt()
		}
	}
	return ""
}
