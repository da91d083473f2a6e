package lambdahttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/api/lambdahttp"
)

type urlEvent = events.LambdaFunctionURLRequest

// invoked is the answer of a handler to an event of a function URL, before any of its body is
// taken.
func invoked(t *testing.T, ctx context.Context, h http.HandlerFunc, change ...func(*urlEvent)) *events.LambdaFunctionURLStreamingResponse {
	t.Helper()
	got, err := lambdahttp.Streamed(h, quiet)(ctx, read(t, "stream-url.json", change...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Close() })
	return got
}

// prelude reads what Lambda reads before the body: status and headers, and eight zero bytes.
func prelude(t *testing.T, r io.Reader) (status int, headers map[string]string) {
	t.Helper()
	var text []byte
	for one := make([]byte, 1); !bytes.HasSuffix(text, make([]byte, 8)); {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text = append(text, one...)
	}
	var p struct {
		StatusCode int
		Headers    map[string]string
	}
	if err := json.Unmarshal(bytes.TrimRight(text, "\x00"), &p); err != nil {
		t.Fatal(err)
	}
	return p.StatusCode, p.Headers
}

func TestWhatIsWrittenIsTakenAsItComes(t *testing.T) {
	next := make(chan struct{})
	got := invoked(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/streams/YWJj.ZGVm" || r.URL.RawQuery != "after=MS4x&follow=true" || r.Header.Get("Origin") != "null" {
			t.Errorf("%+v", r)
		}
		out := http.NewResponseController(w)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"one", "", "two", "end"} {
			_, _ = io.WriteString(w, text)
			if err := errors.Join(out.SetWriteDeadline(time.Now().Add(time.Minute)), out.Flush()); err != nil {
				t.Error(err)
			}
			if text == "one" || text == "two" {
				<-next
			}
		}
	})
	status, headers := prelude(t, got)
	if status != 200 || headers["Content-Type"] != "text/event-stream" {
		t.Errorf("%d %v", status, headers)
	}
	for _, want := range []string{"one", "two"} {
		text := make([]byte, 3)
		if _, err := io.ReadFull(got, text); err != nil || string(text) != want {
			t.Fatalf("%q, %v", text, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(got); err != nil || string(rest) != "end" {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestAHandlerIsToldThatNobodyReadsAnyMore(t *testing.T) {
	over := make(chan error, 1)
	got := invoked(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.WriteString(w, "more"); err != nil {
				<-r.Context().Done()
				over <- err
				return
			}
		}
	})
	prelude(t, got)
	if err := got.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-over:
		if err == nil {
			t.Error("it was told nothing")
		}
	default:
		t.Error("the handler goes on after Close")
	}
}

func TestAStreamThatNobodyTakesEndsWithItsInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		over := make(chan error, 1)
		invoked(t, ctx, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour))
			_, err := io.WriteString(w, "more")
			over <- err
		})
		if err := <-over; err == nil {
			t.Error("it was taken")
		}
		if ctx.Err() != nil {
			t.Error("it ended after its invocation")
		}
	})
}

func TestWhatGoesWrongBeforeAStreamIsAProblem(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		change  func(*urlEvent)
		status  int
		body    string
	}{
		"a panic":                        {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Half", "1"); panic("secret") }, func(*urlEvent) {}, 500, `"internal"`},
		"a panic later":                  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "begun"); panic("secret") }, func(*urlEvent) {}, 200, "begun"},
		"an event that is none":          {func(http.ResponseWriter, *http.Request) {}, func(e *urlEvent) { e.RawPath = "" }, 400, "malformed_body"},
		"a handler that says nothing":    {func(http.ResponseWriter, *http.Request) {}, func(*urlEvent) {}, 200, ""},
		"a status without anything else": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, func(*urlEvent) {}, 204, ""},
	} {
		var log bytes.Buffer
		got, err := lambdahttp.Streamed(tt.handler, slog.New(slog.NewTextHandler(&log, nil)))(t.Context(), read(t, "stream-url.json", tt.change))
		if err != nil {
			t.Fatal(err)
		}
		status, headers := prelude(t, got)
		body, err := io.ReadAll(got)
		if status != tt.status || err != nil || !strings.Contains(string(body), tt.body) || strings.Contains(string(body), "secret") || headers["X-Half"] != "" {
			t.Errorf("%s: %d %v %q, %v", name, status, headers, body, err)
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(name, "panic") != strings.Contains(log.String(), "secret") {
			t.Errorf("%s: the log: %s", name, log.String())
		}
	}
}
