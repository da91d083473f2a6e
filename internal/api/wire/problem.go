package wire

// Problem is an error answer, RFC 9457. Code is stable; Detail is safe to show.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	// RunID names the run that is in the way, with run_open, or that started the conversation,
	// with child_thread.
	RunID string `json:"run_id,omitempty"`
	*DecisionExtra
	*BatchExtra
}

// DecisionExtra are the members that a refused decision adds to its problem.
type DecisionExtra struct {
	Same   *bool   `json:"same,omitempty"`
	Winner *Winner `json:"winner,omitempty"`
}

// BatchExtra is the member that a refused batch adds to its problem.
type BatchExtra struct {
	// what each decision met; nothing was stored
	Answers []DecisionAnswer `json:"answers,omitempty"`
}
