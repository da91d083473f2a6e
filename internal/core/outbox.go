package core

// Out is something that must be sent after the commit that names it, at least once.
type Out struct {
	Kind OutKind `json:"k"`
	Call string  `json:"c,omitempty"`
	Sus  string  `json:"sus,omitempty"`

	// of notices: the first event that is owed, and the segment that holds it
	Event int64 `json:"e,omitempty"`
	Seq   int64 `json:"q,omitempty"`
}

// OutKind says what an outbox entry sends.
type OutKind string

// OutboxNotices is the outbox key of the events that subscribers are owed.
const OutboxNotices = "n"

// NoticeKey is the outbox key of the notice of a suspension, in heads that an older program wrote.
func NoticeKey(suspension string) string { return "n:" + suspension }
