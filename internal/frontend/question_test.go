package frontend_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

var wholeNumber = json.RawMessage(`{"type":"integer"}`)

// A message that answers a question is held to what a decision is held to, whichever way it comes.
func TestAMessageThatAnswersIsHeldToTheSchema(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask_user", Kind: core.KindInput, Schema: wholeNumber})["c1"]
	x.unchanged(run.ThreadID, func() {
		_, err := x.say(run.ThreadID, "k1", "about seven", "")
		x.wantCode(err, refusal.CodeSchemaMismatch)
		_, err = x.decide(run.ID, sus, wire.Decision{Result: []byte(`"about seven"`)})
		x.wantCode(err, refusal.CodeSchemaMismatch)
	})
	s, err := x.say(run.ThreadID, "k1", "about seven", "abandon") // a message like any other
	if err != nil || !s.New {
		t.Fatalf("%+v, %v", s, err)
	}
}

func TestAMessageNamesTheQuestionThatItAnswers(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	early, err := x.say(run.ThreadID, "early", "use the blue one", "")
	if err != nil || !early.New {
		t.Fatal(err)
	}
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask_user", Kind: core.KindInput})["c1"]
	if _, err := x.say(run.ThreadID, "late", "red", ""); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, s := range x.head(run.ThreadID).Inbox {
		if s.Kind == core.SignalMessage {
			answers = append(answers, s.Sus)
		}
	}
	if len(answers) != 1 || answers[0] != sus {
		t.Errorf("the messages in the inbox answer %q, want %q alone", answers, sus)
	}
}

// What was stored is answered as before, also if the question is another by now.
func TestARepeatedMessageIsNotHeldToANewQuestion(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	if _, err := x.say(run.ThreadID, "k", "hello", ""); err != nil {
		t.Fatal(err)
	}
	x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask_user", Kind: core.KindInput, Schema: wholeNumber})
	s, err := x.say(run.ThreadID, "k", "hello", "")
	if err != nil || s.New {
		t.Errorf("%+v, %v", s, err)
	}
}
