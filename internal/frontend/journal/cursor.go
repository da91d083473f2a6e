package journal

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Cursor is a place in a thread's journal: a segment, and how many of its entries were read. Behind
// all that is committed, it is also a place in what the model is saying.
type Cursor struct {
	Seq  int64
	Read int
	// what the reader has heard of live text; Read is then 0, and Seq is the segment that
	// settles it
	Live Hearing
}

// Hearing is how far a reader has heard an attempt; the zero value hears none.
type Hearing struct {
	Epoch           int64
	Restart         int
	Text, Reasoning int // bytes
	Notes           int // the version of the last one
}

// Any says whether an attempt was heard.
func (h Hearing) Any() bool { return h != Hearing{} }

// Of is the cursor as callers have it, opaque, for this thread alone. Version 1 has no place in
// what is being said, and version 2 none in what bodies do.
func (c Cursor) Of(thread string) string {
	text := fmt.Sprintf("1.%d.%d.%s", c.Seq, c.Read, CursorMark(thread))
	if l := c.Live; l.Notes > 0 {
		text = fmt.Sprintf("3.%d.%d.%d.%d.%d.%d.%s", c.Seq, l.Epoch, l.Restart, l.Text, l.Reasoning, l.Notes, CursorMark(thread))
	} else if l.Any() {
		text = fmt.Sprintf("2.%d.%d.%d.%d.%d.%s", c.Seq, l.Epoch, l.Restart, l.Text, l.Reasoning, CursorMark(thread))
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// EndOf is the cursor behind everything that is committed of a run.
func EndOf(r core.Record) string { return Cursor{Seq: r.Seq + 1}.Of(r.Thread) }

// EncodeCursor makes an opaque cursor of a value that JSON can hold.
func EncodeCursor(v any) string { return base64.RawURLEncoding.EncodeToString(core.Encode(v)) }

// DecodeCursor is the other way, and says whether the text is such a cursor.
func DecodeCursor(text string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// CursorMark tells a cursor of another thread, most of the time: such a one is a mistake, not an
// attack.
func CursorMark(thread string) string { return core.Digest([]byte(thread))[:6] }

// ReadCursor reads a cursor of the thread, and moves it into the segments from..to+1. Empty is the
// beginning.
func ReadCursor(text, thread string, from, to int64) (Cursor, error) {
	if text == "" {
		return Cursor{Seq: from}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	inner, ours := strings.CutSuffix(string(raw), "."+CursorMark(thread))
	version, numbers, ok := readNumbers(inner)
	if err != nil || !ours || !ok {
		return Cursor{}, BadCursor()
	}
	var at Cursor
	switch {
	case version == "1" && len(numbers) == 2:
		at = Cursor{Seq: numbers[0], Read: int(numbers[1])}
	case version == "2" && len(numbers) == 5 && numbers[1] > 0:
		at = Cursor{Seq: numbers[0], Live: Hearing{numbers[1], int(numbers[2]), int(numbers[3]), int(numbers[4]), 0}}
	case version == "3" && len(numbers) == 6 && numbers[1] > 0:
		at = Cursor{Seq: numbers[0], Live: Hearing{numbers[1], int(numbers[2]), int(numbers[3]), int(numbers[4]), int(numbers[5])}}
	default:
		return Cursor{}, BadCursor()
	}
	if at.Seq > to+1 {
		return Cursor{}, BadCursor()
	}
	if at.Seq < from {
		return Cursor{Seq: from}, nil
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

// BadCursor refuses a cursor that is not one of the list that it was given for.
func BadCursor() *refusal.Error {
	return refusal.New(refusal.CodeBadCursor, "the cursor is invalid or belongs to another list; start again without it")
}
