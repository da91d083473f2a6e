package core

// Out is something that must be sent after the commit that names it, at least once.
type Out struct {
	Kind OutKind `json:"k"`
	Call string  `json:"c,omitempty"`
	Sus  string  `json:"sus,omitempty"`
}

// OutKind says what an outbox entry sends.
type OutKind string

// NoticeKey is the outbox key of the notice of a suspension.
func NoticeKey(suspension string) string { return "n:" + suspension }
