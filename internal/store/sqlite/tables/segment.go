package tables

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/text/compact"
)

// packedAtOnce is the size up to which a segment is packed while its run goes on.
const packedAtOnce = 1024

// SegmentBody is what the column body has of the segment before a head: what no other column has.
// To pack a segment with a result of 2 KB takes a twentieth of a step's CPU, so one of a run that
// goes on stays text. It is packed if the run is about to wait, as long as people take.
func SegmentBody(s core.Segment, next core.Head) any {
	s.Seq, s.W, s.Prev = 0, 0, 0
	raw := s.Stored()
	if len(raw) > packedAtOnce && next.Status == core.RunRunning {
		return string(raw)
	}
	return PackBody(raw, next.Thread)
}

// PackBody is the JSON of a segment as it is stored: packed, or as text if that is not shorter.
func PackBody(raw []byte, thread string) any {
	if packed := compact.Pack(raw, thread); len(packed) < len(raw) {
		return packed
	}
	return string(raw)
}

// UnpackBody is the text of a stored body.
func UnpackBody(stored any, thread string) (string, error) {
	packed, ok := stored.([]byte)
	if !ok {
		return fmt.Sprint(stored), nil
	}
	raw, err := compact.Unpack(packed, thread)
	return string(raw), err
}

// ScanSegment reads the columns seq, w, prev and body of a thread.
func ScanSegment(s dbfile.Scanner, thread string) (core.Segment, error) {
	var seq, w, prev int64
	var raw []byte
	if err := s.Scan(&seq, &w, &prev, &raw); err != nil {
		return core.Segment{}, Unreadable("segment", err)
	}
	var segment core.Segment
	body, err := compact.Unpack(raw, thread)
	if err == nil {
		err = segment.UnmarshalJSON(body)
	}
	if err != nil {
		return core.Segment{}, Unreadable(fmt.Sprintf("segment %d", seq), err)
	}
	segment.Seq, segment.W, segment.Prev = seq, core.Stamp(w), core.Stamp(prev)
	return segment, nil
}
