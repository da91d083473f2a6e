package notice

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Line is the small head of what one thread still owes one endpoint. Owners of the run add entries;
// everything else is written by the worker that holds the line's claim, on condition of Epoch, one
// entry at a time and never as a whole.
type Line struct {
	Epoch int64  `json:"epoch"` // fencing token: raised by each claim
	Lease int64  `json:"lease"` // when the claim ends; 0: no worker has it
	Claim string `json:"claim"` // the last claim; stays after a release
	Last  int64  `json:"last"`  // the newest event that was handed over; never goes back
	Adds  int64  `json:"adds"`  // how many entries were ever added; see [Line.Leave]
	At    int64  `json:"at"`    // when there is something to do
	// when the sweep shall wake the line; 0: never, nothing is left. Only the sweep reads it,
	// and it moves the time on before it sends a wake-up
	Due int64 `json:"due"`

	Entries map[int64]Entry `json:"entries"` // by the event's number
}

// Entry is a notice on its way.
type Entry struct {
	Kind      Kind      `json:"k"`
	Seq       int64     `json:"s"`            // the segment that holds the event
	Since     int64     `json:"t"`            // when it was handed over, or redriven
	NotBefore int64     `json:"nb,omitempty"` // the next attempt; 0 before the first
	Tries     int       `json:"n,omitempty"`  // attempts so far
	Attempts  []Attempt `json:"a,omitempty"`  // the newest [MostAttempts]
}

// Attempt is one try to deliver a notice.
type Attempt struct {
	At     int64  `json:"at"`
	Took   int64  `json:"ms"`             // how long it took, in ms
	Status int    `json:"code,omitempty"` // HTTP status; 0: there was no answer
	Error  string `json:"err,omitempty"`  // safe to show; empty: delivered
}

// Claimable says whether a claim at now would be granted: the condition that every store enforces.
func (l Line) Claimable(now int64, claim string) bool {
	return l.Due != 0 && l.At <= now+Early && (l.Lease == 0 || l.Lease < now) && l.Claim != claim
}

// Early is by how much, in ms, a line may be claimed ahead of its time: the clock of the
// worker that handed a notice over may be that much ahead of the worker's.
const Early = 5000

// Next returns the entry to attempt now; false if none is. First attempts are made in the order of
// events, and before attempts that are made again, so that a receiver that was down for a while
// gets what is new in order and does not wait for what is old.
func (l Line) Next(now int64) (event int64, ok bool) {
	for _, ev := range slices.Sorted(maps.Keys(l.Entries)) {
		if l.Entries[ev].Tries == 0 {
			return ev, true
		}
		at := l.Entries[ev].NotBefore
		if at <= now && (!ok || at < l.Entries[event].NotBefore) {
			event, ok = ev, true
		}
	}
	return event, ok
}

// Leave returns when the line is due if the worker gives it up now; 0 if nothing is left, and the
// line leaves the index. The write that gives it up demands that Adds is as the worker saw it:
//
//	worker: sees no entry but 1 ─────────── removes 1 and the due time: refused, sees 2
//	owner of the run:            adds 2 ──┘
func (l Line) Leave(now int64) (at int64) {
	for _, e := range l.Entries {
		next := e.NotBefore
		if e.Tries == 0 {
			next = now
		}
		if at == 0 || next < at {
			at = next
		}
	}
	return at
}

// Outcome is what an attempt came to.
type Outcome uint8

const (
	Delivered Outcome = iota + 1
	Refused           // not now: try again
	Gone              // the endpoint wants nothing any more
	Hopeless          // this notice can't be delivered, now or later
)

// State is what becomes of an entry after an attempt.
type State string

const (
	StateWaiting   State = "waiting"   // it is tried again
	StateDelivered State = "delivered" // the endpoint has it
	StateDead      State = "dead"      // given up: it waits for an operator
)

// After returns the entry after an attempt and what becomes of it. random is in [0, 1).
func (e Entry) After(o Outcome, a Attempt, random float64) (Entry, State) {
	e.Tries++
	a.Error = strings.Clone(core.ClipBytes(a.Error, MostError))
	e.Attempts = append(slices.Clone(e.Attempts), a)
	if extra := len(e.Attempts) - MostAttempts; extra > 0 {
		e.Attempts = e.Attempts[extra:]
	}
	switch o {
	case Delivered:
		return e, StateDelivered
	case Gone, Hopeless:
		return e, StateDead
	}
	now := a.At + a.Took
	e.NotBefore = now + pause(e.Tries, random)
	if e.NotBefore > e.Since+GiveUp {
		return e, StateDead
	}
	return e, StateWaiting
}

const (
	// GiveUp is how long, in ms, a notice is tried before it is dead.
	GiveUp = 24 * 60 * 60_000

	// MostAttempts is how many attempts an entry remembers, and MostError how many bytes of
	// the error of each.
	MostAttempts = 8
	MostError    = 300

	firstPause   = 5_000
	longestPause = 2 * 60 * 60_000
)

// pause returns how long, in ms, to wait after so many attempts: three times as long each time, up
// to two hours, and between half of that and all of it.
func pause(tries int, random float64) int64 {
	p := int64(firstPause)
	for range tries - 1 {
		p = min(3*p, longestPause)
	}
	return p/2 + int64(random*float64(p)/2)
}

// HandOver adds a notice to the line, due at now. It returns false, and the line as it is, if the
// line has had a notice of this event or of a later one. [Line.Trim] comes next.
func (l Line) HandOver(event int64, kind Kind, seq, now int64) (Line, bool) {
	if event <= l.Last {
		return l, false
	}
	l.Last = event
	return l.add(event, Entry{Kind: kind, Seq: seq, Since: now}, now), true
}

// Redrive adds a dead notice to the line again, due at now. [Line.Trim] comes next.
func (l Line) Redrive(r Record, now int64) Line {
	return l.add(r.Event, Entry{Kind: r.Kind, Seq: r.Seq, Since: now, NotBefore: now, Tries: max(r.Tries, 1), Attempts: r.Attempts}, now)
}

// With returns the line with e as its entry for an event, or without one if e is nil.
func (l Line) With(event int64, e *Entry) Line {
	l.Entries = maps.Clone(l.Entries)
	switch {
	case e == nil:
		delete(l.Entries, event)
	case l.Entries == nil:
		l.Entries = map[int64]Entry{event: *e}
	default:
		l.Entries[event] = *e
	}
	return l
}

// Released returns the line as its worker gives it up, due again at a time; at 0 it leaves the
// index.
func (l Line) Released(due int64) Line {
	l.Lease, l.At, l.Due = 0, due, due
	return l
}

func (l Line) add(event int64, e Entry, now int64) Line {
	l = l.With(event, &e)
	l.Adds++
	l.At, l.Due = now, now
	return l
}

// Key names a line: whose it is, and which endpoint of it.
type Key struct {
	Tenant   string `json:"-"`
	Thread   string `json:"-"`
	Endpoint string `json:"-"`
}

// Compare orders lines by tenant, thread and endpoint.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, o.Tenant), cmp.Compare(k.Thread, o.Thread), cmp.Compare(k.Endpoint, o.Endpoint))
}
