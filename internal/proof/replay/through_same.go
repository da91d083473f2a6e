package replay

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// sameOnTheWire says in what a request differs from the prompt that it was made of; "" if in
// nothing. A provider has rules of its own: it takes no blank text and has words of its own there,
// it wants users and assistants in turn, names and ids of certain letters, and objects as
// arguments. So blanks are not looked at, what follows one another is taken together, and what a
// provider has no form for may have any.
func sameOnTheWire(p engine.Prompt, asked modeldouble.Asked) string {
	if !strings.Contains(dense(asked.System), dense(p.Instructions)) {
		return fmt.Sprintf("the system's text is %q", asked.System)
	}
	want, got := exchanges(p.Messages), exchanges(asked.Messages)
	if len(want) != len(got) {
		return fmt.Sprintf("it has %d turns of the assistant, and not %d", len(got)-1, len(want)-1)
	}
	for i := range want {
		if why := want[i].differs(got[i]); why != "" {
			return fmt.Sprintf("before turn %d of the assistant: %s", i+1, why)
		}
	}
	if w, g := digests(p.Messages), digests(asked.Messages); !slices.Equal(w, g) {
		return fmt.Sprintf("it has the images %v, and not %v", g, w)
	}
	for _, t := range p.Tools {
		if fits.MatchString(t.Name) && !slices.ContainsFunc(asked.Tools, func(a core.ToolSpec) bool { return a.Name == t.Name }) {
			return "the tool " + t.Name + " is missing"
		}
	}
	return ""
}

// exchange is what was said to the assistant, and what it said then.
type exchange struct {
	user    []string
	results []core.Message
	said    string
	calls   []core.ToolCall
}

// exchanges are a conversation's, the last one without an assistant. A turn that says nothing is
// none, and two with nothing between them are one.
func exchanges(messages []core.Message) []exchange {
	all := []exchange{{}}
	for _, m := range messages {
		now := &all[len(all)-1]
		text := dense(m.Text())
		switch {
		case m.Role == core.RoleAssistant && text == "" && len(m.Calls) == 0:
		case m.Role == core.RoleAssistant && len(all) > 1 && len(now.user)+len(now.results) == 0:
			before := &all[len(all)-2]
			before.said, before.calls = before.said+text, append(before.calls, m.Calls...)
		case m.Role == core.RoleAssistant:
			now.said, now.calls = text, m.Calls
			all = append(all, exchange{})
		case m.Role == core.RoleTool:
			now.results = append(now.results, m)
		case text != "":
			now.user = append(now.user, text)
		}
	}
	return all
}

// differs says in what the exchange on the wire is another one.
func (e exchange) differs(on exchange) string {
	rest := strings.Join(on.user, "")
	for _, text := range e.user {
		_, behind, found := strings.Cut(rest, text)
		if !found {
			return fmt.Sprintf("the user's %q is missing", text)
		}
		rest = behind
	}
	if len(e.results) != len(on.results) {
		return fmt.Sprintf("it has %d results, and not %d", len(on.results), len(e.results))
	}
	for i, r := range e.results {
		if !strings.Contains(dense(on.results[i].Text()), dense(r.Text())) || fits.MatchString(r.CallID) && on.results[i].CallID != r.CallID {
			return fmt.Sprintf("the result of %s is %s: %q", r.CallID, on.results[i].CallID, on.results[i].Text())
		}
	}
	if e.said != on.said || len(e.calls) != len(on.calls) {
		return fmt.Sprintf("the assistant says %q and calls %d tools, and not %q and %d", on.said, len(on.calls), e.said, len(e.calls))
	}
	for i, call := range e.calls {
		w := on.calls[i]
		if fits.MatchString(call.Name) && w.Name != call.Name || fits.MatchString(call.ID) && w.ID != call.ID || isObject(call.Arguments) && canonical(w.Arguments) != canonical(call.Arguments) {
			return fmt.Sprintf("the call %s of %s %s is %s of %s %s", call.ID, call.Name, call.Arguments, w.ID, w.Name, w.Arguments)
		}
	}
	return ""
}

// fits are names and ids that every provider takes as they are.
var fits = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// dense is a text without its blanks.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// digests are those of all images, whoever gives them. A provider may have them stand elsewhere.
func digests(messages []core.Message) (all []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == core.PartImage {
				all = append(all, core.Digest(p.Data)[:12])
			}
		}
	}
	slices.Sort(all)
	return all
}
