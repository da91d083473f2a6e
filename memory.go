package dormouse

import "context"

// Effect runs after each successful call of the tools that the agent file lists for it. It doesn't
// run for tools that are [ReadOnly], or that a request supplied.
//
//	effects:
//	  - {name: ledger, tools: [issue_refund], go: shop.ledger}
//
// After a crash it may run twice for one call; use the ID of [Done.Call] to detect that. An error
// is journaled and fails neither the call nor the run.
type Effect struct {
	Name string

	// Run returns text that the model sees after the result of the call; an empty text adds
	// nothing. The first 8 KiB are kept.
	Run func(ctx context.Context, done Done) (text string, err error)
}

// Done is a call that succeeded, as an [Effect] sees it.
type Done struct {
	Tenant, Thread, Run string
	Call                ToolCall // with the arguments that the tool ran with
	Result              string
	State               State
}

// Memory carries knowledge from one run of an agent to the next, if the agent file names it. It is
// best effort: if a function returns an error or takes more than 10 seconds, that is journaled and
// the run continues without it. A caller can start a run without memory; neither function is called
// for it.
//
//	memory: shop.customers
type Memory struct {
	Name string

	// Recall is called before the first step of a run. Its text becomes part of the
	// conversation, where the model sees it; an empty text adds nothing. Nil recalls nothing.
	Recall func(ctx context.Context, c Conversation) (string, error)

	// Commit is called after a run that ended naturally. It may be called twice for one run, so
	// store under the id of the run. Nil stores nothing.
	Commit func(ctx context.Context, c Conversation) error
}

// Conversation is a run with all messages of its thread so far.
type Conversation struct {
	Tenant, Thread, Run, Agent string
	Messages                   []Message
}

// Message is one message of a conversation. The text of users, models and tools is untrusted.
type Message struct {
	Role  Role
	Run   string // the run that the message belongs to
	Text  string
	Calls []ToolCall // for RoleAssistant

	// For RoleTool: the call that this is the result of, and whether that call failed.
	Tool, CallID string
	Failed       bool
}

// Role says who wrote a message.
type Role string

const (
	// RoleUser is the person or program that talks to the agent.
	RoleUser Role = "user"

	// RoleAssistant is the model.
	RoleAssistant Role = "assistant"

	// RoleTool is a tool, with the result of a call.
	RoleTool Role = "tool"

	// RoleSystem is the runtime, with a notice for the model.
	RoleSystem Role = "system"
)
