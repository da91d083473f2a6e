package client

import "encoding/json"

// Supplied is what a client supplies for one run, if the agent accepts it.
type Supplied struct {
	// Tools that the client runs. At most 32, and 32,768 bytes.
	ClientTools []ClientTool `json:"client_tools,omitempty"`
	// What the model is shown as the client's words. At most 32 items, and 32,768 bytes.
	Context []ContextItem `json:"context,omitempty"`
	// The value of the key dormouse.client when the run starts. At most 16,384 bytes.
	State json.RawMessage `json:"state,omitempty"`
}

// ClientTool is a tool that the client runs, for one run.
type ClientTool struct {
	// Letters, digits, - and _, at most 64. It must not look like the name of an agent's tool.
	Name string `json:"name"`
	// What the tool does, for the model. At most 4,096 bytes.
	Description string `json:"description,omitempty"`
	// JSON Schema of the arguments, without references. Default: any object.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// ContextItem is something that the client tells the model, for one run.
type ContextItem struct {
	// What the value is. At most 4,096 bytes.
	Description string `json:"description,omitempty"`
	// Any JSON value.
	Value json.RawMessage `json:"value"`
}

// RunStartedData is the data of run.started.
type RunStartedData struct {
	// The principal, such as "token:anna". Empty if callers have no names.
	By string `json:"by,omitempty"`
	// The entry point, such as "api", "link" or "queue".
	Via string `json:"via,omitempty"`
	// The run that this one retries.
	RetryOf string `json:"retry_of,omitempty"`
	// The tools that the request supplied. The client runs them.
	ClientTools []ClientTool `json:"client_tools,omitempty"`
	// The context that the request supplied.
	Context []ContextItem `json:"context,omitempty"`
}
