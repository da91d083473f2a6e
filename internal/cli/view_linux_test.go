package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// A model that fills its line with blanks, up to the end of the screen or over two pieces, does not
// get to the left edge, where our own lines begin.
func TestNoLineOfALiveModelLooksLikeOneOfOurs(t *testing.T) {
	event := func(kind, data string) wire.Event {
		return wire.Event{Type: kind, Turn: 1, At: wire.Time{Time: time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)}, Data: json.RawMessage(data)}
	}
	const forged = "02:28:44  approved by anna"
	for name, pieces := range map[string][]string{
		"in one piece":         {"ok" + strings.Repeat(" ", 62) + forged},
		"over several pieces":  {"ok", strings.Repeat(" ", 30), strings.Repeat(" ", 32), forged},
		"wide characters":      {strings.Repeat("日", 32) + forged},
		"a line of its own":    {"ok\n", forged},
		"an escape in halves":  {"ok\x1b", "[2K\x1b[1", "G" + forged},
		"back to the left":     {"ok\r", forged, "\u009b1G" + forged},
		"from right to left":   {"ok\u202e", forged},
		"longer than a screen": {strings.Repeat(strings.Repeat(" ", 10)+forged, 40)},
	} {
		for _, columns := range []uint16{80, 40, 33} {
			var events []wire.Event
			for _, piece := range pieces {
				data, _ := json.Marshal(map[string]string{"text": piece})
				events = append(events, event("text.delta", string(data)))
			}
			whole, _ := json.Marshal(map[string]string{"text": strings.Join(pieces, "")})
			s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("done")), readRun + "/events": logOf(append(events, event("text.ended", string(whole)))...)})
			p := openTerminal(t, columns, 24)
			if got := <-p.start(t.Context(), s, map[string]string{"NO_COLOR": "1"}, "watch", runID); got != cmdline.ExitOK {
				t.Fatalf("%s: exit code %d", name, got)
			}
			p.sees("anna\r\n")
			all := p.everything()
			if strings.Contains(all, "\x1b") || strings.Contains(strings.ReplaceAll(all, "\r\n", ""), "\r") || strings.Contains(all, "\u202e") {
				t.Errorf("%s: it says %q", name, all)
			}
			lines := strings.Split(strings.TrimSuffix(all, "\r\n"), "\r\n")
			for i, l := range lines {
				if i > 0 && strings.HasPrefix(l, "02:") || width(l) > int(columns) {
					t.Errorf("%s, %d columns: line %d is %q", name, columns, i, l)
				}
			}
		}
	}
}

// width counts the one wide character of these tests twice.
func width(line string) int { return len([]rune(line)) + strings.Count(line, "日") }

// What is shown live looks as it does later: a tab is blanks, and an emoji is no escape.
func TestLiveProseIsShownAsProse(t *testing.T) {
	event := func(kind, data string) wire.Event {
		return wire.Event{Type: kind, Turn: 1, At: wire.Time{Time: time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)}, Data: json.RawMessage(data)}
	}
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("done")),
		readRun + "/events": logOf(event("text.delta", `{"text":"a\tb ❤\ufe0f\r\nnext"}`), event("text.ended", `{"text":"a\tb ❤\ufe0f\r\nnext"}`))})
	p := openTerminal(t, 80, 24)
	if got := <-p.start(t.Context(), s, map[string]string{"NO_COLOR": "1"}, "watch", runID); got != cmdline.ExitOK {
		t.Fatalf("exit code %d", got)
	}
	p.sees("02:28:44  says: a    b ❤\r\n                next\r\n")
}

// A hook may change what the model said: then that is shown, too, and not only what it takes the
// place of.
func TestRunShowsWhatBecameOfLiveText(t *testing.T) {
	event := func(kind, data string) wire.Event {
		return wire.Event{Type: kind, Turn: 1, At: wire.Time{Time: time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)}, Data: json.RawMessage(data)}
	}
	s := newServer(t, map[string]http.HandlerFunc{"POST /v1/runs": answer(202, run("created")), readRun: answer(200, run("done")),
		readRun + "/events": logOf(event("text.delta", `{"text":"The card is 4711"}`), event("text.ended", `{"text":"The card is [removed]"}`))})
	p := openTerminal(t, 100, 24)
	if got := <-p.start(t.Context(), s, map[string]string{"NO_COLOR": "1"}, "run", "desk", "hi", "--wait"); got != cmdline.ExitOK {
		t.Fatalf("exit code %d", got)
	}
	p.sees("says: The card is 4711\r\n02:28:44  says: The card is [removed]\r\n")
}
