package wire

import (
	"encoding/json"
)

// Agent is something that can be run.
type Agent struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Description  string `json:"description,omitempty"`
	Model        string `json:"model"`
	Instructions string `json:"instructions,omitempty"`
	Tools        []Tool `json:"tools"`

	// Unavailable says why the agent cannot be started now and why its runs wait; empty if it
	// can.
	Unavailable string `json:"unavailable,omitempty"`
}

// Tool is a tool of an agent.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	// JSON Schema of what the caller answers, of a client tool
	Result     json.RawMessage `json:"result,omitempty"`
	Delivery   string          `json:"delivery,omitempty"`
	Client     bool            `json:"client,omitempty"`
	Permission string          `json:"permission"`
}
