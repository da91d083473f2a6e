package journal

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// A cursor that was given out leads to where it was, whatever the journal's bounds are now; what is
// none is refused with its code.
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
			text = base64.RawURLEncoding.EncodeToString([]byte(text + "." + CursorMark("thr_a")))
		}
		at, err := ReadCursor(text, "thr_a", from, to)
		if refused, ok := errors.AsType[*refusal.Error](err); err != nil && (!ok || refused.Code != refusal.CodeBadCursor) {
			t.Fatalf("%q is refused with %v", text, err)
		}
		if err == nil && (at.Seq < from || at.Read < 0 || at.Live.Text < 0 || at.Live.Reasoning < 0 || at.Live.Any() && at.Read != 0) {
			t.Fatalf("%q leads to %+v, before %d", text, at, from)
		}
		if from < 0 || to < from || to == 1<<63-1 || seq < from || seq > to+1 || read < 0 || epoch < 0 || restart < 0 {
			return
		}
		given := Cursor{Seq: seq, Read: read}
		if epoch > 0 {
			given = Cursor{Seq: seq, Live: Hearing{epoch, restart, read, restart, read}}
		}
		if back, err := ReadCursor(given.Of("thr_a"), "thr_a", from, to); err != nil || back != given {
			t.Fatalf("%+v came back as %+v, %v", given, back, err)
		}
		if _, err := ReadCursor(given.Of("thr_b"), "thr_a", from, to); err == nil {
			t.Fatalf("%+v of another thread is taken", given)
		}
	})
}
