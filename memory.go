package dormouse

import "context"

// Effect is done after each call that succeeded of the tools that an agent's file names with it,
// but for tools that only read:
//
//	effects:
//	  - {name: ledger, tools: [issue_refund], go: shop.ledger}
//
// It may run twice for one call, after a crash: use [Done.Call]'s id to tell. An error is
// journaled; neither the call nor the run fails for it.
type Effect struct {
	Name string

	// Run returns text that is shown to the model behind the result; empty for nothing. 8 KiB
	// of it are kept.
	Run func(ctx context.Context, done Done) (text string, err error)
}

// Done is a call that succeeded.
type Done struct {
	Tenant, Thread, Run string
	Call                ToolCall // with the arguments that ran
	Result              string
	State               State
}

// Memory is what an agent keeps from one run to another, where its file names it. It is best
// effort: an error, or more than 10 seconds, is journaled and the run goes on as if there were
// nothing. Runs that were started without memory have none.
//
//	memory: shop.customers
type Memory struct {
	Name string

	// Recall is called before the first step of a run. Its text is shown to the model and
	// becomes part of the conversation; empty for nothing. Nil recalls nothing.
	Recall func(ctx context.Context, c Conversation) (string, error)

	// Commit is called after a run that ended by itself. It may be called twice for one run.
	// Nil keeps nothing.
	Commit func(ctx context.Context, c Conversation) error
}

// Conversation is a run and everything that was said in its thread so far.
type Conversation struct {
	Tenant, Thread, Run, Agent string
	Messages                   []Message
}

// Message is one thing that was said in a conversation. What users, models and tools said is
// untrusted.
type Message struct {
	Role  Role
	Run   string // in which it was said
	Text  string
	Calls []ToolCall // of RoleAssistant

	// Of RoleTool: whose result it is.
	Tool, CallID string
	Failed       bool
}

// Role says who speaks.
type Role string

const (
	// RoleUser is whoever talks to the agent.
	RoleUser Role = "user"

	// RoleAssistant is the model.
	RoleAssistant Role = "assistant"

	// RoleTool is the result of a call.
	RoleTool Role = "tool"

	// RoleSystem is the runtime, with what it has to tell the model.
	RoleSystem Role = "system"
)
