package inbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestTheTerminalIsGivenBackAlsoInAPanic(t *testing.T) {
	var out bytes.Buffer
	given := 0
	w := &walker{c: client.New("http://127.0.0.1:1", client.WithRetries(0)), out: &out, now: time.Now, size: func() (int, int) { panic("lost") },
		read: func([]byte) (int, error) { return 0, errors.New("no keys") }, raw: func() error { return nil }, restore: func() error { given++; return nil }}
	defer func() {
		if recover() == nil || given != 1 {
			t.Errorf("given back %d times", given)
		}
	}()
	_ = w.walk(t.Context())
}

func TestAnInboxWithoutAKeyboardEnds(t *testing.T) {
	var out bytes.Buffer
	given := 0
	w := &walker{c: client.New("http://127.0.0.1:1", client.WithRetries(0)), out: &out, now: time.Now, size: func() (int, int) { return 80, 24 },
		read: func([]byte) (int, error) { return 0, errors.New("no keys") }, raw: func() error { return nil }, restore: func() error { given++; return nil }}
	if err := w.walk(t.Context()); err == nil || !strings.Contains(err.Error(), "no keys") || given != 1 {
		t.Errorf("%v, given back %d times", err, given)
	}
}

func TestInboxLetsOnlyThePauseThatWasShownGoOn(t *testing.T) {
	paused := waits(1, "interrupt")
	for shown, want := range map[string]string{"sus_1": "POST /v1/runs/run_1/resume", "sus_9": ""} {
		sent := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				sent <- r.Method + " " + r.URL.Path
				_, _ = io.WriteString(w, `{"status":202,"code":"accepted"}`)
				return
			}
			_, _ = fmt.Fprintf(w, `{"id":"run_1","status":"waiting","pending":[{"kind":"interrupt","suspension":{"id":%q}}]}`, shown)
		}))
		w := &walker{c: client.New(server.URL, client.WithRetries(0))}
		_, err := w.send(t.Context(), paused, wire.Decision{Target: "sus_1", Action: "resume"})
		server.Close()
		close(sent)
		if got := <-sent; got != want || (err == nil) != (want != "") {
			t.Errorf("the run waits on %s: sent %q, %v", shown, got, err)
		}
	}
}
