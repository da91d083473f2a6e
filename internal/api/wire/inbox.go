package wire

// InboxPage is one page of the inbox.
type InboxPage struct {
	Items []Approval `json:"items"`
	// the cursor of the next page; empty on the last page
	Next string `json:"next,omitempty"`
	// how many questions wait; nil unless it was asked for
	Count *InboxCount `json:"count,omitempty"`
}

// InboxCount says how many questions are put to people: calls of every kind but "client".
type InboxCount struct {
	Questions int `json:"questions"`
	// there may be more: counting stopped at a bound, or at the end of the page
	AtLeast bool `json:"at_least,omitempty"`
}
