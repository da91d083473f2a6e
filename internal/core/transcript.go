package core

import "slices"

// NoResult is what the model sees for a call that has no result although the conversation went on.
const NoResult = "No result was recorded for this call."

// Transcript is what a model is sent of a thread: the messages in the order of the log, but each
// call's one result directly behind the turn that asked for it, in call order. A placeholder is
// left out once the result is there. Messages that came while calls were open follow the results.
// Of a message that answers a call the model sees the text as that call's result, and images and
// documents behind it.
//
// It grows with the thread: to add a message costs the same at the thousandth as at the first.
type Transcript struct {
	sent    []Message
	results map[string]Message // by call: its result, or the last placeholder
	places  map[string][]int   // where in sent the result of a call is
	lent    int                // so many of sent are in the hands of readers
	size    int
}

// Add takes the next messages of the log.
func (t *Transcript) Add(log ...Message) {
	if t.places == nil {
		t.results, t.places = map[string]Message{}, map[string][]int{}
	}
	for _, m := range log {
		t.size += m.Size()
		switch {
		case m.Role == RoleTool:
			t.settle(m)
		case m.InResult():
		default:
			t.say(m)
		}
	}
}

// settle puts a result where its call is, in place of a placeholder.
func (t *Transcript) settle(m Message) {
	if old, ok := t.results[m.CallID]; ok && !old.Pending {
		return
	}
	t.results[m.CallID] = m
	for _, at := range t.places[m.CallID] {
		if at < t.lent { // a model that was given up may still read it
			t.sent, t.lent = slices.Clone(t.sent), 0
		}
		t.sent[at] = m.forModel()
	}
}

func (t *Transcript) say(m Message) {
	if m.Answers != "" {
		m.Parts = media(m.Parts)
	}
	t.sent = append(t.sent, m)
	for _, call := range m.Calls {
		r, ok := t.results[call.ID]
		if !ok {
			r = Message{Role: RoleTool, CallID: call.ID, Tool: call.Name, Error: true, Parts: TextParts(NoResult), RunID: m.RunID, At: m.At}
		}
		t.places[call.ID] = append(t.places[call.ID], len(t.sent))
		t.sent = append(t.sent, r.forModel())
	}
}

// Messages are what the model is sent. They are for reading only, and stay as they are when
// messages are added.
func (t *Transcript) Messages() []Message {
	t.lent = len(t.sent)
	return t.sent[:t.lent:t.lent]
}

// Used says whether a call of the thread has the id.
func (t *Transcript) Used(id string) bool { return len(t.places[id]) > 0 }

// Size is about how many bytes of memory it takes.
func (t *Transcript) Size() int { return t.size }

// Size is about how many bytes a message takes in memory, with its place in a transcript.
func (m Message) Size() int {
	const fields = 512 // of the structure itself, twice, as a slice that grew has room
	n := fields + len(m.Value) + len(m.RanWith) + len(m.Added)
	for _, p := range m.Parts {
		n += fields/4 + len(p.Text) + len(p.Data) + len(p.Sealed)
	}
	for _, call := range m.Calls {
		n += fields + len(call.Arguments)
	}
	return n
}

// TranscriptOf is what a model is sent of a log.
func TranscriptOf(log []Message) []Message {
	var t Transcript
	t.Add(log...)
	return t.Messages()
}

// InResult says whether all of a user message is the result of the call that it answers.
func (m Message) InResult() bool { return m.Answers != "" && len(media(m.Parts)) == 0 }

// media are the parts of a message that are not text.
func media(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type == PartText })
}

// Messages are the messages of consecutive segments, in order.
func Messages(segments []Segment) []Message {
	var out []Message
	for _, s := range segments {
		out = append(out, s.Messages...)
	}
	return out
}
