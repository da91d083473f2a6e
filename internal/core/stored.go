package core

import (
	"encoding/json"
)

// The stored form of a segment says once what its messages and events have in common: the run, the
// thread, the time, the turn and the step. Events are numbered from the first one's number on. An
// entry that differs says so itself, so that any segment comes back as it was written.

type storedSegment struct {
	Seq      int64           `json:"seq,omitempty"`
	W        Stamp           `json:"w,omitempty"`
	Prev     Stamp           `json:"prev,omitempty"`
	Run      string          `json:"run,omitempty"`
	Thread   string          `json:"thread,omitempty"`
	At       int64           `json:"at,omitempty"`
	Ev       int64           `json:"ev,omitempty"` // number of the first event
	Turn     int             `json:"turn,omitempty"`
	Step     int             `json:"step,omitempty"`
	Messages []storedMessage `json:"messages,omitempty"`
	Events   []storedEvent   `json:"events,omitempty"`
}

type storedMessage struct {
	Message
	Run *string `json:"run_id,omitempty"` // these two hide those of Message
	At  *int64  `json:"at,omitempty"`
}

type storedEvent struct {
	Type    EventType       `json:"type"`
	Data    json.RawMessage `json:"data,omitempty"`
	Message int             `json:"m,omitempty"`
	Seq     *int64          `json:"seq,omitempty"`
	Run     *string         `json:"run_id,omitempty"`
	Thread  *string         `json:"thread_id,omitempty"`
	At      *int64          `json:"at,omitempty"`
	Turn    *int            `json:"turn,omitempty"`
	Step    *int            `json:"step,omitempty"`
}

// MarshalJSON writes the stored form.
func (s Segment) MarshalJSON() ([]byte, error) { return s.Stored(), nil }

// Stored returns the stored form. It has the bytes of Encode(s), without going over them again.
func (s Segment) Stored() json.RawMessage {
	out := storedSegment{Seq: s.Seq, W: s.W, Prev: s.Prev}
	if n := len(s.Events); n > 0 {
		first, last := s.Events[0], s.Events[n-1]
		out.Run, out.Thread, out.At, out.Ev = first.RunID, first.ThreadID, first.At, first.Seq
		out.Turn, out.Step = last.Turn, last.Step
	} else if len(s.Messages) > 0 {
		out.Run, out.At = s.Messages[0].RunID, s.Messages[0].At
	}
	for _, m := range s.Messages {
		out.Messages = append(out.Messages, storedMessage{m, unless(m.RunID, out.Run), unless(m.At, out.At)})
	}
	for i, e := range s.Events {
		out.Events = append(out.Events, storedEvent{Type: e.Type, Data: e.Data, Message: e.Message, Seq: unless(e.Seq, out.Ev+int64(i)),
			Run: unless(e.RunID, out.Run), Thread: unless(e.ThreadID, out.Thread), At: unless(e.At, out.At),
			Turn: unless(e.Turn, out.Turn), Step: unless(e.Step, out.Step)})
	}
	return Encode(out)
}

// UnmarshalJSON reads the stored form. A caller that has no more than the segment calls it itself:
// [json.Unmarshal] would go over the text once more.
func (s *Segment) UnmarshalJSON(raw []byte) error {
	var in storedSegment
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*s = Segment{Seq: in.Seq, W: in.W, Prev: in.Prev}
	for _, m := range in.Messages {
		m.Message.RunID, m.Message.At = orCommon(m.Run, in.Run), orCommon(m.At, in.At)
		s.Messages = append(s.Messages, m.Message)
	}
	for i, e := range in.Events {
		s.Events = append(s.Events, Event{Type: e.Type, Data: e.Data, Message: e.Message, Seq: orCommon(e.Seq, in.Ev+int64(i)),
			RunID: orCommon(e.Run, in.Run), ThreadID: orCommon(e.Thread, in.Thread), At: orCommon(e.At, in.At),
			Turn: orCommon(e.Turn, in.Turn), Step: orCommon(e.Step, in.Step)})
	}
	return nil
}

func unless[T comparable](v, common T) *T {
	if v == common {
		return nil
	}
	return &v
}

func orCommon[T any](v *T, common T) T {
	if v == nil {
		return common
	}
	return *v
}
