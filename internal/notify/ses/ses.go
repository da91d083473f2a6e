// Package ses sends notices and one-time codes as mail through Amazon SES.
package ses

import (
	"cmp"
	"context"
	"errors"
	"net/mail"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/notify/sink"
)

// API is the part of the SDK's client that is used. It may retry requests that SES throttles, and
// no others: SES has no idempotency key, so that a request without an answer may have sent the
// mail.
type API interface {
	SendEmail(ctx context.Context, in *sesv2.SendEmailInput, opts ...func(*sesv2.Options)) (*sesv2.SendEmailOutput, error)
}

// Options are what a sender needs. All but Limit are required.
type Options struct {
	API   API
	From  string // an address that an identity of SES covers, such as desk@example.com
	Clock engine.Clock
	Limit time.Duration // of one attempt; 20 seconds if zero
}

// Sender implements notify.Sender.
type Sender struct{ o Options }

// New returns a sender.
func New(o Options) *Sender {
	o.Limit = cmp.Or(o.Limit, 20*time.Second)
	return &Sender{o}
}

// Send hands SES a mail for each address of the target, so that an address that it refuses doesn't
// keep the others from being notified. If it can't take one of them now, all are sent again. A
// repeated mail has the same header X-Dormouse-Notice, but another Message-ID, which SES chooses.
func (s *Sender) Send(ctx context.Context, to notice.Target, n client.Notice) delivery.Result {
	ctx, end := s.limited(ctx)
	defer end()
	var results []delivery.Result
	for _, address := range to.Mail {
		results = append(results, s.send(ctx, address, notify.NewLetter(n, address)))
	}
	return notify.Together(results)
}

// Post implements notify.Poster.
func (s *Sender) Post(ctx context.Context, to string, l notify.Letter) delivery.Result {
	ctx, end := s.limited(ctx)
	defer end()
	return s.send(ctx, to, l)
}

// limited ends an attempt in time.
func (s *Sender) limited(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := s.o.Clock.AfterFunc(s.o.Limit, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() { stop(); cancel(nil) }
}

func (s *Sender) send(ctx context.Context, address string, l notify.Letter) delivery.Result {
	to, err := mail.ParseAddress(address)
	if err != nil {
		return delivery.Result{Outcome: notice.Hopeless, Error: "an address is not valid; correct the list of addresses"}
	}
	if _, err := s.o.API.SendEmail(ctx, s.mail(l, to.String())); err != nil {
		return failed(err)
	}
	return delivery.Result{Outcome: notice.Delivered, Status: 200}
}

func (s *Sender) mail(l notify.Letter, to string) *sesv2.SendEmailInput {
	domain := s.o.From[strings.LastIndexByte(s.o.From, '@')+1:]
	return &sesv2.SendEmailInput{FromEmailAddress: &s.o.From, Destination: &types.Destination{ToAddresses: []string{to}},
		Content: &types.EmailContent{Simple: &types.Message{Subject: text(l.Subject), Body: &types.Body{Text: text(l.Text), Html: text(l.HTML)},
			Headers: []types.MessageHeader{header("Auto-Submitted", "auto-generated"), header("References", "<"+l.Thread+"@"+domain+">"), header("X-Dormouse-Notice", l.ID)}}}}
}

func text(of string) *types.Content {
	return &types.Content{Data: &of, Charset: aws.String("UTF-8")}
}

func header(name, value string) types.MessageHeader {
	return types.MessageHeader{Name: &name, Value: &value}
}

// failed is the result of a mail that SES did not take. It gives up a mail that SES refuses because
// of what it says or whom it is for. The operator can correct everything else, such as permissions,
// quotas and a suspended account.
func failed(err error) delivery.Result {
	r := sink.Failed("SES", err)
	_, rejected := errors.AsType[*types.MessageRejected](err)
	_, bad := errors.AsType[*types.BadRequestException](err)
	if rejected || bad {
		r.Outcome = notice.Hopeless
	}
	return r
}
