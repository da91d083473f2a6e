// Package maildouble is a mail server that keeps what it gets.
package maildouble

import (
	"io"
	"net"
	"regexp"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"
)

// Mail is one that was taken.
type Mail struct{ To, Text string }

// Office is a mail server. Close it in the end.
type Office struct {
	Addr   string
	server *smtp.Server
	served sync.WaitGroup

	mu   sync.Mutex
	mail []Mail
}

// New starts one on a port of the loopback address.
func New() (*Office, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &Office{Addr: listener.Addr().String()}
	o.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{office: o}, nil }))
	o.served.Go(func() { _ = o.server.Serve(listener) })
	return o, nil
}

// Close stops the server.
func (o *Office) Close() {
	_ = o.server.Close()
	o.served.Wait()
}

// Mail is what was taken so far.
func (o *Office) Mail() []Mail {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Mail(nil), o.mail...)
}

var codeText = regexp.MustCompile(`one-time code is (\d{6})`)

// Codes are the one-time codes that an address got, in their order.
func (o *Office) Codes(to string) (codes []string) {
	for _, m := range o.Mail() {
		if found := codeText.FindStringSubmatch(m.Text); m.To == to && found != nil {
			codes = append(codes, found[1])
		}
	}
	return codes
}

type session struct {
	office *Office
	to     []string
}

func (s *session) Reset()                                    { s.to = nil }
func (s *session) Logout() error                             { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error      { return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error { s.to = append(s.to, to); return nil }

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.office.mu.Lock()
	defer s.office.mu.Unlock()
	s.office.mail = append(s.office.mail, Mail{strings.Join(s.to, " "), string(text)})
	return err
}
