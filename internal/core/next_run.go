package core

import "encoding/json"

// A message can wait for the end of the run and then begin the next one of its thread.
//
//	applyMessage ── hold … releaseDone ── StartHeld ── FindHeld ── Succeed

// Succeed is the head of the next run of h's thread, on condition that h is done or about to be:
// what never goes back goes on from h. The input is its first signal; version is the definition it
// is pinned to.
func (h Head) Succeed(version string, input Signal, now int64) Head {
	return Head{
		Identity: Identity{Tenant: h.Tenant, Thread: h.Thread, Run: RunID(h.Thread, h.Rev+1), Agent: h.Agent, Version: version,
			Schema: SchemaVersion, Idem: h.Idem},
		Position:     Position{Epoch: h.Epoch + 1, Rev: h.Rev + 1, CID: h.CID, Seq: h.Seq, Seg: h.Seg, Ev: h.Ev, Sigs: h.Sigs + 1},
		Ownership:    Ownership{Claim: h.Claim},
		Conversation: Conversation{LastUserMessage: h.LastUserMessage},
		StateLog:     h.StateLog,
		Origin:       Origin{Born: now, At: now, Seq0: h.Seq, Ev0: h.Ev},
		Inbox:        map[string]Signal{KeyStart: input},
	}
}

// Held is a message that waits for the end of the run: the segment it was journaled in, and its key
// there.
type Held struct {
	Seq int64  `json:"s"`
	Key string `json:"k"`
}

// queuedMessage is the data of a message.queued event.
type queuedMessage struct {
	Key   string `json:"key"`
	ID    string `json:"message_id,omitempty"` // as its sender named it
	By    string `json:"by,omitempty"`
	Via   string `json:"via,omitempty"`
	Parts []Part `json:"parts"`
}

// hold keeps a message for a run of its own.
func (d *draft) hold(s delivery, parts []Part) {
	d.event(EventMessageQueued, queuedMessage{s.key, s.Msg, s.By, s.Via, parts}, 0)
	d.h.Held = append(d.h.Held, Held{Seq: d.seq(), Key: s.key})
}

// FindHeld is the content of a held message, as a start's signal, from the segment it was journaled
// in.
func FindHeld(segment Segment, key string) (Signal, bool) {
	for _, e := range segment.Events {
		var m queuedMessage
		if e.Type == EventMessageQueued && json.Unmarshal(e.Data, &m) == nil && m.Key == key {
			return Signal{Kind: SignalStart, ID: key, Msg: m.ID, By: m.By, Via: m.Via, Value: Encode(m.Parts), At: e.At}, true
		}
	}
	return Signal{}, false
}
