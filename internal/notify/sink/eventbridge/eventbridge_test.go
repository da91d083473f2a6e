package eventbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify/sink"
	"github.com/dormouse-dev/dormouse/internal/notify/sink/eventbridge"
)

// bus keeps what it was sent, and answers as the test says.
type bus struct {
	sent   []types.PutEventsRequestEntry
	answer sdk.PutEventsOutput
	fails  error
}

func (b *bus) PutEvents(_ context.Context, in *sdk.PutEventsInput, _ ...func(*sdk.Options)) (*sdk.PutEventsOutput, error) {
	b.sent = append(b.sent, in.Entries...)
	return &b.answer, b.fails
}

func suspended() client.Notice {
	return client.Notice{ID: "run_a:7", Type: client.NoticeSuspended, Timestamp: client.Time{Time: time.Unix(1_800_000_000, 0)}, Tenant: "acme"}
}

func TestANoticeIsOneEvent(t *testing.T) {
	b := &bus{answer: sdk.PutEventsOutput{Entries: []types.PutEventsResultEntry{{EventId: aws.String("1")}}}}
	got := eventbridge.Sender{API: b, Bus: "ops", Source: "acme.runs"}.Send(t.Context(), notice.Target{}, suspended())
	if want := (delivery.Result{Outcome: notice.Delivered, Status: 200}); got != want || len(b.sent) != 1 {
		t.Fatalf("%+v, %d events", got, len(b.sent))
	}
	e := b.sent[0]
	var detail client.Notice
	if err := json.Unmarshal([]byte(*e.Detail), &detail); err != nil || detail.ID != "run_a:7" {
		t.Errorf("detail %s, %v", *e.Detail, err)
	}
	if *e.EventBusName != "ops" || *e.Source != "acme.runs" || *e.DetailType != "dormouse.suspended" || e.Time.Unix() != 1_800_000_000 {
		t.Errorf("%+v", e)
	}
}

func TestAnEventThatTheBusDoesNotTakeIsSentAgain(t *testing.T) {
	for what, b := range map[string]*bus{
		"EventBridge refused the event: ThrottlingException": {answer: sdk.PutEventsOutput{FailedEntryCount: 1,
			Entries: []types.PutEventsResultEntry{{ErrorCode: aws.String("ThrottlingException"), ErrorMessage: aws.String("internal")}}}},
		"EventBridge did not say what became of the event": {},
		"EventBridge did not answer":                       {fails: errors.New("timeout")},
	} {
		got := eventbridge.Sender{API: b, Bus: "ops", Source: "s"}.Send(t.Context(), notice.Target{}, suspended())
		if got.Outcome != notice.Refused || got.Error != what {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestAnEventThatNeverFitsIsGivenUp(t *testing.T) {
	n := suspended()
	text, err := sink.Message(n)
	if err != nil {
		t.Fatal(err)
	}
	// 14 bytes count for the time
	fits := 256<<10 - len(text) - len("dormouse.suspended") - len("s") - 14
	for extra, want := range map[int]notice.Outcome{0: notice.Delivered, 1: notice.Hopeless} {
		b := &bus{answer: sdk.PutEventsOutput{Entries: []types.PutEventsResultEntry{{}}}}
		n.Tenant = "acme" + strings.Repeat("a", fits+extra)
		if got := (eventbridge.Sender{API: b, Bus: "ops", Source: "s"}).Send(t.Context(), notice.Target{}, n); got.Outcome != want || (len(b.sent) == 1) != (want == notice.Delivered) {
			t.Errorf("%d bytes too many: %+v, %d events", extra, got, len(b.sent))
		}
	}
}
