package sns_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify/sink/sns"
)

// topic keeps what it was sent.
type topic struct {
	sent  []*sdk.PublishInput
	fails error
}

func (b *topic) Publish(_ context.Context, in *sdk.PublishInput, _ ...func(*sdk.Options)) (*sdk.PublishOutput, error) {
	b.sent = append(b.sent, in)
	return &sdk.PublishOutput{}, b.fails
}

func done() client.Notice {
	return client.Notice{ID: "run_a:9", Type: client.NoticeDone, Tenant: "acme", Run: &client.Run{Agent: "desk"}}
}

func TestANoticeIsOneMessageWithAttributesToFilterBy(t *testing.T) {
	for tenant, want := range map[string]map[string]string{
		"acme":     {"type": "done", "agent": "desk", "tenant": "acme"},
		"a\x01cme": {"type": "done", "agent": "desk"}, // SNS refuses such a value
	} {
		b, n := &topic{}, done()
		n.Tenant = tenant
		got := sns.Sender{API: b, Topic: "arn:aws:sns:eu-central-1:123456789012:runs"}.Send(t.Context(), notice.Target{}, n)
		if got != (delivery.Result{Outcome: notice.Delivered, Status: 200}) || len(b.sent) != 1 {
			t.Fatalf("%+v, %d messages", got, len(b.sent))
		}
		var message client.Notice
		if err := json.Unmarshal([]byte(*b.sent[0].Message), &message); err != nil || message.ID != n.ID || *b.sent[0].TopicArn != "arn:aws:sns:eu-central-1:123456789012:runs" {
			t.Errorf("%s to %s, %v", *b.sent[0].Message, *b.sent[0].TopicArn, err)
		}
		attributes := map[string]string{}
		for name, a := range b.sent[0].MessageAttributes {
			attributes[name] = *a.StringValue
		}
		if !maps.Equal(attributes, want) {
			t.Errorf("attributes %v, want %v", attributes, want)
		}
	}
}

func TestAMessageThatFailsIsSentAgainAndOneThatNeverFitsIsGivenUp(t *testing.T) {
	b := &topic{fails: errors.New("timeout")}
	if got := (sns.Sender{API: b}).Send(t.Context(), notice.Target{}, done()); got.Outcome != notice.Refused || got.Error != "SNS did not answer" {
		t.Errorf("%+v", got)
	}
	b, n := &topic{}, done()
	n.Run = nil
	n.Event.RunID = strings.Repeat("a", 256<<10)
	if got := (sns.Sender{API: b}).Send(t.Context(), notice.Target{}, n); got.Outcome != notice.Hopeless || len(b.sent) != 0 {
		t.Errorf("%+v, %d messages", got, len(b.sent))
	}
}
