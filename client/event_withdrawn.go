package client

// DecisionWithdrawnData is the data of decision.withdrawn.
type DecisionWithdrawnData struct {
	// The call that the decision was about, and that waits as before.
	CallID string `json:"call_id"`
	// The suspension.
	Suspension string `json:"suspension"`
	// The key of the decision.
	DecisionID string `json:"decision_id"`
	// SHA-256 of the decision's content, in hex.
	Digest string `json:"digest,omitempty"`
	// The action of the decision.
	Action string `json:"action"`
	// The reason of the decision.
	Reason string `json:"reason,omitempty"`
	// Who decided, and withdrew it.
	By string `json:"by,omitempty"`
	// The entry point of the decision.
	Via string `json:"via,omitempty"`
	// The id of the approval link, if it came by one.
	Link     string `json:"link,omitempty"`
	MintedBy string `json:"minted_by,omitempty"` // who made the link
	// How the recipient of the link was verified, such as "code".
	Verified string `json:"verified,omitempty"`
	// When the decision was stored.
	DecidedAt Time `json:"decided_at"`
	// When it was withdrawn.
	WithdrawnAt Time `json:"withdrawn_at"`
}
