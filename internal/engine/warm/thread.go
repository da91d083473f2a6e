package warm

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Thread is what is known of one thread's journal: its last segments, and the transcript up to
// one of them.
type Thread struct {
	tail  []core.Segment // consecutive, none if nothing is known
	bytes int            // of tail, about

	talk   core.Transcript
	folded int64      // the segments 1 to this one are in talk
	stamp  core.Stamp // of that segment
}

// tailBytes bounds what is kept of the segments themselves: enough for the rounds that are open,
// which every step looks at.
const tailBytes = 512 << 10

// Read reads the segments from one on to the one that the head names.
type Read func(from int64) ([]core.Segment, error)

// Since returns the segments from one on to the head's, held to the chain of stamps that the head
// ends. Only those that aren't known are read.
func (t *Thread) Since(h core.Head, from int64, read Read) ([]core.Segment, error) {
	from = max(from, 1)
	if segments, ok, err := t.extend(h, from, read); ok || err != nil {
		return segments, err
	}
	segments, err := read(from)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if err := core.CheckChain(h, from, segments); err != nil {
		return nil, err
	}
	if from >= t.first() || !t.names(h) {
		t.tail, t.bytes = nil, 0
		t.take(segments)
	}
	return segments, nil
}

// extend answers from the tail and what follows it; false if that is no answer, because the tail
// begins later, or is of an earlier life of the thread's name:
//
//	process A:  commits 7 ── 8, and keeps them
//	others:                    the thread is deleted, and begins again ── 1 ... 9
//	A claims the run: its 8 is not the one before 9
func (t *Thread) extend(h core.Head, from int64, read Read) (segments []core.Segment, ok bool, err error) {
	if len(t.tail) == 0 || from < t.first() || from > t.last().Seq+1 || t.last().Seq > h.Seq {
		return nil, false, nil
	}
	var more []core.Segment
	if t.last().Seq < h.Seq {
		if more, err = read(t.last().Seq + 1); err != nil {
			return nil, false, fmt.Errorf("reading the journal: %w", err)
		}
	}
	all := append(t.tail[:len(t.tail):len(t.tail)], more...)
	first := t.first()
	if core.CheckChain(h, first, all) != nil {
		return nil, false, nil
	}
	t.take(more)
	return all[from-first:], true, nil
}

// Transcript is what was said up to the head's segment.
func (t *Thread) Transcript(h core.Head, read Read) (*core.Transcript, error) {
	if t.folded > h.Seq {
		t.unfold()
	}
	segments, err := t.Since(h, t.folded+1, read)
	if err != nil {
		return nil, err
	}
	if !t.leadsTo(h, segments) {
		t.unfold()
		if segments, err = t.Since(h, 1, read); err != nil {
			return nil, err
		}
	}
	for _, s := range segments {
		t.talk.Add(s.Messages...)
	}
	t.folded, t.stamp = h.Seq, h.Seg
	return &t.talk, nil
}

// leadsTo says whether the segments continue what was folded.
func (t *Thread) leadsTo(h core.Head, segments []core.Segment) bool {
	if len(segments) == 0 {
		return t.stamp == h.Seg
	}
	return t.folded == 0 || segments[0].Prev == t.stamp
}

func (t *Thread) unfold() { t.talk, t.folded, t.stamp = core.Transcript{}, 0, 0 }

// Committed adds a segment that the owner has committed, as a reader would find it.
func (t *Thread) Committed(s core.Segment) {
	if len(t.tail) > 0 && (t.last().Seq+1 != s.Seq || t.last().W != s.Prev) {
		return // the next reader finds out
	}
	stored := core.Segment{}
	if stored.UnmarshalJSON(s.Stored()) == nil {
		t.take([]core.Segment{stored})
	}
}

// take adds segments to the tail, and lets go of its oldest.
func (t *Thread) take(segments []core.Segment) {
	for _, s := range segments {
		t.tail = append(t.tail, s)
		t.bytes += bytesOf(s)
	}
	gone := 0
	for ; t.bytes > tailBytes && gone < len(t.tail)-1; gone++ {
		t.bytes -= bytesOf(t.tail[gone])
	}
	if gone > 0 {
		t.tail = append([]core.Segment(nil), t.tail[gone:]...)
	}
}

func (t *Thread) first() int64 {
	if len(t.tail) == 0 {
		return 0
	}
	return t.tail[0].Seq
}

func (t *Thread) last() core.Segment { return t.tail[len(t.tail)-1] }

// names says whether the head ends the tail.
func (t *Thread) names(h core.Head) bool { return len(t.tail) > 0 && t.last().W == h.Seg }

func (t *Thread) size() int { return t.bytes + t.talk.Size() }

func bytesOf(s core.Segment) int {
	const fields = 200
	n := fields
	for _, m := range s.Messages {
		n += m.Size()
	}
	for _, e := range s.Events {
		n += fields + len(e.Data)
	}
	return n
}
