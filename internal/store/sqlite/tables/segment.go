package tables

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// SegmentText is a segment without the fields that have separate columns.
func SegmentText(s core.Segment) string {
	s.Seq, s.W, s.Prev = 0, 0, 0
	return Text(s)
}

// ScanSegment reads the columns seq, w, prev and body.
func ScanSegment(s dbfile.Scanner) (core.Segment, error) {
	var seq, w, prev int64
	var raw []byte
	if err := s.Scan(&seq, &w, &prev, &raw); err != nil {
		return core.Segment{}, Unreadable("segment", err)
	}
	var segment core.Segment
	if err := json.Unmarshal(raw, &segment); err != nil {
		return core.Segment{}, Unreadable(fmt.Sprintf("segment %d", seq), err)
	}
	segment.Seq, segment.W, segment.Prev = seq, core.Stamp(w), core.Stamp(prev)
	return segment, nil
}
