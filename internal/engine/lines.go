package engine

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

// Lines take notices from the owner of a run. The write is atomic, and sending it again after
// [ErrUnavailable] has the effect of sending it once.
type Lines interface {
	// HandOver adds a notice to its line, makes the line if it is not there, and makes it due.
	// Nothing is written if the line has had a notice of this event or of a later one; that is
	// no error. Then the line is trimmed to its bound, see [notice.Line.Trim]: what it gives up
	// has a record before it leaves the line. After a crash in between, the next hand-over
	// trims the line. Woken says that a wake-up was sent in the same transaction.
	HandOver(ctx context.Context, req HandOver) (woken bool, err error)
}

// HandOver is one notice for one endpoint. A commit has made its event part of the journal.
type HandOver struct {
	notice.Key
	Event int64
	Kind  notice.Kind
	Seq   int64 // the segment that holds the event
	Now   int64 // the caller's clock
	Wake  bool  // the store may send the wake-up
}

// LineClaim asks for a line. Claim is random for each claim, as in [ClaimRequest].
type LineClaim struct {
	notice.Key
	Claim    string
	Now      int64 // the caller's clock
	LeaseEnd int64
	Due      int64 // when the sweep shall look, should the worker die
}

// LineWrite is one write of the worker that holds a line, on condition of its epoch. Writes change
// one entry and never the line as a whole: owners of the run add others meanwhile.
type LineWrite struct {
	notice.Key
	Epoch int64

	// Event is the entry to change; 0 for none. Entry takes its place, or removes it if it is
	// nil. That it is there is a condition of the former, see [LineWrite.Gone].
	Event int64
	Entry *notice.Entry

	// Record is stored before anything else; a crash may leave it beside the entry.
	Record *notice.Record

	// Release gives the claim up, with the line due at Due, or in no index if that is 0.
	Release bool
	Due     int64

	// Adds, unless it is 0, is a condition: no entry was added since. A write that releases has
	// it, and one that gives a notice up: an operator who finds the record may redrive the
	// notice before the line is without it.
	Adds int64
}

// Gone says whether an entry that the write would replace is not in the line any more. A late copy
// of a write must not bring it back: the line may have been given up as empty.
//
//	write {7: tried once} ── write {without 7, released} ── the copy of the first: refused
func (w LineWrite) Gone(l notice.Line) bool {
	_, there := l.Entries[w.Event]
	return w.Entry != nil && !there
}

// RecordQuery says which records of a tenant are wanted, newest first, from behind the cursor.
type RecordQuery struct {
	Thread, Endpoint string // empty: of all
	Dead             bool   // only those of dead notices
	Cursor           string
	Limit            int
}
