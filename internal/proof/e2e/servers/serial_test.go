package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// front puts the front before a handler.
func front(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	behind := httptest.NewServer(h)
	t.Cleanup(behind.Close)
	f := httptest.NewServer(&serial{to: behind.URL, client: behind.Client()})
	t.Cleanup(f.Close)
	return f
}

func post(t *testing.T, url, target, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", target)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}

func TestOneRequestAtATime(t *testing.T) {
	var inside, most, all atomic.Int32
	f := front(t, func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), inside.Add(1)))
		all.Add(1)
		_, _ = io.Copy(w, r.Body)
		inside.Add(-1)
	})
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if got := post(t, f.URL, "DynamoDB_20120810.PutItem", fmt.Sprint(i)); got != fmt.Sprint(i) {
				t.Errorf("request %d was answered with %q", i, got)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || all.Load() != 30 {
		t.Errorf("%d requests, %d of them at once", all.Load(), most.Load())
	}
}

func TestWhoWaitsForMessagesKeepsNobodyWaiting(t *testing.T) {
	var there atomic.Bool
	asked := make(chan string, 100)
	f := front(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "SendMessage") {
			there.Store(true)
		} else {
			asked <- string(body)
		}
		if there.Load() {
			_, _ = io.WriteString(w, `{"Messages":[{}]}`)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	})
	got := make(chan string)
	go func() { got <- post(t, f.URL, "AmazonSQS.ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":20}`) }()
	if body := <-asked; !strings.Contains(body, `"WaitTimeSeconds":0`) {
		t.Errorf("the server was asked %s", body)
	}
	post(t, f.URL, "AmazonSQS.SendMessage", `{}`)
	select {
	case answer := <-got:
		if answer != `{"Messages":[{}]}` {
			t.Errorf("the receive was answered with %s", answer)
		}
	case <-time.After(10 * time.Second):
		t.Error("the message was not given to who waited")
	}
}

func TestAWaitIsTakenOutOfAReceiveAlone(t *testing.T) {
	for _, c := range []struct {
		target, body string
		wait         time.Duration
	}{{"AmazonSQS.ReceiveMessage", `{"WaitTimeSeconds":2}`, 2 * time.Second}, {"AmazonSQS.ReceiveMessage", `{}`, 0}, {"AmazonSQS.ReceiveMessage", `not JSON`, 0},
		{"AmazonSQS.SendMessage", `{"WaitTimeSeconds":2}`, 0}} {
		body, wait := withoutWait(c.target, []byte(c.body))
		if wait != c.wait || wait == 0 && string(body) != c.body {
			t.Errorf("%s %s: %s, %s", c.target, c.body, wait, body)
		}
	}
}

func TestAServerThatThereIsNotIsSaid(t *testing.T) {
	_, err := Start(context.Background(), "localdb", t.TempDir(), io.Discard)
	if err == nil || errors.Is(err, ErrNotRun) || !strings.Contains(err.Error(), "there are dynoxide, moto, elasticmq and oidc") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheReasonIsTheLastLine(t *testing.T) {
	if got := lastLine("installing\nlog\nnot run: moto 1: PyPI is away\n"); got != "moto 1: PyPI is away" {
		t.Errorf("%q", got)
	}
}
