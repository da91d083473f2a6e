package wire

// LinkRequest is the body of POST /v1/runs/{id}/links. Target is a suspension that waits for an
// approval. For names the one recipient. ExpiresIn is in whole seconds; left out, the link is good
// for as long as the server allows.
type LinkRequest struct {
	Target string `json:"target"`
	For    string `json:"for"`
	// a float64, since JSON may write 3600 as 3600.0
	ExpiresIn float64 `json:"expires_in,omitempty"`
}

// Link is an approval link: the right to answer one suspension, made for one recipient.
type Link struct {
	ID         string `json:"id"`
	RunID      string `json:"run_id"`
	Suspension string `json:"suspension"`
	CallID     string `json:"call_id"`
	Tool       string `json:"tool"`
	For        string `json:"for"`
	CreatedBy  string `json:"created_by,omitempty"` // absent where the server needs no tokens
	CreatedAt  Time   `json:"created_at"`
	ExpiresAt  Time   `json:"expires_at"` // or at the deadline of the call, if that is sooner
	RevokedAt  *Time  `json:"revoked_at,omitempty"`
	RevokedBy  string `json:"revoked_by,omitempty"`
	// Link answers the suspension, without a token: a path of the server, or a whole URL where
	// the server has a public one. It is shown once, to the caller who made it.
	Link string `json:"link,omitempty"`
}

// Outcome is what a link shows once its call no longer waits. State is answered, timed_out, or
// withdrawn: the run ended or went on without an answer. Call says how the call went on from there,
// if it is known: succeeded, failed, cancelled, or suspended once more.
type Outcome struct {
	RunID      string           `json:"run_id"`
	ThreadID   string           `json:"thread_id"`
	Agent      string           `json:"agent"`
	CallID     string           `json:"call_id"`
	Tool       string           `json:"tool"`
	Suspension string           `json:"suspension"`
	ResumeMode string           `json:"resume_mode"`
	Since      Time             `json:"since"`
	Deadline   *Time            `json:"deadline,omitempty"`
	State      string           `json:"state"`
	Decision   *OutcomeDecision `json:"decision,omitempty"`
	Call       string           `json:"call,omitempty"`
}

// OutcomeDecision is what was decided, by whom and when. By is deadline where time decided. Applied
// is absent until the run has taken the decision up, and false where a cancel was first.
type OutcomeDecision struct {
	Action  string `json:"action"`
	Error   string `json:"error,omitempty"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by,omitempty"`
	Via     string `json:"via,omitempty"`
	At      Time   `json:"at"`
	Applied *bool  `json:"applied,omitempty"`
}
