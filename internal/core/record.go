package core

import (
	"encoding/json"
)

// Record is what remains of a run when the next one takes its place in the head, and what lists
// show.
type Record struct {
	Run      string          `json:"run"`
	Thread   string          `json:"thread"`
	Agent    string          `json:"agent"`
	Version  string          `json:"av"`
	Status   RunStatus       `json:"st"`
	End      *Reason         `json:"end,omitempty"`
	Response ResponseState   `json:"rs,omitempty"`
	RetryOf  string          `json:"retry_of,omitempty"`
	Metadata json.RawMessage `json:"meta,omitempty"`
	Narrow   json.RawMessage `json:"narrow,omitempty"`
	Notify   string          `json:"ntf,omitempty"`
	Supplied string          `json:"sup,omitempty"`
	Finish   string          `json:"fin,omitempty"`
	Counters
	Family
	Round int64 `json:"round"`
	Born  int64 `json:"born"`
	At    int64 `json:"at"`
	Seq0  int64 `json:"seq0"` // the run's segments are Seq0+1 to Seq
	Seq   int64 `json:"seq"`
	Ev0   int64 `json:"ev0"`
	Ev    int64 `json:"ev"`
}

// Record is the run that the head holds now.
func (h Head) Record() Record {
	return Record{Run: h.Run, Thread: h.Thread, Agent: h.Agent, Version: h.Version, Status: h.Visible(), End: h.End,
		Response: h.Response, RetryOf: h.RetryOf, Metadata: h.Metadata, Narrow: h.Narrow, Notify: h.Notify, Supplied: h.Supplied, Finish: h.Finish, Counters: h.Counters, Family: h.Family, Round: h.Round,
		Born: h.Born, At: h.At, Seq0: h.Seq0, Seq: h.Seq, Ev0: h.Ev0, Ev: h.Ev}
}
