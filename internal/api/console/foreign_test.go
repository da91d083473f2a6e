package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// hostileTexts are some texts of each kind in the corpus, by name.
func hostileTexts(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile("../../text/printable/testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all, ofKind := map[string]string{}, map[string]int{}
	for line := range strings.Lines(string(file)) {
		var one struct{ Name, Raw string }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		var text string
		if json.Unmarshal([]byte(one.Raw), &text) == nil && strings.HasPrefix(one.Raw, `"`) && strings.TrimSpace(text) != "" {
			if kind := strings.Fields(one.Name)[0]; ofKind[kind] < 2 {
				all[one.Name] = text
				ofKind[kind]++
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("the corpus has %d texts", len(all))
	}
	return all
}

// drawsEverywhere are the pages that have a text in each place where text of others can be.
func (s *server) drawsEverywhere(text string) map[string]shown {
	s.Helper()
	short := strings.ToValidUTF8(text[:min(len(text), 200)], "")
	input, value := string(core.Encode(short)), string(core.Encode(text))
	call := frontendtest.Call{Tool: text, Kind: core.KindApproval, Message: text, Said: short, Arguments: []byte(`{` + input + `:` + value + `,"other":[` + value + `]}`),
		Preview: &core.Preview{Text: short, Tool: "get"}}
	run, sus := s.waits(input, call)
	titled, _ := s.waits(input, frontendtest.Call{Tool: "refund", Kind: core.KindApproval, Arguments: []byte(`{"amount":50,"order":` + value + `}`)})
	answered, its := s.waits(input, call)
	if _, err := s.reads.DecideSuspension(s.Context(), frontend.Caller{Tenant: tenant, By: "token:olga", Via: "api", Roles: []access.Role{access.Decide}}, its, wire.Decision{Action: "cancel", Reason: short}); err != nil {
		s.Fatal(err)
	}
	s.worker.Drain(answered)
	s.worker.Finish(answered, text)
	olga := s.signedIn("olga")
	pages := map[string]shown{}
	for name, path := range map[string]string{"the inbox": "/", "a question": "/questions/" + sus, "an outcome": "/questions/" + its, "what was answered": "/answered", "the runs": "/runs",
		"a run that waits": "/runs/" + run, "a run that ended": "/runs/" + answered, "a title": "/runs/" + titled, "the conversations": "/chat", "a conversation": "/chat/" + threadOf(run), "one that ended": "/chat/" + threadOf(answered)} {
		pages[name] = olga.get(path)
	}
	dead := s.dies("wh_1", short)
	hugo := s.signedIn("hugo")
	pages["the dead letters"], pages["a dead letter"], pages["the numbers"] = hugo.get("/operate/dead"), hugo.get(dead), hugo.get("/operate")
	return pages
}

func threadOf(run string) string {
	thread, _ := core.ThreadOf(run)
	return thread
}

var tagName = regexp.MustCompile(`<(/?[a-z0-9]+|!--)`)

// mostChanged is how long a text may be for a call with it to be changed on its page: the button is
// missing else.
const mostChanged = 2_000

// structure counts the elements that only a page's own frame may have.
func structure(text string) string {
	count := map[string]int{}
	for _, m := range tagName.FindAllStringSubmatch(text, -1) {
		switch m[1] {
		case "h1", "h2", "form", "button", "main", "nav", "section", "script", "style", "link", "img", "iframe", "a", "input", "select", "textarea", "svg", "object", "!--":
			count[m[1]]++
		}
	}
	return fmt.Sprint(count)
}

// unseen says which character of a page can't be seen as it is, or moves others.
func unseen(text string) (rune, bool) {
	for _, r := range text {
		switch {
		case r == '\n', r == '\t':
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), r == 0x3164, r == 0x115f, r == 0x1160, r == 0x2800, r == 0xffa0, unicode.Is(unicode.Variation_Selector, r):
			return r, true
		}
	}
	return 0, false
}

// Text of others is text in each place of each page: it changes nothing of the page around it, and
// shows what doesn't show by itself.
func TestTheCorpusInEveryPlace(t *testing.T) {
	harmless := newServer(t).drawsEverywhere("Payments above 100 need a person.")
	for name, text := range hostileTexts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for place, page := range newServer(t).drawsEverywhere(text) {
				if page.status != 200 {
					t.Errorf("%s: %d", place, page.status)
					continue
				}
				if r, is := unseen(page.text); is {
					t.Errorf("%s has %U as it is", place, r)
				}
				if got, want := structure(page.text), structure(harmless[place].text); got != want && !(place == "a question" && len(text) > mostChanged) {
					t.Errorf("%s has the elements %s, and with a harmless text %s", place, got, want)
				}
			}
		})
	}
}
