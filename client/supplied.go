package client

import "encoding/json"

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
