package smtp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/notify/smtp"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// office is a mail server. It refuses recipients as their addresses say.
type office struct {
	addr   string
	hangUp bool // once a mail is taken

	mu   sync.Mutex
	to   []string
	mail []string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{}
	server := gosmtp.NewServer(gosmtp.BackendFunc(func(c *gosmtp.Conn) (gosmtp.Session, error) { return &session{o, c}, nil }))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.addr = listener.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Close(); wg.Wait() })
	return o
}

type session struct {
	*office
	conn *gosmtp.Conn
}

// Reset comes after the answer to a mail.
func (s session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hangUp && len(s.mail) > 0 {
		s.conn.Conn().Close()
	}
}

func (session) Logout() error                          { return nil }
func (session) Mail(string, *gosmtp.MailOptions) error { return nil }

func (s session) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	switch {
	case strings.HasPrefix(to, "nobody"):
		return &gosmtp.SMTPError{Code: 550, EnhancedCode: gosmtp.EnhancedCode{5, 1, 1}, Message: "no such user at mx7.internal"}
	case strings.HasPrefix(to, "full"):
		return &gosmtp.SMTPError{Code: 452, EnhancedCode: gosmtp.EnhancedCode{4, 2, 2}, Message: "mailbox full"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, to)
	return nil
}

func (s session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mail = append(s.mail, string(text))
	return err
}

func sender(t *testing.T, addr string) *smtp.Sender {
	t.Helper()
	server, err := smtp.ParseServer("smtp://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	none := secret.Environment(func(string) string { return "" })
	return smtp.New(smtp.Options{Server: server, From: mail.Address{Name: "Dormouse", Address: "bot@example.com"}, Secrets: none, Clock: machine.Clock{}})
}

func waiting() client.Notice {
	a := &client.Approval{RunID: "run_a_0", Agent: "desk", Pending: client.Pending{Tool: "issue_refund", Kind: client.KindApproval,
		Arguments: json.RawMessage(`{"order":"A-17","note":"<img src=x>"}`),
		Requests:  []client.Request{{Text: "Refund A-17\r\nBcc: eve@example.com\r\n\r\n.\r\nMAIL FROM:<eve@example.com>", By: "token:shop"}},
		Said:      "I'll refund it. <script>alert(1)</script>"}}
	return client.Notice{ID: "run_a_0:7", Type: client.NoticeSuspended, Approval: a, Event: client.Event{RunID: "run_a_0"},
		Links: &client.NoticeLinks{Show: "https://desk.example/v1/approvals/tok", Approve: "https://desk.example/v1/approvals/tok?answer=approve", Deny: "https://desk.example/v1/approvals/tok?answer=deny"}}
}

// parts reads a mail as a mail program does.
func parts(t *testing.T, text string) (mail.Header, map[string]string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("the mail is %s: %v", kind, err)
	}
	read := multipart.NewReader(m.Body, params["boundary"])
	all := map[string]string{}
	for {
		p, err := read.NextRawPart()
		if err == io.EOF {
			return m.Header, all
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		all[kind] = string(body)
	}
}

func TestAMailAsksAndDoesNotDecide(t *testing.T) {
	o := newOffice(t)
	s := sender(t, o.addr)
	to := notice.Target{Name: "boss", Mail: []string{"anna@example.com", "Bob <bob@example.com>"}}
	for range 2 { // the second attempt is the same mail
		if r := s.Send(t.Context(), to, waiting()); r.Outcome != notice.Delivered {
			t.Fatalf("%+v", r)
		}
	}
	if fmt.Sprint(o.to) != "[anna@example.com bob@example.com anna@example.com bob@example.com]" || len(o.mail) != 4 {
		t.Fatalf("%d mails to %v", len(o.mail), o.to)
	}
	header, all := parts(t, o.mail[0])
	other, _ := parts(t, o.mail[1])
	again, _ := parts(t, o.mail[2])
	if header.Get("Message-ID") == "" || header.Get("Message-ID") != again.Get("Message-ID") {
		t.Errorf("the attempts have the ids %s and %s", header.Get("Message-ID"), again.Get("Message-ID"))
	}
	if other.Get("Message-ID") == header.Get("Message-ID") || header.Get("To") != "<anna@example.com>" || other.Get("To") != `"Bob" <bob@example.com>` {
		t.Errorf("one mail is to %s, the other to %s", header.Get("To"), other.Get("To"))
	}
	for name, want := range map[string]string{"Subject": "Approval needed: issue_refund", "From": `"Dormouse" <bot@example.com>`, "Auto-Submitted": "auto-generated", "Bcc": ""} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for kind, words := range map[string][]string{
		"text/plain": {"order", "A-17", "https://desk.example/v1/approvals/tok", "Refund A-17"},
		"text/html":  {"A-17", `<a href="https://desk.example/v1/approvals/tok">`, "&lt;script&gt;", "&lt;img src=x&gt;"},
	} {
		for _, word := range words {
			if !strings.Contains(all[kind], word) {
				t.Errorf("%s does not have %q:\n%s", kind, word, all[kind])
			}
		}
		for _, never := range []string{"answer=approve", "answer=deny", "<script", "<form", "<img"} {
			if strings.Contains(all[kind], never) && (kind == "text/html" || strings.HasPrefix(never, "answer")) {
				t.Errorf("%s has %q", kind, never)
			}
		}
	}
}

// The mail with a code says what the code is for, and has nothing that opens or answers the link.
func TestACodeIsMailedToOneAddress(t *testing.T) {
	o := newOffice(t)
	post := sender(t, o.addr)
	send := (&notify.Endpoints{Mail: post, Random: machine.Random{}}).SendCode()
	for range 2 {
		if err := send(t.Context(), "anna@example.com", "042917"); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(o.to) != "[anna@example.com anna@example.com]" || len(o.mail) != 2 {
		t.Fatalf("%d mails to %v", len(o.mail), o.to)
	}
	header, all := parts(t, o.mail[0])
	again, _ := parts(t, o.mail[1])
	if id := header.Get("Message-ID"); id == "" || id == again.Get("Message-ID") || header.Get("To") != "<anna@example.com>" || header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("%v", header)
	}
	for name, values := range header { // phones show subjects while they are locked
		if strings.Contains(strings.Join(values, ""), "042917") {
			t.Errorf("the header %s has the code", name)
		}
	}
	for kind, text := range all {
		if !strings.Contains(text, "042917") || !strings.Contains(text, "10 minutes") || strings.Contains(text, "http") {
			t.Errorf("%s: %s", kind, text)
		}
	}
	for _, address := range []string{"nobody@example.com", "full@example.com", "a@b@c"} {
		if err := send(t.Context(), address, "042917"); err == nil || strings.Contains(err.Error(), "mx7") || strings.Contains(err.Error(), "042917") || strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestWhatTheServerRefuses(t *testing.T) {
	o := newOffice(t)
	for address, want := range map[string]struct {
		outcome notice.Outcome
		status  int
	}{
		"nobody@example.com": {notice.Hopeless, 550},
		"full@example.com":   {notice.Refused, 452},
		"a@b@c":              {notice.Hopeless, 0},
	} {
		r := sender(t, o.addr).Send(t.Context(), notice.Target{Mail: []string{address}}, waiting())
		if r.Outcome != want.outcome || r.Status != want.status || r.Error == "" || strings.Contains(r.Error, "mx7") {
			t.Errorf("%s: %+v, want %+v", address, r, want)
		}
	}
	if len(o.mail) != 0 {
		t.Errorf("%d mails were taken", len(o.mail))
	}
}

// A wrong address keeps nobody else from being notified, and one that works later is tried later.
func TestSomeAddressesAreRefused(t *testing.T) {
	for addresses, want := range map[string]struct {
		outcome notice.Outcome
		status  int
		taken   int
	}{
		"nobody@example.com anna@example.com":                  {notice.Delivered, 250, 1},
		"anna@example.com nobody@example.com bob@example.com":  {notice.Delivered, 250, 2},
		"a@b@c anna@example.com":                               {notice.Delivered, 250, 1},
		"anna@example.com full@example.com":                    {notice.Refused, 452, 1},
		"nobody@example.com full@example.com anna@example.com": {notice.Refused, 452, 1},
		"nobody@example.com nobody2@example.com":               {notice.Hopeless, 550, 0},
		"nobody@example.com a@b@c":                             {notice.Hopeless, 0, 0},
	} {
		o := newOffice(t)
		r := sender(t, o.addr).Send(t.Context(), notice.Target{Mail: strings.Fields(addresses)}, waiting())
		if r.Outcome != want.outcome || r.Status != want.status || (r.Error == "") != (want.outcome == notice.Delivered) || len(o.mail) != want.taken {
			t.Errorf("%s: %+v and %d mails, want %+v", addresses, r, len(o.mail), want)
		}
	}
}

// What happens to the connection once the server has the mail does not make it a failure.
func TestAServerThatTakesTheMailAndHangsUp(t *testing.T) {
	o := newOffice(t)
	o.hangUp = true
	to := notice.Target{Mail: []string{"anna@example.com"}}
	if r := sender(t, o.addr).Send(t.Context(), to, waiting()); r.Outcome != notice.Delivered || r.Error != "" || len(o.mail) != 1 {
		t.Errorf("%+v, %d mails", r, len(o.mail))
	}
	o = newOffice(t)
	o.hangUp = true
	to.Mail = append(to.Mail, "bob@example.com")
	if r := sender(t, o.addr).Send(t.Context(), to, waiting()); r.Outcome != notice.Refused || r.Error == "" {
		t.Errorf("the second mail was never taken: %+v", r)
	}
}

func TestAServerThatIsNotThereIsTriedAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	began := time.Now()
	if r := sender(t, listener.Addr().String()).Send(t.Context(), notice.Target{Mail: []string{"anna@example.com"}}, waiting()); r.Outcome != notice.Refused {
		t.Errorf("%+v after %s", r, time.Since(began))
	}
}

// A server elsewhere that offers no encryption gets neither the password nor the mail.
func TestAServerElsewhereHasToEncrypt(t *testing.T) {
	o := newOffice(t)
	dialed := 0
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialed++
		return new(net.Dialer).DialContext(ctx, network, o.addr)
	}
	for _, address := range []string{"smtp://mail.example.com", "smtp://bot@mail.example.com"} {
		server, err := smtp.ParseServer(address)
		if err != nil {
			t.Fatal(err)
		}
		s := smtp.New(smtp.Options{Server: server, From: mail.Address{Address: "bot@example.com"}, Clock: machine.Clock{}, Dial: dial,
			Secrets: secret.Environment(func(string) string { return "hush" })})
		if r := s.Send(t.Context(), notice.Target{Mail: []string{"anna@example.com"}}, waiting()); r.Outcome != notice.Refused {
			t.Errorf("%s: %+v", address, r)
		}
	}
	if dialed != 2 || len(o.mail) != 0 || len(o.to) != 0 {
		t.Errorf("%d connections, %d mails to %v", dialed, len(o.mail), o.to)
	}
}

func TestAddressesOfServers(t *testing.T) {
	for text, ok := range map[string]bool{
		"smtp://mail.example.com": true, "smtps://bot@mail.example.com:465": true, "smtp://[::1]:2525": true,
		"mail.example.com": false, "http://mail.example.com": false, "smtp://": false, "smtp://a:hush@mail.example.com": false,
		"smtp://mail.example.com/path": false, "smtp://mail.example.com:0": false, "smtp://mail.example.com?tls=no": false,
	} {
		_, err := smtp.ParseServer(text)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
