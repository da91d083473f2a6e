package core

import (
	"encoding/json"
	"fmt"
)

// Round is what the journal knows of the calls that the head tracks: what they are, in the order
// the model gave them, those of earlier rounds first, and the decisions that were applied, by
// suspension.
type Round struct {
	Calls     []ToolCall
	Decisions map[string]DecisionRecord
	// what calls keep from one run of their body to the next, by call
	Scratch map[string]json.RawMessage

	// a late answer with text arrived since the model's last turn; the next model call reports
	// it
	LateWords bool

	// the suspensions that policies decide about, that have moments, or that wait for a child
	Questions map[string]SuspendedCall
}

// RoundFrom is the first segment that [ReadRound] needs; false if no call that the head tracks is
// open.
func (h Head) RoundFrom() (seq int64, ok bool) {
	seq = h.Round
	for _, c := range h.Calls {
		if c.Status.Terminal() {
			continue
		}
		ok = true
		from := c.TurnSegment
		if c.Synthetic {
			from, _ = SuspensionSeq(c.Sus)
		}
		if from != 0 && (seq == 0 || from < seq) {
			seq = from
		}
	}
	return seq, ok
}

// ReadRound reads the current round from the segments of [Head.RoundFrom] onwards. A head without a
// turn has an empty round.
func ReadRound(h Head, segments []Segment) Round {
	r := Round{Decisions: map[string]DecisionRecord{}, Scratch: map[string]json.RawMessage{}, Questions: map[string]SuspendedCall{}}
	for _, s := range segments {
		for _, m := range s.Messages {
			if m.Role == RoleAssistant && m.RunID == h.Run {
				r.Calls, r.LateWords = append(r.Calls, ofRound(h, s.Seq, m.Calls)...), false
			}
		}
		for _, e := range s.Events {
			switch e.Type {
			case EventDecisionRecorded:
				var d DecisionRecord
				switch err := json.Unmarshal(e.Data, &d); {
				case err != nil:
				case d.Late:
					r.LateWords = r.LateWords || d.Words()
				case (d.Applied || d.Edits()) && d.Action != 0:
					r.Decisions[d.Suspension] = d
				}
			case EventCallSuspended:
				var c SuspendedCall
				if json.Unmarshal(e.Data, &c) == nil {
					r.Keep(c)
					r.Ask(c)
				}
				if h.Calls[c.CallID].Synthetic && h.Calls[c.CallID].Sus == c.Suspension.ID {
					r.Calls = append(r.Calls, SyntheticCall(c.CallID))
				}
			}
		}
	}
	return r
}

// Keep notes what a call keeps from its suspension on.
func (r Round) Keep(c SuspendedCall) {
	switch {
	case len(c.Kept) == 0:
	case IsNull(c.Kept):
		delete(r.Scratch, c.CallID)
	default:
		r.Scratch[c.CallID] = c.Kept
	}
}

// Ask notes what a policy decides about, what has moments, and what waits for a child.
func (r Round) Ask(c SuspendedCall) {
	if c.Policy != nil || len(c.Moments) > 0 || c.Child != nil {
		r.Questions[c.Suspension.ID] = c
	}
}

// ofRound are those calls of a turn that the head still looks at: all of the current round, and of
// an earlier one those that were kept.
func ofRound(h Head, seq int64, calls []ToolCall) (kept []ToolCall) {
	if seq == h.Round {
		return calls
	}
	for _, c := range calls {
		if h.Calls[c.ID].TurnSegment == seq {
			kept = append(kept, c)
		}
	}
	return kept
}

// FindSuspended finds the call that was suspended under an id, in the segment the id names.
func FindSuspended(segment Segment, suspension string) (call SuspendedCall, at int64, ok bool) {
	for _, e := range segment.Events {
		if s, ok := SuspendedIn(e); ok && s.Suspension.ID == suspension {
			return s, e.At, true
		}
	}
	return SuspendedCall{}, 0, false
}

// SuspendedIn is the call that an event says was suspended; false for another event.
func SuspendedIn(e Event) (call SuspendedCall, ok bool) {
	if e.Type != EventCallSuspended || json.Unmarshal(e.Data, &call) != nil {
		return SuspendedCall{}, false
	}
	return call, true
}

// CheckChain holds segments from..h.Seq against the head: none missing, each naming the one before,
// the last the one that the head names. A segment that no head ever named breaks the chain.
func CheckChain(h Head, from int64, segments []Segment) error {
	if want := max(0, h.Seq-from+1); int64(len(segments)) != want {
		return fmt.Errorf("core: the journal of %s has %d segments from %d, the head says %d", h.Thread, len(segments), from, want)
	}
	for i, s := range segments {
		if s.Seq != from+int64(i) || i > 0 && s.Prev != segments[i-1].W {
			return fmt.Errorf("core: segment %d of %s does not follow the one before", s.Seq, h.Thread)
		}
	}
	if n := len(segments); n > 0 && segments[n-1].W != h.Seg {
		return fmt.Errorf("core: the last segment of %s is not the one its head names", h.Thread)
	}
	return nil
}

// SyntheticCall is a call that no model asked for, by which a run itself waits.
func SyntheticCall(id string) ToolCall {
	return ToolCall{ID: id, Arguments: json.RawMessage("{}")}
}

// TellsMore says whether a caller's answer, in time or too late, tells the model something that an
// approver of another call of the round had not seen.
func (r Round) TellsMore(h Head) bool {
	if r.LateWords {
		return true
	}
	for _, c := range h.Calls {
		if rec, decided := r.Decisions[c.Sus]; decided && rec.Tells(c) {
			return true
		}
	}
	return false
}
