// Package wire holds the JSON shapes of the HTTP API, version 1, shared by the server and its
// client. It does not decide anything and knows no HTTP.
package wire

import (
	"encoding/json"
)

// Event is one entry of a thread's log. Seq is dense per thread. Cursor says where a reader goes on
// behind it.
type Event struct {
	Version  int             `json:"v"` // of the shapes of all events: [EventVersion]
	Seq      int64           `json:"seq"`
	RunID    string          `json:"run_id"`
	ThreadID string          `json:"thread_id"`
	Turn     int             `json:"turn"`
	Step     int             `json:"step,omitempty"`
	At       Time            `json:"at"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data,omitempty"`

	// Checkpoint names the checkpoints that the commit is whose last event this is.
	Checkpoint []string `json:"checkpoint,omitempty"`
	Cursor     string   `json:"cursor"`
}

// EventVersion is the version of the shapes of events. Members may be added to a shape; a change of
// what is there raises it.
const EventVersion = 1

// Page is one page of a list. Next is empty on the last one. A page may be short, even empty, with
// more to come.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// EventPage is one page of events. Next always says where to go on; Done says that the run is over,
// Waiting that it waits for an answer, and that everything up to there was shown.
type EventPage struct {
	Items   []Event `json:"items"`
	Next    string  `json:"next"`
	Done    bool    `json:"done"`
	Waiting bool    `json:"waiting"`
}
