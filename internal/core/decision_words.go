package core

import (
	"encoding/json"
	"strings"
)

// saying is what a value says to the question whether a call may run.
type saying uint8

const (
	saysNothing saying = iota
	saysYes
	saysNo
	saysMuddled // it means to say something, and cannot be read
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

// flagSays is what a member of that name says when it is true; when it is false a yes becomes a no, and a no says nothing.
var flagSays = map[string]saying{
	"approved": saysYes, "approve": saysYes, "allowed": saysYes, "accepted": saysYes, "confirmed": saysYes,
	"denied": saysNo, "deny": saysNo, "rejected": saysNo, "cancelled": saysNo, "canceled": saysNo, "aborted": saysNo,
}

// verdictOf reads a result as an answer to an approval. Bare words count only if bareWords is set: beside an explicit action
// a text is a remark.
func verdictOf(result json.RawMessage, bareWords bool) saying {
	switch v := loose(result).(type) {
	case bool:
		return sayBool(v)
	case map[string]any:
		return sayObject(v)
	case string:
		if bareWords {
			return sayWord(v)
		}
	}
	return saysNothing
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
func sayObject(members map[string]any) saying {
	said := saysNothing
	for name, value := range members {
		switch s := sayMember(strings.ToLower(name), value); {
		case s == saysNo:
			return saysNo
		case s > said:
			said = s
		}
	}
	return said
}

func sayMember(name string, value any) saying {
	if name == "status" || name == "decision" {
		text, _ := value.(string)
		return sayWord(text)
	}
	meaning := flagSays[name]
	if meaning == saysNothing {
		return saysNothing
	}
	truth := saysMuddled
	switch v := value.(type) {
	case bool:
		truth = sayBool(v)
	case string:
		if truth = sayWord(v); truth == saysNothing {
			truth = saysMuddled
		}
	}
	switch {
	case truth == saysMuddled:
		return saysMuddled
	case meaning == saysYes:
		return truth
	case truth == saysYes:
		return saysNo
	}
	return saysNothing
}

// approvalShaped says whether a value is an object that holds a yes or a no, perhaps with a reason, and nothing else.
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

// reasonOf finds why somebody said no: the error, the text that was sent as the result, or its member reason. A text that is just
// a word for no is no reason.
func reasonOf(in DecisionInput) string {
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
