package core

// Out is something that must be sent after the commit that names it, at least once.
type Out struct {
	Kind OutKind `json:"k"`
	Call string  `json:"c,omitempty"`
	Sus  string  `json:"sus,omitempty"`

	// of an interrupt and its end: the interrupt's id
	ID string `json:"i,omitempty"`

	// of notices: the first event that is owed, and the segment that holds it
	Event int64 `json:"e,omitempty"`
	Seq   int64 `json:"q,omitempty"`
}

// OutKind says what an outbox entry sends.
type OutKind string

// OutboxNotices is the outbox key of the events that subscribers are owed.
const OutboxNotices = "n"

// Outbox keys of what a run owes the runs above and below it, by suspension.
const OutboxTell = "p"

// LaunchKey is the outbox key of the launch of a child.
func LaunchKey(suspension string) string { return "l:" + suspension }

// CancelKey is that of the cancel of a child.
func CancelKey(suspension string) string { return "c:" + suspension }

// PauseKey is that of an interrupt of a child, and GoOnKey that of its end.
func PauseKey(suspension string) string { return "i:" + suspension }

// GoOnKey is described at [PauseKey].
func GoOnKey(suspension string) string { return "r:" + suspension }

// NoticeKey is the outbox key of the notice of a suspension, in heads that an older program wrote.
func NoticeKey(suspension string) string { return "n:" + suspension }
