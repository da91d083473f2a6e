package core

import (
	"cmp"
	"slices"
)

// Out is something that must be sent after the commit that names it, at least once.
type Out struct {
	Kind OutKind `json:"k"`
	Call string  `json:"c,omitempty"`
	Sus  string  `json:"sus,omitempty"`

	// of an interrupt and its end: the interrupt's id
	ID string `json:"i,omitempty"`

	// of notices: the first event that is owed, and the segment that holds it
	Event int64 `json:"e,omitempty"`
	Seq   int64 `json:"q,omitempty"`
}

// OutKind says what an outbox entry sends.
type OutKind string

const (
	OutLaunch    OutKind = "launch"    // starts a child
	OutInterrupt OutKind = "interrupt" // pauses one, because this run is paused
	OutContinue  OutKind = "continue"  // lets it go on
	OutCancel    OutKind = "cancel"    // cancels one that is no longer waited for
	OutTell      OutKind = "tell"      // tells the parent how the run has ended
	OutStop      OutKind = "stop"      // stops the task of an agent elsewhere
	// hands the events from one on over to the lines of those who subscribed to them
	OutNotices OutKind = "notices"
	// of heads that an older program wrote; nothing is sent for it
	OutNotify OutKind = "notify"
	// gives the run to the agent's memory, once, whether it takes it or not; given up if that
	// seems to kill the process
	OutMemory OutKind = "memory"
)

// outOrder is the order in which entries are sent. A child must be there before it can be paused,
// and it must be paused before it can go on.
//
//	interrupt ── finds no child ── launch: a child works below a run that is paused
var outOrder = []OutKind{OutNotices, OutLaunch, OutInterrupt, OutContinue, OutCancel, OutTell, OutStop, OutNotify, OutMemory}

// Urgent says whether the entry is sent as soon as it is committed. The others are sent at the end
// of the run.
func (o Out) Urgent() bool {
	return o.Kind != OutTell && o.Kind != OutStop && o.Kind != OutNotify && o.Kind != OutMemory
}

// Owed returns the keys of the entries that are wanted and not among the sent ones, in the order in
// which they are sent.
func Owed(out map[string]Out, sent map[string]bool, wanted func(Out) bool) []string {
	keys := []string{}
	for key, o := range out {
		if !sent[key] && wanted(o) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(outOrder, out[a].Kind), slices.Index(outOrder, out[b].Kind)), cmp.Compare(a, b))
	})
	return keys
}

// OutboxNotices is the outbox key of the events that subscribers are owed.
const OutboxNotices = "n"

// OutboxTell is the outbox key of the result that a run owes its parent.
const OutboxTell = "p"

// OutboxStop is the outbox key of the stop that a run owes the agent elsewhere that works for it.
const OutboxStop = "s"

// LaunchKey is the outbox key of the launch of a child.
func LaunchKey(suspension string) string { return "l:" + suspension }

// CancelKey is that of the cancel of a child.
func CancelKey(suspension string) string { return "c:" + suspension }

// PauseKey is that of an interrupt of a child, and GoOnKey that of its end.
func PauseKey(suspension string) string { return "i:" + suspension }

// GoOnKey is described at [PauseKey].
func GoOnKey(suspension string) string { return "r:" + suspension }

// NoticeKey is the outbox key of the notice of a suspension, in heads that an older program wrote.
func NoticeKey(suspension string) string { return "n:" + suspension }
