package frontend

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// cursor is a place in a thread's journal: a segment, and how many of its entries were read. Behind all that is committed, it is also a
// place in what the model is saying.
type cursor struct {
	seq  int64
	read int
	live hearing // read is 0 if somebody hears, and seq the segment that will say what became of it
}

// hearing is how far a reader has heard an attempt; the zero value hears none.
type hearing struct {
	epoch           int64
	restart         int
	text, reasoning int // bytes
	notes           int // the version of the last one
}

func (h hearing) any() bool { return h != hearing{} }

// of is the cursor as callers have it, opaque, for this thread alone. Version 1 has no place in what is being said, and version 2 none in
// what bodies do.
func (c cursor) of(thread string) string {
	text := fmt.Sprintf("1.%d.%d.%s", c.seq, c.read, cursorMark(thread))
	if l := c.live; l.notes > 0 {
		text = fmt.Sprintf("3.%d.%d.%d.%d.%d.%d.%s", c.seq, l.epoch, l.restart, l.text, l.reasoning, l.notes, cursorMark(thread))
	} else if l.any() {
		text = fmt.Sprintf("2.%d.%d.%d.%d.%d.%s", c.seq, l.epoch, l.restart, l.text, l.reasoning, cursorMark(thread))
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// encodeCursor makes an opaque cursor of a value that JSON can hold.
func encodeCursor(v any) string { return base64.RawURLEncoding.EncodeToString(core.Encode(v)) }

// decodeCursor is the other way, and says whether the text is such a cursor.
func decodeCursor(text string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// cursorMark tells a cursor of another thread, most of the time: such a one is a mistake, not an attack.
func cursorMark(thread string) string { return core.Digest([]byte(thread))[:6] }

// readCursor reads a cursor of the thread, and moves it into the segments from..to+1. Empty is the beginning.
func readCursor(text, thread string, from, to int64) (cursor, error) {
	if text == "" {
		return cursor{seq: from}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	inner, ours := strings.CutSuffix(string(raw), "."+cursorMark(thread))
	version, numbers, ok := readNumbers(inner)
	if err != nil || !ours || !ok {
		return cursor{}, badCursor()
	}
	var at cursor
	switch {
	case version == "1" && len(numbers) == 2:
		at = cursor{seq: numbers[0], read: int(numbers[1])}
	case version == "2" && len(numbers) == 5 && numbers[1] > 0:
		at = cursor{seq: numbers[0], live: hearing{numbers[1], int(numbers[2]), int(numbers[3]), int(numbers[4]), 0}}
	case version == "3" && len(numbers) == 6 && numbers[1] > 0:
		at = cursor{seq: numbers[0], live: hearing{numbers[1], int(numbers[2]), int(numbers[3]), int(numbers[4]), int(numbers[5])}}
	default:
		return cursor{}, badCursor()
	}
	if at.seq > to+1 {
		return cursor{}, badCursor()
	}
	if at.seq < from {
		return cursor{seq: from}, nil
	}
	return at, nil
}

// readNumbers reads "version.n.n...", none of the numbers negative.
func readNumbers(text string) (version string, numbers []int64, ok bool) {
	version, rest, _ := strings.Cut(text, ".")
	for field := range strings.SplitSeq(rest, ".") {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 || int64(int(n)) != n {
			return "", nil, false
		}
		numbers = append(numbers, n)
	}
	return version, numbers, true
}

func badCursor() *Error { return refuse(CodeBadCursor, "the cursor is not one of this list") }
