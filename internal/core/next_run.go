package core

import (
	"encoding/json"
)

// Held is a message that waits for the end of the run: the segment it was journaled in, and its key
// there.
type Held struct {
	Seq int64  `json:"s"`
	Key string `json:"k"`
}

// QueuedMessage is the data of a message.queued event.
type QueuedMessage struct {
	Key   string `json:"key"`
	ID    string `json:"message_id,omitempty"` // as its sender named it
	By    string `json:"by,omitempty"`
	Via   string `json:"via,omitempty"`
	Parts []Part `json:"parts"`
}

// FindHeld is the content of a held message, as a start's signal, from the segment it was journaled
// in.
func FindHeld(segment Segment, key string) (Signal, bool) {
	for _, e := range segment.Events {
		var m QueuedMessage
		if e.Type == EventMessageQueued && json.Unmarshal(e.Data, &m) == nil && m.Key == key {
			return Signal{Kind: SignalStart, ID: key, Msg: m.ID, By: m.By, Via: m.Via, Value: Encode(m.Parts), At: e.At}, true
		}
	}
	return Signal{}, false
}
