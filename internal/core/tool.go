package core

import (
	"encoding/json"
)

// Delivery is the promise a tool's body carries.
type Delivery uint8

const (
	// DeliveryDefault is at least once, unless a person was asked: then at most once.
	DeliveryDefault Delivery = iota
	AtLeastOnce              // may run again after a crash, always with the same idempotency key
	AtMostOnce               // an intent is committed first; a crash in between asks a person what happened
)

var deliveryNames = []string{"", "at_least_once", "at_most_once"}

func (d Delivery) String() string { return name(deliveryNames, uint8(d)) }

func (d Delivery) MarshalText() ([]byte, error) {
	return marshalName("delivery", deliveryNames, uint8(d))
}

func (d *Delivery) UnmarshalText(b []byte) error {
	return unmarshalName("delivery", deliveryNames, b, d)
}

// ToolSpec is what a tool promises and what the model is told of it.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments
	Result      json.RawMessage `json:"result,omitempty"`     // JSON Schema of what a client answers
	Delivery    Delivery        `json:"delivery,omitempty"`
	Client      bool            `json:"client,omitempty"`    // whoever calls the API runs it
	ReadOnly    bool            `json:"read_only,omitempty"` // it changes nothing in the world
	Finish      bool            `json:"finish,omitempty"`    // built in: it ends the run with an output
}

// FinishTool is the name of the built-in tool that ends a run.
const FinishTool = "finish"
