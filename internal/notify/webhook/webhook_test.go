package webhook_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/notify/webhook"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

const (
	public = "93.184.215.14"
	oldKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newKey = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// bench is a sender whose names lead to addresses, and these to a server on loopback.
type bench struct {
	*testing.T
	clock   *enginetest.Clock
	secrets map[string]string
	names   map[string][]string // addresses, one for each lookup; the last one stays
	private []string            // what the operator allows
	server  *httptest.Server
	answer  http.HandlerFunc
	write   webhook.Body

	mu    sync.Mutex
	dials []string
	got   []*http.Request
	body  []byte
}

func newBench(t *testing.T, answer http.HandlerFunc) *bench {
	b := &bench{T: t, clock: enginetest.NewClock(time.Unix(1_700_000_000, 0)), secrets: map[string]string{"HOOK_KEY": oldKey},
		names: map[string][]string{"hooks.example.com": {public}}, answer: answer, write: webhook.Standard}
	b.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.got, b.body = append(b.got, r), body
		b.mu.Unlock()
		b.answer(w, r)
	}))
	b.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.server.StartTLS()
	t.Cleanup(b.server.Close)
	return b
}

func (b *bench) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.names[host]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(all) > 1 {
		b.names[host] = all[1:]
	}
	return []netip.Addr{netip.MustParseAddr(all[0])}, nil
}

func (b *bench) dial(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	b.mu.Lock()
	b.dials = append(b.dials, a.Addr().String())
	b.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, "tcp", b.server.Listener.Addr().String())
}

func (b *bench) send(to notice.Target, n client.Notice) delivery.Result {
	b.Helper()
	private, err := netguard.ReadPrivate(b.private)
	if err != nil {
		b.Fatal(err)
	}
	guard := netguard.New(netguard.Options{Clock: b.clock, Private: private, Lookup: b.lookup, Dial: b.dial, TLS: &tls.Config{InsecureSkipVerify: true}})
	find := secret.Source(func(_ context.Context, name string) (string, error) { return b.secrets[name], nil })
	s := webhook.New(webhook.Options{Secrets: find, Guard: guard, Clock: b.clock, Agent: "dormouse/test"}, b.write)
	return s.Send(b.Context(), to, n)
}

var (
	ops    = notice.Target{Name: "ops", URL: "https://hooks.example.com/in", Secret: "HOOK_KEY"}
	refund = client.Notice{ID: "run_a_0:7", Type: client.NoticeSuspended, Tenant: "acme", Event: client.Event{Seq: 7}}
)

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (b *bench) verify(keys ...string) error {
	b.Helper()
	var read [][]byte
	for _, text := range keys {
		key, err := signature.Key(signature.Standard, text)
		if err != nil {
			b.Fatal(err)
		}
		read = append(read, key)
	}
	_, err := signature.Verify(signature.Standard, b.got[len(b.got)-1].Header.Get, b.body, b.clock.Now(), read...)
	return err
}

func TestANoticeIsPostedAndSigned(t *testing.T) {
	b := newBench(t, status(204))
	if r := b.send(ops, refund); r.Outcome != notice.Delivered || r.Status != 204 || r.Error != "" {
		t.Fatalf("%+v", r)
	}
	r := b.got[0]
	if r.Method != "POST" || r.RequestURI != "/in" || r.Host != "hooks.example.com" || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("User-Agent") != "dormouse/test" || r.Header.Get("webhook-id") != "run_a_0:7" || r.Header.Get("webhook-timestamp") != "1700000000" {
		t.Errorf("%s %s %s %v", r.Method, r.Host, r.RequestURI, r.Header)
	}
	var got client.Notice
	if err := json.Unmarshal(b.body, &got); err != nil || got.ID != refund.ID || got.Event.Seq != 7 {
		t.Errorf("%s: %v", b.body, err)
	}
	if err := b.verify(oldKey); err != nil {
		t.Error(err)
	}
	if b.verify(newKey) == nil {
		t.Error("another key verifies")
	}
}

func TestWhileAKeyIsRotatedBothSign(t *testing.T) {
	b := newBench(t, status(200))
	b.secrets["HOOK_KEY"] = newKey + " " + oldKey
	b.send(ops, refund)
	for _, key := range []string{oldKey, newKey} {
		if err := b.verify(key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestEachAttemptHasItsTimeAndTheSameID(t *testing.T) {
	b := newBench(t, status(500))
	b.send(ops, refund)
	b.clock.Advance(time.Hour)
	b.send(ops, refund)
	first, second := b.got[0].Header, b.got[1].Header
	if first.Get("webhook-id") != second.Get("webhook-id") || first.Get("webhook-timestamp") == second.Get("webhook-timestamp") {
		t.Errorf("%v, then %v", first, second)
	}
	if err := b.verify(oldKey); err != nil {
		t.Error(err)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	for code, want := range map[int]notice.Outcome{200: notice.Delivered, 202: notice.Delivered, 299: notice.Delivered, 400: notice.Refused, 401: notice.Refused,
		404: notice.Refused, 408: notice.Refused, 410: notice.Gone, 425: notice.Refused, 429: notice.Refused, 500: notice.Refused, 503: notice.Refused} {
		b := newBench(t, status(code))
		r := b.send(ops, refund)
		if r.Outcome != want || r.Status != code || (r.Error == "") != (want == notice.Delivered) {
			t.Errorf("%d: %+v", code, r)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://hooks.example.com/elsewhere")
			w.WriteHeader(code)
		})
		r := b.send(ops, refund)
		if r.Outcome != notice.Refused || r.Status != code || !strings.Contains(r.Error, "redirects are not followed") || len(b.got) != 1 {
			t.Errorf("%d: %+v after %d requests", code, r, len(b.got))
		}
	}
}

func TestPrivateAddressesNeedTheTargetAndTheOperator(t *testing.T) {
	for _, c := range []struct {
		target, operator, reached bool
	}{{false, false, false}, {true, false, false}, {false, true, false}, {true, true, true}} {
		for _, address := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1"} {
			b := newBench(t, status(200))
			b.names["hooks.example.com"] = []string{address}
			to := ops
			to.AllowPrivate = c.target
			if c.operator {
				b.private = []string{address}
			}
			r := b.send(to, refund)
			if (r.Outcome == notice.Delivered) != c.reached || (len(b.dials) > 0) != c.reached {
				t.Errorf("%s, %+v: %+v, dialled %v", address, c, r, b.dials)
			}
			if strings.Contains(r.Error, address) {
				t.Errorf("the error shows the address: %s", r.Error)
			}
		}
	}
}

// The name is looked up once for each attempt, and what was checked is what is dialled.
func TestANameThatChangesIsCheckedEachTime(t *testing.T) {
	b := newBench(t, status(200))
	b.names["hooks.example.com"] = []string{public, "127.0.0.1"}
	first, second := b.send(ops, refund), b.send(ops, refund)
	if first.Outcome != notice.Delivered || second.Outcome != notice.Refused || len(b.dials) != 1 || b.dials[0] != public {
		t.Errorf("%+v, then %+v; dialled %v", first, second, b.dials)
	}
}

func TestASlowReceiverIsGivenUp(t *testing.T) {
	var b *bench
	b = newBench(t, func(_ http.ResponseWriter, r *http.Request) {
		b.clock.Advance(10 * time.Second)
		<-r.Context().Done()
	})
	if r := b.send(ops, refund); r.Outcome != notice.Refused || r.Status != 0 || r.Error != "the receiver did not answer within 10s" {
		t.Errorf("%+v", r)
	}
}

func TestAnEndlessAnswerIsNotRead(t *testing.T) {
	wrote := make(chan int, 1)
	b := newBench(t, func(w http.ResponseWriter, _ *http.Request) {
		n, piece := 0, make([]byte, 32<<10)
		for n < 64<<20 {
			k, err := w.Write(piece)
			if n += k; err != nil {
				break
			}
		}
		wrote <- n
	})
	if r := b.send(ops, refund); r.Outcome != notice.Delivered {
		t.Errorf("%+v", r)
	}
	if n := <-wrote; n >= 64<<20 {
		t.Error("all of the answer was read")
	}
}

func TestASecretThatCannotSignIsNamedAndNotShown(t *testing.T) {
	for value, want := range map[string]string{"": "the secret HOOK_KEY is not set", "hunter2": "the secret HOOK_KEY can't sign", "whsec_%%": "the secret HOOK_KEY can't sign", " ": "holds no key"} {
		b := newBench(t, status(200))
		b.secrets["HOOK_KEY"] = value
		r := b.send(ops, refund)
		if r.Outcome != notice.Refused || !strings.Contains(r.Error, want) || strings.Contains(r.Error, "hunter2") || len(b.got) > 0 {
			t.Errorf("%q: %+v, %d requests", value, r, len(b.got))
		}
	}
}

func TestABodyThatCannotBeWrittenIsNotTriedAgain(t *testing.T) {
	b := newBench(t, status(200))
	b.write = func(client.Notice, notice.Target, secret.Values) ([]byte, error) {
		return nil, errors.New("the template can't be read")
	}
	if r := b.send(ops, refund); r.Outcome != notice.Hopeless || r.Error != "the template can't be read" || len(b.dials) > 0 {
		t.Errorf("%+v, %d connections", r, len(b.dials))
	}
}

func TestASecretInTheURLIsSentAndNotShown(t *testing.T) {
	to := notice.Target{URL: "https://hooks.example.com/services/{secret:SLACK_PATH}?k={secret:SLACK_KEY}"}
	b := newBench(t, status(404))
	b.secrets["SLACK_PATH"], b.secrets["SLACK_KEY"] = "T0/B0/xyzzy", "plugh"
	r := b.send(to, refund)
	if len(b.got) != 1 || b.got[0].RequestURI != "/services/T0/B0/xyzzy?k=plugh" {
		t.Fatalf("%+v, %d requests", r, len(b.got))
	}
	if strings.Contains(r.Error, "xyzzy") || strings.Contains(r.Error, "plugh") {
		t.Error(r.Error)
	}
	if b.got[0].Header.Get("webhook-signature") != "" {
		t.Error("signed without a secret")
	}
}

func TestASecretDoesNotChooseTheHost(t *testing.T) {
	for _, text := range []string{"https://{secret:X}/in", "{secret:X}", "https://hooks.example.com{secret:X}/", "https://{secret:X}@hooks.example.com/"} {
		for _, value := range []string{"evil.example.com", ".evil.example.com", "https://evil.example.com/", "@evil.example.com"} {
			b := newBench(t, status(200))
			b.names["evil.example.com"] = []string{public}
			b.secrets["X"] = value
			if r := b.send(notice.Target{URL: text}, refund); r.Outcome != notice.Refused || len(b.dials) > 0 || strings.Contains(r.Error, "evil") {
				t.Errorf("%s with %s: %+v", text, value, r)
			}
		}
	}
}

func TestLinksAreNotSentUnencryptedToPublicAddresses(t *testing.T) {
	b := newBench(t, status(200))
	to := ops
	to.URL = "http://hooks.example.com/in"
	n := refund
	n.Links = &client.NoticeLinks{Show: "https://desk.example.com/v1/approvals/x"}
	if r := b.send(to, n); r.Outcome != notice.Refused || len(b.dials) > 0 {
		t.Errorf("%+v, dialled %v", r, b.dials)
	}
}

func TestAHostThatIsNotThereIsRefused(t *testing.T) {
	b := newBench(t, status(200))
	to := ops
	to.URL = "https://nowhere.example.com/in"
	if r := b.send(to, refund); r.Outcome != notice.Refused || r.Error != "the receiver could not be reached: there is no such host" {
		t.Errorf("%+v", r)
	}
}
