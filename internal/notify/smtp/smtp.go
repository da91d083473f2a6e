// Package smtp sends notices as mail through an SMTP server.
package smtp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Server is an SMTP server, as [ParseServer] reads it.
type Server struct {
	host string
	port int
	user string
	tls  bool // from the first byte, in place of STARTTLS
}

// PasswordSecret is the name of the secret with the password of the server's user.
const PasswordSecret = "SMTP_PASSWORD"

// ParseServer reads smtp://user@host:587 or smtps://user@host:465; user and port may be left out.
// With smtp, the connection is encrypted by STARTTLS, unless the server is on this machine and does
// not offer it. The error repeats no password.
func ParseServer(text string) (Server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return Server{}, errors.New("write the mail server as smtp://user@mail.example.com:587 or smtps://user@mail.example.com:465")
	}
	if _, has := u.User.Password(); has {
		return Server{}, fmt.Errorf("the mail server's address has a password; remove it, and set the secret %s", PasswordSecret)
	}
	s := Server{host: u.Hostname(), user: u.User.Username(), tls: u.Scheme == "smtps", port: 587}
	if s.tls {
		s.port = 465
	}
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return Server{}, errors.New("the mail server's port must be a number from 1 to 65535")
		}
	}
	return s, nil
}

// Options are what a sender needs. All but Limit and Dial are required.
type Options struct {
	Server  Server
	From    netmail.Address
	Secrets secret.Source
	Clock   engine.Clock
	Limit   time.Duration // of one attempt; 20 seconds if zero
	// Dial opens connections; nil uses the network of the machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sender implements notify.Sender.
type Sender struct{ o Options }

// New returns a sender.
func New(o Options) *Sender {
	o.Limit = cmp.Or(o.Limit, 20*time.Second)
	return &Sender{o}
}

// Send hands the server a mail for each address of the target, over one connection, so that an
// address that it refuses doesn't keep the others from being notified. If it can't take one of them
// now, all are sent again: the mail to an address has the same Message-ID at each attempt.
func (s *Sender) Send(ctx context.Context, to notice.Target, n client.Notice) delivery.Result {
	var messages []*mail.Msg
	var results []delivery.Result
	for _, address := range to.Mail {
		message, err := s.message(notify.NewLetter(n, address), address)
		if err != nil {
			results = append(results, delivery.Result{Outcome: notice.Hopeless, Error: err.Error()})
			continue
		}
		messages = append(messages, message)
	}
	return s.deliver(ctx, messages, results)
}

// Post implements notify.Poster.
func (s *Sender) Post(ctx context.Context, to string, l notify.Letter) delivery.Result {
	message, err := s.message(l, to)
	if err != nil {
		return delivery.Result{Outcome: notice.Hopeless, Error: err.Error()}
	}
	return s.deliver(ctx, []*mail.Msg{message}, nil)
}

// deliver hands the server the mails, and adds what became of them to the results of those that
// could not be written.
func (s *Sender) deliver(ctx context.Context, messages []*mail.Msg, results []delivery.Result) delivery.Result {
	if len(messages) == 0 {
		return notify.Together(results)
	}
	c, err := s.client(ctx)
	if err != nil {
		return delivery.Result{Outcome: notice.Refused, Error: err.Error()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.o.Clock.AfterFunc(s.o.Limit, func() { cancel(context.DeadlineExceeded) })()
	_ = c.DialAndSendWithContext(ctx, messages...) // each message knows what became of it
	for _, message := range messages {
		results = append(results, resultOf(message))
	}
	return notify.Together(results)
}

func (s *Sender) message(l notify.Letter, to string) (*mail.Msg, error) {
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	m.FromMailAddress(&s.o.From)
	if err := m.To(to); err != nil {
		return nil, errors.New("an address is not valid; correct the list of addresses")
	}
	domain := s.o.From.Address[strings.LastIndexByte(s.o.From.Address, '@')+1:]
	m.Subject(l.Subject)
	m.SetDateWithValue(s.o.Clock.Now())
	m.SetMessageIDWithValue(l.ID + "@" + domain)
	m.SetGenHeader(mail.HeaderReferences, "<"+l.Thread+"@"+domain+">")
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(mail.TypeTextPlain, l.Text)
	m.AddAlternativeString(mail.TypeTextHTML, l.HTML)
	return m, nil
}

func (s *Sender) client(ctx context.Context) (*mail.Client, error) {
	v := s.o.Server
	policy := mail.TLSMandatory
	if ip := net.ParseIP(v.host); v.host == "localhost" || ip != nil && ip.IsLoopback() {
		policy = mail.TLSOpportunistic
	}
	options := []mail.Option{mail.WithPort(v.port), mail.WithTimeout(s.o.Limit), mail.WithTLSPolicy(policy)}
	if v.tls {
		options = append(options, mail.WithSSL())
	}
	if s.o.Dial != nil {
		options = append(options, mail.WithDialContextFunc(s.o.Dial))
	}
	if v.user != "" {
		found, err := s.o.Secrets.Values(ctx, []string{PasswordSecret})
		if err != nil {
			return nil, err
		}
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(v.user), mail.WithPassword(found[PasswordSecret]))
	}
	c, err := mail.NewClient(v.host, options...)
	if err != nil {
		return nil, errors.New("the mail server's settings are not valid")
	}
	return c, nil
}

// resultOf translates what the server said about a mail. Its words may name addresses and hosts, so
// that only its code is shown. How the connection ends, once the server has the mail, says nothing.
func resultOf(m *mail.Msg) delivery.Result {
	if m.IsDelivered() {
		return delivery.Result{Outcome: notice.Delivered, Status: 250}
	}
	failed, ok := errors.AsType[*mail.SendError](m.SendError())
	switch {
	case ok && failed.ErrorCode() >= 500:
		return delivery.Result{Outcome: notice.Hopeless, Status: failed.ErrorCode(), Error: "the mail server refuses this mail or its address"}
	case ok && failed.ErrorCode() > 0:
		return delivery.Result{Outcome: notice.Refused, Status: failed.ErrorCode(), Error: "the mail server does not take this mail now"}
	}
	return delivery.Result{Outcome: notice.Refused, Error: "the mail server can't be reached, or refuses this server's user"}
}
