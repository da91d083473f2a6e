package inbox

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Whatever is pressed, what is sent was asked about on the screen, by its id, and its screens hold
// nothing that does not show.
func FuzzInbox(f *testing.F) {
	for _, keys := range []string{"jyy", "jnno\r", "jj\r  y", "je", "jr{}\r", "jxa\r", "j\x1b[200~yyy\x1b[201~y", "Gyqky\x03"} {
		f.Add(keys, true)
		f.Add(keys, false)
	}
	f.Fuzz(func(t *testing.T, keys string, slow bool) {
		p := walks(t, waits(1, "approval"), waits(2, "client"), waits(3, "unknown_outcome"), waits(4, "interrupt"))
		for n, k := range p.board.read([]byte(keys)) {
			before := p.screen()
			if p.now = p.now.Add(time.Millisecond); slow {
				p.now = p.now.Add(time.Second)
			}
			switch p.inbox.press(k, p.now) {
			case sendDraft:
				if id := p.inbox.draft.Target; id != p.inbox.item.Suspension.ID || !strings.Contains(before, id) {
					t.Fatalf("key %d: %q was answered, and the screen was\n%s", n, id, before)
				}
				if p.inbox.draft.Action == "resume" && !slow {
					t.Fatalf("key %d: approved without a pause", n)
				}
				p.inbox.sent(wire.DecisionAnswer{Status: 202, Code: "accepted"}, nil)
			case editItem:
				p.inbox.changed(json.RawMessage(`{"amount":1}`), nil)
			case quit:
				return
			}
			if n%3 == 2 {
				p.inbox.news(slices.Clone(p.inbox.items[min(1, len(p.inbox.items)):]), false)
			}
			p.draws()
			holdsNothingHidden(t, strings.ReplaceAll(p.screen(), "\n", ""))
		}
	})
}
