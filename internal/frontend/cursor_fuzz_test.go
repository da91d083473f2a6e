package frontend

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// A cursor that was given out leads to where it was, whatever the journal's bounds are now; what is none is refused with its code.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "1.4.2", "1.-1.0", "1.4.-1", "1.9223372036854775807.9223372036854775807", "2.1.1", "1.1", "1.01.+1", "1.1.1.1", "1.0x1.0",
		"2.4.7.0.12.0", "2.4.0.0.12.0", "2.4.7.0.-1.0", "2.4.7.0.9223372036854775807.9223372036854775807", "2.4.7"} {
		f.Add(text, true, int64(1), int64(9), int64(4), 2, int64(0), 0)
		f.Add(text, true, int64(1), int64(9), int64(4), 2, int64(7), 2)
	}
	f.Add("MS4xLjE=", false, int64(5), int64(4), int64(0), 0, int64(0), 0)
	f.Add("not base64!", false, int64(-5), int64(-1), int64(-1), -1, int64(-1), -1)
	f.Fuzz(func(t *testing.T, text string, encode bool, from, to, seq int64, read int, epoch int64, restart int) {
		if encode {
			text = base64.RawURLEncoding.EncodeToString([]byte(text + "." + cursorMark("thr_a")))
		}
		at, err := readCursor(text, "thr_a", from, to)
		if refused, ok := errors.AsType[*Error](err); err != nil && (!ok || refused.Code != CodeBadCursor) {
			t.Fatalf("%q is refused with %v", text, err)
		}
		if err == nil && (at.seq < from || at.read < 0 || at.live.text < 0 || at.live.reasoning < 0 || at.live.any() && at.read != 0) {
			t.Fatalf("%q leads to %+v, before %d", text, at, from)
		}
		if from < 0 || to < from || to == 1<<63-1 || seq < from || seq > to+1 || read < 0 || epoch < 0 || restart < 0 {
			return
		}
		given := cursor{seq: seq, read: read}
		if epoch > 0 {
			given = cursor{seq: seq, live: hearing{epoch, restart, read, restart, read}}
		}
		if back, err := readCursor(given.of("thr_a"), "thr_a", from, to); err != nil || back != given {
			t.Fatalf("%+v came back as %+v, %v", given, back, err)
		}
		if _, err := readCursor(given.of("thr_b"), "thr_a", from, to); err == nil {
			t.Fatalf("%+v of another thread is taken", given)
		}
	})
}

// A cursor of a feed comes back as it was given out; whatever else a caller sends is refused, or leads to a place that a store takes.
func FuzzFeedCursor(f *testing.F) {
	for _, text := range []string{"", "e30", "not base64!", `{"f":"x"}`, `{"a":-1}`, `{"a":1,"s":"12345678"}`, `{"a":1,"s":"123"}`, `{"a":1,"h":[{"a":1,"t":"","n":1,"w":1}]}`,
		`{"a":1,"h":[{"a":9223372036854775807,"t":"thr_a","n":9223372036854775807,"w":-1}]}`, `{"a":1,"h":[{},{},{},{},{},{},{},{},{}]}`} {
		f.Add(text, false, int64(1), "tie", "thr_a", int64(1), 1)
		f.Add(text, true, int64(1), "", "thr_a", int64(1), 64)
	}
	f.Fuzz(func(t *testing.T, text string, encode bool, at int64, tie, thread string, seq int64, seen int) {
		if encode {
			text = strings.Replace(text, "{", `{"f":"`+feedMark("acme")+`",`, 1)
			text = base64.RawURLEncoding.EncodeToString([]byte(text))
		}
		c, err := readFeedCursor(text, "acme")
		if refused, ok := errors.AsType[*Error](err); err != nil && (!ok || refused.Code != CodeBadCursor) {
			t.Fatalf("%q is refused with %v", text, err)
		}
		if err == nil && (c.Low.Check() != nil || len(c.Seen) > mostSeen || len(c.Held) > mostHeld) {
			t.Fatalf("%q leads to %+v", text, c)
		}
		given := feedCursor{Low: engine.FeedPlace{At: at, Tie: tie}, Held: []heldEntry{{at, thread, seq, 7}}}
		for n := range min(max(seen, 0), mostSeen) {
			given.Seen = append(given.Seen, seenKey(thread, seq, core.Stamp(n)))
		}
		if given.Low.Check() != nil || seq < 1 || thread == "" || len(thread) > maxID || !utf8.ValidString(thread) || !utf8.ValidString(tie) {
			return
		}
		back, err := readFeedCursor(given.of("acme"), "acme")
		if err != nil || !reflect.DeepEqual(back, given) {
			t.Fatalf("%+v came back as %+v, %v", given, back, err)
		}
		if _, err := readFeedCursor(given.of("zoo"), "acme"); err == nil {
			t.Fatalf("%+v of another tenant is taken", given)
		}
	})
}
