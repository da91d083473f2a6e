package cli_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"

	gosmtp "github.com/emersion/go-smtp"
)

// mailbox is a double of Mailpit: it takes mail by SMTP, and shows the text of the latest one by
// HTTP. A reader waits for the first mail.
type mailbox struct {
	smtp, web string // addresses

	came chan struct{} // closed by the first mail
	mu   sync.Mutex
	text string
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	m := &mailbox{came: make(chan struct{})}
	server := gosmtp.NewServer(gosmtp.BackendFunc(func(*gosmtp.Conn) (gosmtp.Session, error) { return delivery{m}, nil }))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(m.view))
	m.smtp, m.web = listener.Addr().String(), strings.TrimPrefix(web.URL, "http://")
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { web.Close(); server.Close(); wg.Wait() })
	return m
}

// joins puts the mailbox in the place of the one of the page.
func (m *mailbox) joins(s *session) {
	s.doubles = map[string]string{"127.0.0.1:1025": m.smtp, "127.0.0.1:8025": m.web}
}

func (m *mailbox) view(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/view/latest.txt" {
		http.NotFound(w, r)
		return
	}
	select {
	case <-m.came:
	case <-r.Context().Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = io.WriteString(w, m.text)
}

type delivery struct{ *mailbox }

func (delivery) Reset()                                 {}
func (delivery) Logout() error                          { return nil }
func (delivery) Mail(string, *gosmtp.MailOptions) error { return nil }
func (delivery) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	if to != "anna@example.com" {
		return &gosmtp.SMTPError{Code: 550, Message: "no such user"}
	}
	return nil
}

// Data keeps the text of a mail, which is the first of its parts.
func (d delivery) Data(r io.Reader) error {
	read, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	_, params, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	part, err := multipart.NewReader(read.Body, params["boundary"]).NextPart()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(part)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == "" {
		close(d.came)
	}
	d.text = string(text)
	return nil
}
