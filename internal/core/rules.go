package core

import "encoding/json"

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
	Delivery    Delivery        `json:"delivery,omitempty"`
	Client      bool            `json:"client,omitempty"` // whoever calls the API runs it
}

// Effect is what a gate says of a call.
type Effect uint8

const (
	Ask Effect = iota // a person decides; what is not stated is asked
	Allow
	Deny
)

var effectNames = []string{"ask", "allow", "deny"}

func (e Effect) String() string                { return name(effectNames, uint8(e)) }
func (e Effect) MarshalText() ([]byte, error)  { return marshalName("effect", effectNames, uint8(e)) }
func (e *Effect) UnmarshalText(b []byte) error { return unmarshalName("effect", effectNames, b, e) }

// Verdict is a gate's answer for one call.
type Verdict struct {
	Effect Effect
	Reason string // of a denial, told to the model; of an ask, shown to the person
	// Mode and Schema shape the suspension of an ask.
	Mode   ResumeMode
	Schema json.RawMessage
}

// Rules is the part of an agent's definition that decides. Every method is pure: the same call, the same answer.
type Rules interface {
	// Tool is the tool of that name, or false: a call of it fails.
	Tool(name string) (ToolSpec, bool)

	// Check says why the arguments do not fit the tool, in words for the model; nil if they do.
	Check(call ToolCall) error

	// Gate says whether the call may run. It is asked again when the call is replayed.
	Gate(call ToolCall) Verdict
}

// Outcome is what a tool's body came to: a result, a failure, or a ticket to wait with.
type Outcome struct {
	Text   string // the result, or what went wrong, as the model sees it
	Failed bool
	Ticket *SuspendTicket // set: the call waits
	Kind   Kind           // of the ticket; KindApproval if not said and the call is to be replayed, else KindInput
}

// Status is the call status an outcome leads to.
func (o Outcome) Status() CallStatus {
	switch {
	case o.Ticket != nil:
		return CallSuspended
	case o.Failed:
		return CallFailed
	}
	return CallSucceeded
}

// Turn is a model's answer.
type Turn struct {
	Text         string
	Calls        []ToolCall
	InputTokens  int64
	OutputTokens int64
}
