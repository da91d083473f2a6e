// Package timeline folds the events of a run into what took how long: answers of the model, calls,
// and waits for people. It is pure.
package timeline

import (
	"encoding/json"
	"math"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Kind is what an [Entry] is about.
type Kind string

// Kinds of entries.
const (
	Message Kind = "message" // a person wrote
	Model   Kind = "model"   // the model answered
	Call    Kind = "call"    // a tool ran, or was not let run
	Wait    Kind = "wait"    // a call waited for an answer
	Child   Kind = "child"   // a call waited for another run
	Vote    Kind = "vote"    // an answer that left the question open
	Undone  Kind = "undone"  // an answer was taken back
	Late    Kind = "late"    // an answer came too late
	End     Kind = "end"     // the run ended
)

// Entry is one line of the timeline. Its texts are of others.
type Entry struct {
	Kind     Kind
	From, To time.Time // To is zero while it goes on

	Text string // of a message, or what the model said
	By   string // who wrote or answered, as the journal has it; "deadline" if time ran out
	Via  string
	At   time.Time // of the answer to a wait, perhaps before it took effect; zero without one

	Tool       string
	Arguments  []byte
	Outcome    string // of a call or a child, see [wire.CallEndedData]; of an end, its reason
	Detail     string // of an end: its code; of an answer: its reason
	Suspension string // of a wait
	Run        string // of a child
	Action     string // of an answered wait: "resume" or "cancel"
	Tokens     int64  // of the model's answer, input and output
	Cost       string // in dollars; empty if it isn't known

	call string
}

// Took is how long the entry took; false while it goes on.
func (e Entry) Took() (time.Duration, bool) { return e.To.Sub(e.From), !e.To.IsZero() }

// Line is a fold over the events of one run, in their order. The zero value has seen none.
type Line struct {
	Entries []Entry
	ready   map[string]wire.CallReadyData
	waits   map[string]int // by suspension: the place of its entry
}

// Push takes the next event. Events of an unknown type, and live ones, say nothing here.
func (l *Line) Push(e wire.Event) error {
	switch core.EventType(e.Type) {
	case core.EventMessageReceived:
		return with(e, func(d wire.MessageReceivedData) {
			l.add(Entry{Kind: Message, From: e.At.Time, To: e.At.Time, Text: d.Text, By: d.By, Via: d.Via})
		})
	case core.EventStepStarted:
		return with(e, func(d wire.StepStartedData) { l.add(answered(e, d)) })
	case core.EventTextEnded:
		return with(e, func(d wire.SaidData) { l.said(d.Text) })
	case core.EventCallReady:
		return with(e, func(d wire.CallReadyData) {
			if l.ready == nil {
				l.ready = map[string]wire.CallReadyData{}
			}
			l.ready[d.CallID] = d
		})
	case core.EventCallSuspended:
		return with(e, func(d wire.Pending) { l.suspended(e, d) })
	case core.EventChildStarted:
		return with(e, func(d wire.ChildStartedData) {
			if i, waits := l.waits[d.Suspension]; waits {
				l.Entries[i].Kind, l.Entries[i].Run = Child, d.ChildRunID
			}
		})
	case core.EventChildEnded:
		return with(e, func(d wire.ChildEndedData) { l.close(d.Suspension, e, func(w *Entry) { w.Outcome = d.Outcome }) })
	case core.EventDecisionRecorded:
		return with(e, func(d wire.DecisionRecordedData) { l.decided(e, d) })
	case core.EventDecisionWithdrawn:
		return with(e, func(d wire.DecisionWithdrawnData) {
			l.add(Entry{Kind: Undone, From: d.WithdrawnAt.Time, To: d.WithdrawnAt.Time, By: d.By, Via: d.Via, Detail: d.Reason})
		})
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		return with(e, func(d wire.CallEndedData) { l.ended(e, d) })
	case core.EventTurnEnded:
		return with(e, func(d wire.TurnEndedData) {
			if d.Status == core.RunDone.String() {
				l.add(Entry{Kind: End, From: e.At.Time, To: e.At.Time, Outcome: d.Reason, Detail: d.Code})
			}
		})
	}
	return nil
}

func with[T any](e wire.Event, use func(T)) error {
	var d T
	err := e.Decode(&d)
	if err == nil {
		use(d)
	}
	return err
}

func (l *Line) add(e Entry) { l.Entries = append(l.Entries, e) }

func answered(e wire.Event, d wire.StepStartedData) Entry {
	from := e.At.Time
	if d.AskedAt != nil {
		from = d.AskedAt.Time
	}
	to := from
	if d.LatencyMS != nil {
		to = from.Add(time.Duration(*d.LatencyMS) * time.Millisecond)
	}
	entry := Entry{Kind: Model, From: from, To: to, Tokens: tokensOf(d)}
	if d.Cost != nil {
		entry.Cost = d.Cost.USD
	}
	return entry
}

func tokensOf(d wire.StepStartedData) int64 {
	var u wire.StepUsage
	if core.IsNull(d.Usage) || json.Unmarshal(d.Usage, &u) != nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens
}

// said adds what the model said to its newest answer.
func (l *Line) said(text string) {
	for i := len(l.Entries) - 1; i >= 0; i-- {
		if l.Entries[i].Kind == Model {
			l.Entries[i].Text = text
			return
		}
	}
}

func (l *Line) suspended(e wire.Event, d wire.Pending) {
	if l.waits == nil {
		l.waits = map[string]int{}
	}
	l.waits[d.Suspension.ID] = len(l.Entries)
	l.add(Entry{Kind: Wait, From: e.At.Time, Tool: d.Tool, Arguments: d.Arguments, Suspension: d.Suspension.ID, call: d.CallID})
}

// decided ends a wait, unless the answer left the question open or came too late.
func (l *Line) decided(e wire.Event, d wire.DecisionRecordedData) {
	switch answer := (Entry{From: d.UpdatedAt.Time, To: d.UpdatedAt.Time, By: d.By, Via: d.Via, Action: d.Action, Detail: d.Reason}); {
	case d.Late:
		answer.Kind = Late
		l.add(answer)
	case !d.Applied && d.Vote != nil:
		answer.Kind = Vote
		l.add(answer)
	default:
		l.close(d.Suspension, e, func(w *Entry) {
			w.By, w.Via, w.At, w.Action, w.Detail = d.By, d.Via, d.UpdatedAt.Time, d.Action, d.Reason
		})
	}
}

// close ends a wait.
func (l *Line) close(sus string, e wire.Event, note func(*Entry)) {
	i, waits := l.waits[sus]
	if !waits || !l.Entries[i].To.IsZero() {
		return
	}
	l.Entries[i].To = e.At.Time
	note(&l.Entries[i])
}

// ended adds the call, as long as a body of it ran, and ends what it still waited for.
func (l *Line) ended(e wire.Event, d wire.CallEndedData) {
	for i := range l.Entries {
		if w := &l.Entries[i]; w.call == d.CallID && w.To.IsZero() {
			w.To, w.Outcome = e.At.Time, d.Outcome
		}
	}
	call := Entry{Kind: Call, From: d.EndedAt.Time, To: d.EndedAt.Time, Tool: d.ToolName, Outcome: d.Outcome, Arguments: l.ready[d.CallID].Arguments}
	if d.StartedAt != nil {
		call.From = d.StartedAt.Time
	}
	if !core.IsNull(d.RanWith) {
		call.Arguments = d.RanWith
	}
	l.add(call)
}

// compressed is from when on a bar grows with the logarithm of its time alone: a wait of days would
// leave nothing of the others.
const compressed = 3 * time.Second

// Bar is how long the bar of a duration is, of 100 for an hour or more.
func Bar(took time.Duration) int {
	const most = time.Hour
	linear := min(took, compressed).Seconds() / compressed.Seconds() * 40
	if took <= compressed {
		return int(math.Ceil(linear))
	}
	grown := math.Log(float64(min(took, most))/float64(compressed)) / math.Log(float64(most)/float64(compressed))
	return 40 + int(grown*60)
}
