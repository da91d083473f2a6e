package client

// DecisionRefusedData is the data of decision.refused.
type DecisionRefusedData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The suspension. It still waits.
	Suspension string `json:"suspension"`
	// Why the caller may not decide: "not_an_approver" or "separation_of_duties".
	Code string `json:"code"`
	// Who tried to decide.
	By string `json:"by,omitempty"`
	// By which entry point.
	Via string `json:"via,omitempty"`
}
