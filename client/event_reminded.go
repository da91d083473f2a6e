package client

// CallRemindedData is the data of call.reminded, call.escalated and call.deadline_near. If several
// moments had passed, there is one event for all of them.
type CallRemindedData struct {
	// The call, unique in its thread.
	CallID string `json:"call_id"`
	// The tool.
	ToolName string `json:"tool_name,omitempty"`
	// The suspension.
	Suspension string `json:"suspension"`
	// How many of the moments at which something is due have passed.
	Moment int `json:"moment"`
	// How many there are.
	Moments int `json:"moments"`
	// When the deadline passes. Nil if there is none.
	Deadline *Time `json:"deadline,omitempty"`
	// Of call.escalated: the group that is asked.
	Group string `json:"group,omitempty"`
	// Of call.escalated: the group decides in place of the one before, under another
	// suspension.
	Replaced bool `json:"replaced,omitempty"`
}
