package answer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// saying is what a value says to the question whether a call may run.
type saying uint8

// In order of weight: of several, the last counts.
const (
	saysNothing saying = iota
	saysYes
	saysMuddled // it means to say something, and cannot be read
	saysNo
)

// wordSays are the bare words that answer an approval.
var wordSays = words(map[saying]string{
	saysYes: "true yes y ok approve approved allow allowed accept accepted confirm confirmed resume",
	saysNo:  "false no denied deny reject rejected cancel canceled cancelled abort aborted",
})

func words(lists map[saying]string) map[string]saying {
	says := map[string]saying{}
	for meaning, list := range lists {
		for _, word := range strings.Fields(list) {
			says[word] = meaning
		}
	}
	return says
}

// flagSays is what a member of that name says when it is true. When it is false, a yes becomes a no
// and a no says nothing.
var flagSays = map[string]saying{
	"approved": saysYes, "approve": saysYes, "allowed": saysYes, "accepted": saysYes, "confirmed": saysYes,
	"denied": saysNo, "deny": saysNo, "rejected": saysNo, "cancelled": saysNo, "canceled": saysNo, "aborted": saysNo,
}

// readApproval reads the answer to the question whether a call may run. No other code does. It
// fails closed: a no in any form is a no, even with the action resume, and an answer that is
// neither a clear yes nor a no is refused.
func readApproval(mode core.ResumeMode, in Input) (core.ResumeAction, error) {
	if in.Error != "" {
		return core.ActionCancel, nil
	}
	explicit := in.Action == core.ActionResume.String()
	if mode == core.UseDecisionAsToolResult {
		return readApprovedResult(explicit, in)
	}
	v := verdictOf(in.Result)
	if mode == core.PassDecisionToTool {
		v.data = false // the tool is handed what else the decision says
	}
	switch {
	case v.says == saysNo && explicit && v.word:
		return 0, &Error{CodeContradiction, fmt.Sprintf("action resume approves but the result %s denies; omit the result to approve, or send action cancel to deny", core.Clip(string(in.Result), 60))}
	case v.says == saysNo:
		return core.ActionCancel, nil
	case v.says == saysMuddled:
		return 0, &Error{CodeUnclearDecision, "the result says neither yes nor no; send action resume or cancel, or a result of true or false"}
	case v.data && (explicit || v.says == saysYes):
		return 0, &Error{CodeWrongKind, "an approval takes no result, because the tool runs and returns its own. " +
			"Omit result to approve, or send action cancel to deny"}
	case explicit, v.says == saysYes:
		return core.ActionResume, nil
	}
	return 0, &Error{CodeUnclearDecision, "the decision says neither yes nor no; send action resume or cancel, or a result of true or false"}
}

// Allows says whether the result of a stored approval lets what was asked about go on: it is absent
// or null, or a clear yes.
func Allows(result json.RawMessage) bool {
	v := verdictOf(result)
	return !v.data && v.says <= saysYes
}

// readApprovedResult is for a call that does not run: the decision's result becomes the call's
// result, unread. Only action cancel and an error refuse; a result of "denied" may be what the
// approver wants the model to see.
func readApprovedResult(explicit bool, in Input) (core.ResumeAction, error) {
	switch {
	case !core.IsNull(in.Arguments):
		return 0, &Error{CodeWrongKind, "the tool does not run after this approval, so it takes no edited arguments"}
	case !core.IsNull(in.Result):
		return core.ActionResume, nil
	case explicit:
		return 0, &Error{CodeResultRequired, "the tool does not run after this approval; send the call's result, or action cancel to deny"}
	}
	return 0, &Error{CodeUnclearDecision, "send the call's result, or action cancel to deny"}
}

// verdict is what a result says to the question whether a call may run.
type verdict struct {
	says saying
	word bool // in a bare text
	data bool // and it holds more than a verdict and its reason
}

func verdictOf(result json.RawMessage) verdict {
	if len(result) > 0 && !json.Valid(result) {
		return verdict{says: saysMuddled}
	}
	switch v := loose(result).(type) {
	case nil:
		return verdict{}
	case bool:
		return verdict{says: sayBool(v)}
	case map[string]any:
		return sayObject(v)
	case string:
		says := sayWord(v)
		return verdict{says: says, word: true, data: says == saysNothing}
	}
	return verdict{data: true}
}

// loose is a result's value; an object that was sent as text is that object.
func loose(result json.RawMessage) any {
	var v any
	if result == nil || json.Unmarshal(result, &v) != nil {
		return nil
	}
	if text, ok := v.(string); ok {
		var inner map[string]any
		if json.Unmarshal([]byte(text), &inner) == nil && inner != nil {
			return inner
		}
	}
	return v
}

func sayBool(yes bool) saying {
	if yes {
		return saysYes
	}
	return saysNo
}

func sayWord(text string) saying { return wordSays[strings.ToLower(strings.TrimSpace(text))] }

// sayObject: one no outweighs every yes.
func sayObject(members map[string]any) (v verdict) {
	for name, value := range members {
		name = strings.ToLower(name)
		says, known := sayMember(name, value)
		v.data = v.data || !known && name != "reason"
		v.says = max(v.says, says)
	}
	return v
}

// sayMember is what one member says; known if it is one that is there to say it.
func sayMember(name string, value any) (says saying, known bool) {
	if name == "status" || name == "decision" {
		text, _ := value.(string)
		says = sayWord(text)
		return says, says != saysNothing
	}
	meaning := flagSays[name]
	if meaning == saysNothing {
		return saysNothing, false
	}
	switch truth := sayFlag(value); {
	case truth == saysMuddled:
		return saysMuddled, true
	case meaning == saysYes:
		return truth, true
	case truth == saysYes:
		return saysNo, true
	}
	return saysNothing, true
}

func sayFlag(value any) saying {
	switch v := value.(type) {
	case bool:
		return sayBool(v)
	case string:
		if said := sayWord(v); said != saysNothing {
			return said
		}
	}
	return saysMuddled
}

// approvalShaped says whether a value is an object that holds a yes or a no, perhaps with a reason,
// and nothing else.
func approvalShaped(result json.RawMessage) bool {
	var members map[string]any
	if json.Unmarshal(result, &members) != nil {
		return false
	}
	flags := 0
	for name, value := range members {
		switch name {
		case "approved", "denied":
			if _, ok := value.(bool); !ok {
				return false
			}
			flags++
		case "reason":
		default:
			return false
		}
	}
	return flags > 0
}

// reasonOf finds why the approver said no: the error, the text that was sent as the result, or its
// member reason. A text that is just a word for no is no reason.
func reasonOf(in Input) string {
	if in.Error != "" {
		return in.Error
	}
	switch v := loose(in.Result).(type) {
	case string:
		if sayWord(v) == saysNothing {
			return v
		}
	case map[string]any:
		reason, _ := v["reason"].(string)
		return reason
	}
	return ""
}
