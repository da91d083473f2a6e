package wire

// HookAnswer is the answer to a webhook that was verified. It is empty where the sender reads
// something into a body, as Slack does.
type HookAnswer struct {
	// Why the delivery has no effect: a condition of the hook doesn't hold.
	Ignored string `json:"ignored,omitempty"`
	// The delivery was received before, and this one has no further effect.
	Replayed bool `json:"replayed,omitempty"`
	// The run that was started, or that has the message.
	RunID string `json:"run_id,omitempty"`
	// The id of the decision that was stored.
	DecisionID string `json:"decision_id,omitempty"`
	// What the sender asks for to see that the address is ours.
	Challenge string `json:"challenge,omitempty"`
	// What Discord asks for: 1 answers a ping, and 6 accepts an interaction.
	Type int `json:"type,omitempty"`
	// What Slack does with a dialog: "errors" shows Errors in it.
	ResponseAction string `json:"response_action,omitempty"`
	// Why the answer in a dialog was refused.
	Errors *HookErrors `json:"errors,omitempty"`
}

// HookErrors are messages beside the inputs of a dialog.
type HookErrors struct {
	// Beside the reason of a denial.
	Reason string `json:"reason"`
}
