package awsdecision

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)">`)
	// as a metric of the step function
	decisionToStep = regexp.MustCompile(`"DecisionToStepSeconds":([0-9.]+)`)

	undoable = []string{"DORMOUSE_OIDC_ISSUER", "", "DORMOUSE_OIDC_CLIENT_ID", "", "DORMOUSE_UNDO_SECONDS", "8"}
)

// pressed presses a button of the page at a link, with all that its form carries.
func (b browser) pressed(link, page, action string) events.APIGatewayV2HTTPResponse {
	b.Helper()
	form := url.Values{"action": {action}}
	for _, m := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], m[2])
	}
	return b.asPage("POST", link, form.Encode())
}

// asPage sends what a browser sends that shows pages.
func (b browser) asPage(method, address, form string) events.APIGatewayV2HTTPResponse {
	b.Helper()
	b.headers = map[string]string{"accept": "text/html", "content-type": "application/x-www-form-urlencoded"}
	return b.open(method, address, form, nil)
}

// approved is a run whose question was just approved on the page of a link.
func (s *stand) approved() (b browser, run wire.Run, link string, page events.APIGatewayV2HTTPResponse) {
	s.Helper()
	run, b = s.waiting("link:anna@acme.example"), s.browser()
	made := b.open("POST", "/v1/runs/"+run.ID+"/links", fmt.Sprintf(`{"target":%q,"for":"anna@acme.example"}`, run.Pending[0].Suspension.ID), maker)
	link = regexp.MustCompile(`https://[^"]+`).FindString(made.Body)
	asked := b.asPage("GET", link, "")
	if !strings.Contains(asked.Body, "You can undo your answer for 8 seconds") {
		s.Fatalf("%d %s\nthe log:\n%s", asked.StatusCode, asked.Body, s.log.String())
	}
	page = b.pressed(link, asked.Body, "resume")
	if page.StatusCode != http.StatusAccepted || !strings.Contains(page.Body, ">Undo</button>") {
		s.Fatalf("%d %s\nthe log:\n%s", page.StatusCode, page.Body, s.log.String())
	}
	return b, run, link, page
}

// messages is how many messages the queue of wake-ups has, visible or not yet.
func (s *stand) messages() (visible, delayed string) {
	s.Helper()
	at := s.env["DORMOUSE_WAKE_QUEUE_URL"]
	got, err := s.double.SQS().GetQueueAttributes(s.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &at, AttributeNames: []types.QueueAttributeName{"All"}})
	s.must(err)
	return got.Attributes["ApproximateNumberOfMessages"], got.Attributes["ApproximateNumberOfMessagesDelayed"]
}

// An answer by a page is applied after its hold, by the one wake-up that is sent for it. It isn't
// applied before, and the sweep never comes here.
func TestAnAnswerByAPageTakesEffectAfterItsHold(t *testing.T) {
	s := newStand(t, undoable...)
	b, run, link, page := s.approved()
	if visible, delayed := s.messages(); visible != "0" || delayed != "1" {
		t.Errorf("%s messages, and %s for later", visible, delayed)
	}
	for _, later := range []time.Duration{0, 7 * time.Second} {
		s.later.Store(int64(later))
		s.pump()
		if now := s.run(run.ID); now.Status == "done" || !strings.Contains(b.asPage("GET", link, "").Body, ">Undo</button>") {
			t.Fatalf("after %s: %+v", later, now)
		}
	}
	s.later.Store(int64(9 * time.Second))
	s.pump()
	if now := s.run(run.ID); now.Status != "done" {
		t.Errorf("%+v\nthe log:\n%s", now, s.log.String())
	}
	waited := decisionToStep.FindAllStringSubmatch(s.log.String(), -1)
	if seconds, err := strconv.ParseFloat(waited[len(waited)-1][1], 64); err != nil || seconds >= 5 {
		t.Errorf("the hold counts as waiting for a step: %q", waited)
	}
	if got := b.pressed(link, page.Body, "withdraw"); got.StatusCode != http.StatusConflict || !strings.Contains(got.Body, "too late to undo") {
		t.Errorf("%d %s", got.StatusCode, got.Body)
	}
}

// A step whose clock is behind looks again after the rest of the hold.
func TestAWakeUpThatComesBeforeTheEndOfTheHold(t *testing.T) {
	s := newStand(t, undoable...)
	_, run, _, _ := s.approved()
	at := s.env["DORMOUSE_WAKE_QUEUE_URL"]
	early := `{"tenant":"` + tenant + `","thread":"` + run.ThreadID + `"}`
	_, err := s.double.SQS().SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &at, MessageBody: &early})
	s.must(err)
	s.pump()
	if now := s.run(run.ID); now.Status == "done" {
		t.Fatalf("%+v", now)
	}
	s.later.Store(int64(9 * time.Second))
	s.pump()
	if now := s.run(run.ID); now.Status != "done" {
		t.Errorf("%+v\nthe log:\n%s", now, s.log.String())
	}
}

func TestAnAnswerByAPageIsUndone(t *testing.T) {
	s := newStand(t, undoable...)
	b, run, link, page := s.approved()
	if got := b.pressed(link, page.Body, "withdraw"); got.StatusCode != http.StatusOK || !strings.Contains(got.Body, "You took your answer back. Nothing was done.") {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	s.later.Store(int64(time.Minute))
	s.pump()
	if now := s.run(run.ID); now.Status != "waiting" || len(now.Pending) != 1 {
		t.Errorf("%+v\nthe log:\n%s", now, s.log.String())
	}
	if got := b.pressed(link, b.asPage("GET", link, "").Body, "cancel"); got.StatusCode != http.StatusAccepted || !strings.Contains(got.Body, ">Undo</button>") {
		t.Errorf("%d %s", got.StatusCode, got.Body)
	}
}
