package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// Agent is a deployed agent, in the version that new runs use.
type Agent struct {
	Name         string `json:"name"`                   // the name of the agent
	Version      string `json:"version"`                // a digest of the agent's definition
	Description  string `json:"description,omitempty"`  // what the agent is for
	Model        string `json:"model"`                  // the model provider
	Instructions string `json:"instructions,omitempty"` // the system prompt
	Tools        []Tool `json:"tools"`                  // the tools the model may call
	// Why the agent can't be started now. Its open runs wait. Empty if it can be started.
	Unavailable string `json:"unavailable,omitempty"`
	// What requests may supply: "client_tools", "context" and "state".
	Accepts []string `json:"accepts,omitempty"`
}

// Tool is a tool of an agent.
type Tool struct {
	Name        string `json:"name"`                  // the name of the tool
	Description string `json:"description,omitempty"` // what the tool does
	// The JSON Schema of the arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// For a client tool: the JSON Schema of the result.
	Result json.RawMessage `json:"result,omitempty"`
	// Whether a call may run twice after a crash.
	Delivery string `json:"delivery,omitempty"`
	Client   bool   `json:"client,omitempty"` // the API caller runs the tool
	// The agent that each call starts a run of. Empty for other tools.
	Agent string `json:"agent,omitempty"`
	// The host of the remote agent that each call gives a task to. Empty for other tools.
	A2A string `json:"a2a,omitempty"`
	// What the agent's rules say about it. "conditional" if that depends on the arguments.
	Permission string `json:"permission"`
}

// Agents lists the deployed agents.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	page, err := get[Page[Agent]](ctx, c, "/v1/agents", nil)
	return page.Items, err
}

// Agent reads a deployed agent with its tools.
func (c *Client) Agent(ctx context.Context, name string) (Agent, error) {
	return get[Agent](ctx, c, "/v1/agents/"+url.PathEscape(name), nil)
}
