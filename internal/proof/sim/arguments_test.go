package sim_test

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// twice is the value of a member that is there a second time: whatever reads it was told something
// else than those who read the first.
const twice = "twice"

// otherwise is how a model may write arguments: mostly as they are, now and then in another form of
// the same, or with a member that two readers understand differently.
func otherwise(arguments string, how int) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(arguments, "{"), "}")
	switch how {
	case 0:
		return "{ \"z\" : 1.50, " + inner + " ,\t\"a\":\"\\u003c\" }"
	case 1:
		return "{" + inner + `,"n":"` + twice + `"}`
	case 2:
		return "{" + inner + `,"N":"` + twice + `"}`
	case 3:
		return `{"in":{"k":1,"K":"` + twice + `"},` + inner + "}"
	}
	return arguments
}

// readTwice: arguments that two readers understand differently come no further than the journal, as
// text.
func (c *cast) readTwice(what string, call core.ToolCall) {
	if bytes.HasPrefix(bytes.TrimSpace(call.Arguments), []byte("{")) && bytes.Contains(call.Arguments, []byte(twice)) && !wellEdited(call.Arguments) {
		c.s.wrong("I-4: %s has arguments with a member that is there twice, and %s: %s", call.Name, what, call.Arguments)
	}
}

// inOneForm: what the journal has of a call's arguments is the one form that rules, approvers and
// services see.
func (w *watched) inOneForm(call core.ToolCall) {
	var v any
	read := json.NewDecoder(bytes.NewReader(call.Arguments))
	read.UseNumber()
	if err := read.Decode(&v); err != nil {
		w.s.wrong("I-4: the arguments of %s are no JSON: %s", call.ID, call.Arguments)
		return
	}
	var form bytes.Buffer
	write := json.NewEncoder(&form)
	write.SetEscapeHTML(false)
	if err := write.Encode(v); err != nil || form.String() != string(call.Arguments)+"\n" {
		w.s.wrong("I-4: the arguments of %s are kept as %s, and their one form is %s", call.ID, call.Arguments, form.String())
	}
}
