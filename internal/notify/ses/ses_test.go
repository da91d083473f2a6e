package ses_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/notify"
	"github.com/dormouse-dev/dormouse/internal/notify/ses"
)

const from = "desk@example.com"

// office stands for the HTTP API of SES. It checks what SES checks, and refuses addresses as they
// say.
type office struct {
	*testing.T
	url  string
	sent []request
}

// request is the JSON of SendEmail.
type request struct {
	FromEmailAddress string
	Destination      struct{ ToAddresses []string }
	Content          struct {
		Simple struct {
			Subject content
			Body    struct{ Text, Html content }
			Headers []struct{ Name, Value string }
		}
	}
}

type content struct{ Data, Charset string }

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	signed := r.Header.Get("Authorization")
	if r.Method != "POST" || r.URL.Path != "/v2/email/outbound-emails" || !strings.HasPrefix(signed, "AWS4-HMAC-SHA256 Credential=AKIA/") ||
		!strings.Contains(signed, "/eu-central-1/ses/aws4_request") || !strings.Contains(signed, "Signature=") || r.Header.Get("X-Amz-Date") == "" {
		o.Errorf("%s %s is signed with %q", r.Method, r.URL, signed)
	}
	var in request
	read := json.NewDecoder(r.Body)
	read.DisallowUnknownFields()
	if err := read.Decode(&in); err != nil {
		o.Errorf("the body: %v", err)
	}
	m := in.Content.Simple
	switch to := strings.Join(in.Destination.ToAddresses, " "); {
	case in.FromEmailAddress != from:
		refuse(w, 400, "MessageRejected", "Email address is not verified. The following identities failed the check: "+in.FromEmailAddress)
	case m.Subject.Data == "" || m.Body.Text.Data == "" || m.Body.Html.Data == "" || slices.ContainsFunc(m.Headers, own):
		refuse(w, 400, "BadRequestException", "Invalid message of account 123456789012")
	case strings.Contains(to, "nobody"):
		refuse(w, 400, "MessageRejected", "Address is on the suppression list of 123456789012")
	case strings.Contains(to, "wrong"):
		refuse(w, 400, "BadRequestException", "Domain starts with dot in 123456789012")
	case strings.Contains(to, "fast"):
		refuse(w, 429, "TooManyRequestsException", "Maximum sending rate exceeded for 123456789012")
	case strings.Contains(to, "paused"):
		refuse(w, 400, "SendingPausedException", "Sending is paused for 123456789012")
	case strings.Contains(to, "denied"):
		refuse(w, 403, "AccessDeniedException", "User: arn:aws:sts::123456789012:x is not authorized")
	case strings.Contains(to, "broken"):
		refuse(w, 500, "InternalServiceErrorException", "123456789012")
	case strings.Contains(to, "hangup"):
		panic(http.ErrAbortHandler)
	case strings.Contains(to, "slow"):
		<-r.Context().Done()
	default:
		o.sent = append(o.sent, in)
		_, _ = io.WriteString(w, `{"MessageId":"0107018f"}`)
	}
}

// own says whether SES sets the header by itself, and so refuses it.
func own(h struct{ Name, Value string }) bool {
	return slices.Contains([]string{"From", "To", "Subject", "Date", "Message-ID", "Reply-To", "Return-Path", "Content-Type", "MIME-Version"}, h.Name) ||
		strings.ContainsAny(h.Value, "\r\n")
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}

func (o *office) sender(address string, limit time.Duration) *ses.Sender {
	api := sesv2.New(sesv2.Options{Region: "eu-central-1", BaseEndpoint: &o.url, Credentials: credentials.NewStaticCredentialsProvider("AKIA", "secret", ""), Retryer: aws.NopRetryer{}})
	return ses.New(ses.Options{API: api, From: address, Clock: machine.Clock{}, Limit: limit})
}

func (o *office) send(addresses ...string) delivery.Result {
	return o.sender(from, 0).Send(o.Context(), notice.Target{Mail: addresses}, waiting())
}

func waiting() client.Notice {
	a := &client.Approval{RunID: "run_a_0", Agent: "desk", Pending: client.Pending{Tool: "issue_refund", Kind: client.KindApproval,
		Arguments: json.RawMessage(`{"order":"A-17","note":"<img src=x>"}`), Requests: []client.Request{{Text: "Zurück: A-17\r\nBcc: eve@example.com", By: "token:shop"}}}}
	return client.Notice{ID: "run_a_0:7", Type: client.NoticeSuspended, Approval: a, Event: client.Event{RunID: "run_a_0"},
		Links: &client.NoticeLinks{Show: "https://desk.example/v1/approvals/tok", Approve: "https://desk.example/v1/approvals/tok?answer=approve"}}
}

func TestAMailIsTheLetterThatSMTPSends(t *testing.T) {
	o := newOffice(t)
	for range 2 {
		if r := o.send("anna@example.com", "Zoë <zoe@example.com>"); r != (delivery.Result{Outcome: notice.Delivered, Status: 200}) {
			t.Fatalf("%+v", r)
		}
	}
	if len(o.sent) != 4 {
		t.Fatalf("%d mails", len(o.sent))
	}
	for i, address := range []string{"anna@example.com", "Zoë <zoe@example.com>"} {
		got, want := o.sent[i], notify.NewLetter(waiting(), address)
		m := got.Content.Simple
		if m.Subject != (content{want.Subject, "UTF-8"}) || m.Body.Text != (content{want.Text, "UTF-8"}) || m.Body.Html != (content{want.HTML, "UTF-8"}) {
			t.Errorf("%s: %+v", address, m)
		}
		headers := map[string]string{}
		for _, h := range m.Headers {
			headers[h.Name] = h.Value
		}
		if wanted := map[string]string{"Auto-Submitted": "auto-generated", "References": "<" + want.Thread + "@example.com>", "X-Dormouse-Notice": want.ID}; !maps.Equal(headers, wanted) {
			t.Errorf("%s: headers %v, want %v", address, headers, wanted)
		}
		if again := o.sent[i+2].Content.Simple; !slices.Equal(again.Headers, m.Headers) || again.Body != m.Body {
			t.Errorf("%s: the second attempt is another mail: %+v", address, again)
		}
	}
	if one, two := o.sent[0].Destination.ToAddresses, o.sent[1].Destination.ToAddresses; !slices.Equal(one, []string{"<anna@example.com>"}) ||
		!slices.Equal(two, []string{"=?utf-8?q?Zo=C3=AB?= <zoe@example.com>"}) {
		t.Errorf("they are to %q and %q", one, two)
	}
}

// A code goes to one address, once; its mail has no link.
func TestACodeIsMailedToOneAddress(t *testing.T) {
	o := newOffice(t)
	send := notify.CodesBy(o.sender(from, 0), machine.Random{})
	if err := send(t.Context(), "anna@example.com", "042917"); err != nil || len(o.sent) != 1 {
		t.Fatalf("%d mails, %v", len(o.sent), err)
	}
	m := o.sent[0].Content.Simple
	if !slices.Equal(o.sent[0].Destination.ToAddresses, []string{"<anna@example.com>"}) || !strings.Contains(m.Body.Text.Data, "042917") || strings.Contains(m.Body.Html.Data, "http") ||
		strings.Contains(m.Subject.Data, "042917") {
		t.Errorf("%+v", o.sent[0])
	}
	for _, address := range []string{"nobody@example.com", "paused@example.com", "hangup@example.com", "a@b@c"} {
		if err := send(t.Context(), address, "042917"); err == nil || strings.Contains(err.Error(), "123456789012") || strings.Contains(err.Error(), "042917") || strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(o.sent) != 1 {
		t.Errorf("%d mails", len(o.sent))
	}
}

// What the operator can correct, or time, is sent again; what SES refuses for good is given up.
func TestWhatSESRefuses(t *testing.T) {
	for addresses, want := range map[string]struct {
		outcome notice.Outcome
		status  int
		says    string
		sent    int
	}{
		"nobody@example.com":                   {notice.Hopeless, 400, "MessageRejected", 0},
		"wrong@example.com":                    {notice.Hopeless, 400, "BadRequestException", 0},
		"a@b@c":                                {notice.Hopeless, 0, "not valid", 0},
		"fast@example.com":                     {notice.Refused, 429, "TooManyRequestsException", 0},
		"paused@example.com":                   {notice.Refused, 400, "SendingPausedException", 0},
		"denied@example.com":                   {notice.Refused, 403, "AccessDeniedException", 0},
		"broken@example.com":                   {notice.Refused, 500, "InternalServiceErrorException", 0},
		"hangup@example.com":                   {notice.Refused, 0, "did not answer", 0},
		"nobody@example.com anna@example.com":  {notice.Delivered, 200, "", 1},
		"anna@example.com a@b@c b@example.com": {notice.Delivered, 200, "", 2},
		"fast@example.com anna@example.com":    {notice.Refused, 429, "TooManyRequestsException", 1},
	} {
		o := newOffice(t)
		r := o.send(strings.Fields(addresses)...)
		if r.Outcome != want.outcome || r.Status != want.status || !strings.Contains(r.Error, want.says) || strings.Contains(r.Error, "123456789012") || len(o.sent) != want.sent {
			t.Errorf("%s: %+v and %d mails, want %+v", addresses, r, len(o.sent), want)
		}
	}
}

func TestASenderThatNoIdentityCovers(t *testing.T) {
	o := newOffice(t)
	if r := o.sender("other@example.net", 0).Send(t.Context(), notice.Target{Mail: []string{"anna@example.com"}}, waiting()); r.Outcome != notice.Hopeless || !strings.Contains(r.Error, "MessageRejected") {
		t.Errorf("%+v", r)
	}
}

func TestAnAttemptEndsInTime(t *testing.T) {
	o := newOffice(t)
	if r := o.sender(from, 50*time.Millisecond).Send(t.Context(), notice.Target{Mail: []string{"slow@example.com"}}, waiting()); r.Outcome != notice.Refused {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := o.sender(from, 0).Send(ctx, notice.Target{Mail: []string{"anna@example.com"}}, waiting()); r.Outcome != notice.Refused || len(o.sent) != 0 {
		t.Errorf("%+v, %d mails", r, len(o.sent))
	}
}
