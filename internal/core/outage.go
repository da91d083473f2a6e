package core

// Outage is a model that does not answer. The head has it from the first failure in a row until the
// model answers, the run waits for a person, or the run ends.
type Outage struct {
	Since  int64  `json:"s"`           // when the first failure in a row was folded in
	Unfit  int    `json:"u,omitempty"` // failures among them that were an answer, and no turn
	Code   string `json:"c"`           // of the last failure
	Detail string `json:"d,omitempty"` // of the last failure; callers may read it
}
