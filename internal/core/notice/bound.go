package notice

import (
	"cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Bound is how much a line holds, so that it fits a DynamoDB item (400 KB) whether or not a worker
// delivers anything.
type Bound struct {
	Failed int // entries that were attempted before
	New    int // entries that were not
	Bytes  int // all entries together, as they are stored
}

// Most is the bound of every store. An item has 100 KB more, for what is written before a line is
// trimmed: the entry that is too many, and an attempt that a worker records meanwhile.
var Most = Bound{Failed: 200, New: 2000, Bytes: 300 << 10}

// TooMany is the error of a notice that was given up because its line was full.
const TooMany = "given up: too many notices wait for the endpoint; redrive this one once the endpoint works"

// Excess returns the entry to give up because the line is full: of those that were attempted
// before, or of the others, whichever are too many, the one that has waited longest; false if the
// line is not full. Where only the bytes are too many, those that were attempted before go first:
// their attempts are what is large.
func (l Line) Excess(b Bound) (event int64, ok bool) {
	failed, bytes := 0, 0
	for _, e := range l.Entries {
		bytes += e.bytes()
		if e.Tries > 0 {
			failed++
		}
	}
	fresh := len(l.Entries) - failed
	switch {
	case failed > b.Failed, bytes > b.Bytes && failed > 0:
		return l.longest(func(e Entry) bool { return e.Tries > 0 }), true
	case fresh > b.New, bytes > b.Bytes && fresh > 0:
		return l.longest(func(e Entry) bool { return e.Tries == 0 }), true
	}
	return 0, false
}

// longest returns the entry that has waited longest, of those that are asked for.
func (l Line) longest(asked func(Entry) bool) (event int64) {
	var first *Entry
	for ev, e := range l.Entries {
		if asked(e) && (first == nil || cmp.Or(cmp.Compare(e.Since, first.Since), cmp.Compare(ev, event)) < 0) {
			event, first = ev, &e
		}
	}
	return event
}

// Trim gives up entries until the line keeps its bound. It returns the line without them, and the
// records of what it gave up: dead letters, which an operator can redrive once the endpoint works.
func (l Line) Trim(k Key, b Bound, now int64) (Line, []Record) {
	var dead []Record
	for {
		event, full := l.Excess(b)
		if !full {
			return l, dead
		}
		e, state := l.Entries[event].After(Hopeless, Attempt{At: now, Error: TooMany}, 0)
		dead = append(dead, e.Record(k, event, state, now))
		l = l.With(event, nil)
	}
}

// bytes is how much an entry takes up in a store that stores each under its number.
func (e Entry) bytes() int {
	const least = 100 // the number, and an entry that was not attempted
	if e.Tries == 0 {
		return least
	}
	return least + 60 + len(core.Encode(e.Attempts))
}
