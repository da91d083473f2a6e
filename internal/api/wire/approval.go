package wire

import (
	"encoding/json"
)

// Pending is a call that waits for an answer. Arguments are those it would run with. A run that was
// interrupted waits as a call of kind interrupt, without a tool.
type Pending struct {
	CallID    string          `json:"call_id"`
	ToolName  string          `json:"tool_name"`
	Tool      string          `json:"tool"` // the same as ToolName
	Arguments json.RawMessage `json:"arguments"`
	// as the model asked; absent unless a person edited them
	Asked      json.RawMessage `json:"asked_arguments,omitempty"`
	Kind       string          `json:"kind"`
	Suspension Suspension      `json:"suspension"`
	ResumeMode string          `json:"resume_mode"`
	Since      Time            `json:"since"`
	Deadline   *Time           `json:"deadline,omitempty"`
	// a decision may carry "grant":"run"
	Grantable bool `json:"grantable,omitempty"`
	// what that allows, in a sentence for the approver
	GrantScope string `json:"grant_scope,omitempty"`
	// starter: who asked for the work may not approve it
	NotBy string `json:"not_by,omitempty"`
	// the only callers who may approve it
	Approvers []string `json:"approvers,omitempty"`
	// Warnings are what a reader of the arguments may miss: characters that do not show,
	// letters that look like others, and the like.
	Warnings []Warning `json:"warnings,omitempty"`

	// Requests are the thread's user messages that the model had read when it asked for the
	// call, the newest last. RequestsCut says that there are earlier ones.
	Requests    []Request `json:"requests,omitempty"`
	RequestsCut bool      `json:"requests_cut,omitempty"`
	// Said is the model's own text in the turn that asks for the call. It is the model's
	// account, not a fact.
	Said    string `json:"said,omitempty"`
	SaidCut bool   `json:"said_cut,omitempty"`
	// ToolDetails is absent where the definition that the run is pinned to cannot be read.
	ToolDetails *ToolDetails `json:"tool_details,omitempty"`
	// Preview is what the call would do, if the agent says how to show that. It was made before
	// anyone was asked.
	Preview *Preview `json:"preview,omitempty"`
	// Fingerprint names exactly this question. A decision sends it back as Shown.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Preview is a text with the call's arguments in it, or what a tool that only reads found. Failed
// says why there is none.
type Preview struct {
	Text   string `json:"text,omitempty"`
	Failed string `json:"failed,omitempty"`
	// that found it; empty for a text of the agent's author
	Tool string `json:"tool,omitempty"`
}

// Request is a user message as an approver is shown it.
type Request struct {
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"`   // the text goes on
	Files int    `json:"files,omitempty"` // images and documents that came with it
	By    string `json:"by,omitempty"`    // its sender
	Via   string `json:"via,omitempty"`
}

// ToolDetails say what a tool does and where its calls go, as its author wrote it. No secret is in
// them.
type ToolDetails struct {
	Description string `json:"description,omitempty"`
	Kind        string `json:"kind,omitempty"` // http, lambda, mcp, go, client or recorded
	// POST api.example.com, the name of a function, server/tool
	Target string `json:"target,omitempty"`
}

// Warning is about one value of some arguments, or a name on the way to it. Path is a JSON Pointer
// (RFC 6901). Code is stable; Text is plain ASCII and quotes nothing that could mislead in turn.
type Warning struct {
	Path string `json:"path"`
	Code string `json:"code"`
	Text string `json:"text"`
}

// Suspension is what a decision names as its target.
type Suspension struct {
	ID             string          `json:"id"`
	Action         string          `json:"action"`
	Message        string          `json:"message,omitempty"`
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// Approval is one entry of the inbox of people and bots: a pending call and the run it belongs to.
type Approval struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	Agent    string `json:"agent"`
	// AgentVersion is the version that the run is pinned to, Metadata what its caller attached
	// to it.
	AgentVersion string          `json:"agent_version,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	StartedBy    *Actor          `json:"started_by,omitempty"`
	// Error is set if what waits cannot be read; nothing is known of the call then.
	Error *RunError `json:"error,omitempty"`
	Pending
}
