package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func FuzzClean(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, words string) {
		holdsNothingHidden(t, clean(words))
		holdsNothingHidden(t, cleanJSON(json.RawMessage(words)))
		holdsNothingHidden(t, line{{red, words}}.render(false))
		for _, columns := range []int{1, 20, 80} {
			if shown := cut(clean(words), columns); wide(shown) > columns {
				t.Errorf("cut to %d it takes %d: %q", columns, wide(shown), shown)
			}
		}
		var kept strings.Builder
		for _, part := range text(words).wrap(24, 0) {
			if kept.WriteString(part.String()); wide(part.String()) > 24 {
				t.Errorf("a line of 24 takes %d: %q", wide(part.String()), part)
			}
		}
		if kept.String() != clean(words) {
			t.Errorf("wrapped it says %q, want %q", kept.String(), clean(words))
		}
	})
}

// Whatever is pressed, what is sent was asked about on the screen, by its id, and its screens hold nothing that does not show.
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
