package wire

// FeedPage is a page of the events of a tenant, and the cursor of the next one. Counts is set on a
// page that reaches the end of the feed, if anything was committed since the cursor it was read
// from.
type FeedPage struct {
	Items  []Event `json:"items"`
	Next   string  `json:"next"`
	Counts *Counts `json:"counts,omitempty"`
}

// Counts says how many calls of a tenant wait for an answer, in all and by kind. AtLeast says that
// the real numbers may be higher: counting stopped early, or a run could not be read.
type Counts struct {
	Waiting int            `json:"waiting"`
	Kinds   map[string]int `json:"kinds"`
	AtLeast bool           `json:"at_least"`
}

// DecisionPage is a page of the history of a tenant's decisions. Next is empty on the last one.
// Unreadable is how many decisions, or commits with decisions, are missing because their run cannot
// be read.
type DecisionPage struct {
	Items      []RecordedDecision `json:"items"`
	Next       string             `json:"next,omitempty"`
	Unreadable int                `json:"unreadable,omitempty"`
}

// RecordedDecision is one decision of a tenant's history: when it was recorded, where it belongs,
// and the data of its event. Seq is that of the event. Tool, Kind and ResumeMode are of the call as
// it waited, and empty if that cannot be read. Unreadable is set if the decision, or its run,
// cannot be read: members are missing then.
type RecordedDecision struct {
	At         Time      `json:"at"`
	RunID      string    `json:"run_id"`
	ThreadID   string    `json:"thread_id"`
	Seq        int64     `json:"seq"`
	Agent      string    `json:"agent"`
	Tool       string    `json:"tool_name"`
	Kind       string    `json:"kind"`
	ResumeMode string    `json:"resume_mode"`
	Unreadable *RunError `json:"unreadable,omitempty"`
	DecisionRecordedData
}
