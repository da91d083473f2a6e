package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
)

// insists does whatever may lead to an approval, and returns everything that was drawn meanwhile.
func (p *person) insists() (drawn string, sent bool) {
	drawn = p.draws()
	for range 60 {
		for _, key := range []string{" ", "y"} {
			sent = p.types(key) == sendDraft
			drawn += p.draws()
			if sent {
				return drawn, sent
			}
		}
	}
	return drawn, sent
}

func TestInboxApprovesNothingThatTheWindowIsTooSmallFor(t *testing.T) {
	ids := waits(1, "approval")
	ids.RunID, ids.Suspension.ID, ids.Tool = "run_ewuibbrzogybp3m2aylul3cr_0", "sus_4_lt3l2msrmzhpnsyu", strings.Repeat("pay", 21)
	wideOnes := waits(1, "approval")
	wideOnes.Suspension.Message = "日本"
	for _, size := range [][2]int{{0, 0}, {80, 0}, {0, 24}, {1, 1}, {1, 200}, {2, 2}, {10, 24}, {20, 5}, {20, 8}, {30, 6}, {40, 6}, {80, 5}, {80, 6}, {80, 7}, {80, 24}} {
		for _, item := range []wire.Approval{waits(1, "approval"), ids, wideOnes} {
			t.Run(fmt.Sprintf("%dx%d %s", size[0], size[1], item.Tool), func(t *testing.T) {
				p := walks(t, item)
				p.inbox.resize(size[0], size[1])
				p.types("jy")
				drawn, sent := p.insists()
				for _, what := range []string{"120", "A-1"} {
					if sent && !strings.Contains(drawn, what) {
						t.Errorf("it was approved, and %s was never drawn", what)
					}
				}
				p.inbox.resize(80, 24)
				p.draws()
				if sent {
					return
				}
				if _, sent = p.insists(); !sent {
					t.Errorf("in a larger window it cannot be approved either:\n%s", p.screen())
				}
			})
		}
	}
	p := walks(t, ids)
	p.inbox.resize(80, 5)
	p.types("jyy")
	if drawn := p.draws(); !strings.Contains(drawn, "Make the window larger") {
		t.Errorf("it does not say what to do:\n%q", drawn)
	}
}

func TestInboxTakesAKeyThatWasTypedAheadOfWhatIsShownForNoAnswer(t *testing.T) {
	edited := json.RawMessage(`{"order":"A-1","amount":99999}`)
	t.Run("before they are drawn", func(t *testing.T) {
		p := walks(t, waits(1, "approval"))
		p.types("je")
		p.now = p.now.Add(time.Minute)
		p.inbox.changed(edited, nil)
		if got := p.inbox.press(key{char: 'y'}, p.now.Add(time.Second)); got != nothing {
			t.Errorf("it leads to %d with %s", got, p.inbox.draft.Arguments)
		}
	})
	t.Run("at the moment they are drawn", func(t *testing.T) {
		p := walks(t, waits(1, "approval"))
		p.types("je")
		p.changed(edited, nil)
		if got := p.inbox.press(key{char: 'y'}, p.now.Add(calm/2)); got != nothing {
			t.Errorf("it leads to %d with %s", got, p.inbox.draft.Arguments)
		}
		p.sees("That was quick.")
		if p.types("y") != sendDraft {
			t.Errorf("later it cannot be sent:\n%s", p.screen())
		}
	})
	t.Run("while a slow terminal shows the question", func(t *testing.T) {
		p := walks(t, waits(1, "approval"))
		p.types("j")
		p.inbox.press(key{char: 'y'}, p.now.Add(time.Second))
		p.now = p.now.Add(time.Minute)
		p.draws()
		if got := p.inbox.press(key{char: 'y'}, p.now.Add(calm/2)); got != nothing {
			t.Errorf("it leads to %d", got)
		}
	})
	t.Run("in the same breath as the key that opened the editor", func(t *testing.T) {
		p := walks(t, waits(1, "approval"))
		p.types("j")
		var did []string
		note := func(what string) func() error {
			return func() error { did = append(did, what); return nil }
		}
		w := &walker{inbox: *p.inbox, now: func() time.Time { p.now = p.now.Add(time.Second); return p.now }, raw: note("raw"), restore: note("restore"),
			flush: func() { did = append(did, "flush") }, out: new(strings.Builder)}
		w.editor = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			did = append(did, "edit")
			return edited, nil
		}
		if leave, err := w.keys(t.Context(), []byte("eyyn\x1b[200~")); leave || err != nil || w.inbox.sending || w.inbox.place != atConfirm {
			t.Errorf("leave %v, %v, sending %v, at %d", leave, err, w.inbox.sending, w.inbox.place)
		}
		if got := strings.Join(did, " "); got != "restore edit flush raw" || w.board.pasting {
			t.Errorf("did %s; pasting %v", got, w.board.pasting)
		}
	})
}

func TestInboxShowsEventsOnlyToWhoeverStillReadsTheirCall(t *testing.T) {
	events := []display.Line{display.Text("EVENTS OF RUN ONE")}
	for name, keys := range map[string]string{
		"went back to the list":     "q",
		"reads another call":        "qj" + keyEnter,
		"is asked about another":    "qj" + keyEnter + "y",
		"is asked about this one":   "y",
		"says why this one must no": "ntoo",
	} {
		for _, err := range []error{nil, errors.New("timed out")} {
			t.Run(fmt.Sprintf("%s, %v", name, err), func(t *testing.T) {
				p := walks(t, waits(1, "approval"), waits(2, "approval"))
				if p.types("jo") != readEvents {
					t.Fatal("o reads no events")
				}
				p.types(keys)
				before, at := p.screen(), p.inbox.place
				p.inbox.showEvents("sus_1", events, err)
				if p.screen() != before || p.inbox.place != at {
					t.Errorf("from\n%s\nto\n%s", before, p.screen())
				}
			})
		}
	}
	p := walks(t, waits(1, "approval"), waits(2, "approval"))
	p.types("joq" + "j" + "k" + keyEnter)
	p.inbox.showEvents("sus_1", events, nil)
	p.sees("EVENTS OF RUN ONE", "events of run_1")
	p.types("o")
	p.inbox.showEvents("sus_1", []display.Line{display.Text("MORE OF RUN ONE")}, nil)
	p.sees("MORE OF RUN ONE")
}
