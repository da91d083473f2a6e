package query

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// A cursor of a feed comes back as it was given out; whatever else a caller sends is refused, or
// leads to a place that a store takes.
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
		if refused, ok := errors.AsType[*refusal.Error](err); err != nil && (!ok || refused.Code != refusal.CodeBadCursor) {
			t.Fatalf("%q is refused with %v", text, err)
		}
		if err == nil && (c.Low.Check() != nil || len(c.Seen) > mostSeen || len(c.Held) > mostHeld) {
			t.Fatalf("%q leads to %+v", text, c)
		}
		given := feedCursor{Low: engine.FeedPlace{At: at, Tie: tie}, Held: []heldEntry{{at, thread, seq, 7}}}
		for n := range min(max(seen, 0), mostSeen) {
			given.Seen = append(given.Seen, seenKey(thread, seq, core.Stamp(n)))
		}
		if given.Low.Check() != nil || seq < 1 || thread == "" || len(thread) > journal.MaxID || !utf8.ValidString(thread) || !utf8.ValidString(tie) {
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
