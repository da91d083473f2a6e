package core

import (
	"encoding/json"
)

// Delivery is the promise a tool's body carries.
type Delivery uint8

const (
	// DeliveryDefault is at least once, unless a person was asked: then at most once.
	DeliveryDefault Delivery = iota
	// may run again after a crash, always with the same idempotency key
	AtLeastOnce
	// an intent is committed first; a crash in between asks a person what happened
	AtMostOnce
)

var deliveryNames = []string{"", "at_least_once", "at_most_once"}

func (d Delivery) String() string { return name(deliveryNames, uint8(d)) }

func (d Delivery) MarshalText() ([]byte, error) {
	return marshalName("delivery", deliveryNames, uint8(d))
}

func (d *Delivery) UnmarshalText(b []byte) error {
	return unmarshalName("delivery", deliveryNames, b, d)
}

// ToolSpec is what a tool promises and what the model sees of it.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	// JSON Schema of what a client answers
	Result   json.RawMessage `json:"result,omitempty"`
	Delivery Delivery        `json:"delivery,omitempty"`
	Client   bool            `json:"client,omitempty"` // the API client runs it
	// the start of the run supplied it
	Supplied bool `json:"supplied,omitempty"`
	ReadOnly bool `json:"read_only,omitempty"` // it changes nothing in the world
	// another agent: a call starts a run of it, see [ChildSpec]
	Agent bool `json:"agent,omitempty"`
	// built in: it ends the run with an output
	Finish bool `json:"finish,omitempty"`
}

// FinishTool is the name of the built-in tool that ends a run.
const FinishTool = "finish"
