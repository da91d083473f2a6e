package tables

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
	"github.com/dormouse-dev/dormouse/internal/text/compact"
)

// SegmentBody is what the column body has of a segment of a thread: what no other column has.
func SegmentBody(s core.Segment, thread string) any {
	s.Seq, s.W, s.Prev = 0, 0, 0
	return PackBody(core.Encode(s), thread)
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
		err = json.Unmarshal(body, &segment)
	}
	if err != nil {
		return core.Segment{}, Unreadable(fmt.Sprintf("segment %d", seq), err)
	}
	segment.Seq, segment.W, segment.Prev = seq, core.Stamp(w), core.Stamp(prev)
	return segment, nil
}
