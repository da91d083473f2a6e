package a2atool

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

const whole1 = `{"jsonrpc":"2.0","id":"x","result":{"id":"task-1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"all of it"}]}]}}`

// raw answers a method with these bytes, and closes the connection.
func raw(method, answer string) front {
	return func(rw http.ResponseWriter, _ *http.Request, at request) bool {
		if at.method == method {
			conn, _, _ := rw.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
		return at.method == method
	}
}

// HK13: the beginning of an answer is never taken for all of it.
func TestAnAnswerThatEndsEarlyIsADrop(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	half := whole1[:len(whole1)/2]
	w := newWorld(t, nil, false)
	for name, answer := range map[string]string{
		"nothing":            "",
		"a part of a head":   "HTTP/1.1 200 O",
		"a head":             head,
		"less than its size": fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(whole1), half),
		"one byte less":      fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(whole1)+1, whole1),
		"an open chunk":      fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", head, len(whole1), half),
		"no last chunk":      fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", head, len(whole1), whole1),
		"half, by its size":  fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(half), half),
		"half, to the end":   head + "Connection: close\r\n\r\n" + half,
		"an empty body":      head + "Content-Length: 0\r\n\r\n",
		"no HTTP":            "all of it",
	} {
		w.between(raw("GetTask", answer))
		if r, err := w.peer().Look(t.Context(), about(w.known())); err == nil {
			t.Errorf("look, %s: %+v", name, r)
		}
		w.between(raw("SendMessage", strings.Replace(answer, "GetTask", "SendMessage", 1)))
		if r, err := w.peer().Send(t.Context(), asks()); err == nil {
			t.Errorf("send, %s: %+v", name, r)
		}
		w.between(raw("CancelTask", answer))
		if err := w.peer().Stop(t.Context(), about(w.known())); err == nil {
			t.Errorf("stop, %s: it was stopped", name)
		}
		w.between(raw("card", answer))
		if r, err := w.peer().Send(t.Context(), asks()); err == nil {
			t.Errorf("card, %s: %+v", name, r)
		}
	}
	w.between(raw("GetTask", fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(whole1), whole1)))
	if r, err := w.peer().Look(t.Context(), about(w.known())); err != nil || r.Text != "all of it" {
		t.Errorf("the whole: %+v, %v", r, err)
	}
}

// TestEveryBeginningOfAnAnswerIsADrop: wherever it is cut.
func TestEveryBeginningOfAnAnswerIsADrop(t *testing.T) {
	var body string
	p := canned(t, io.Discard, func(string) (int, string) { return 200, body })
	for n := range len(whole1) {
		body = whole1[:n]
		if r, err := p.Look(t.Context(), taskOne()); err == nil {
			t.Fatalf("%s: %+v", body, r)
		}
	}
	body = whole1 + "\n"
	if r, err := p.Look(t.Context(), taskOne()); err != nil || r.Text != "all of it" {
		t.Errorf("the whole: %+v, %v", r, err)
	}
}

// canned is an agent without a network. It answers a method with a body; ID in it is the id of the
// request.
func canned(t testing.TB, log io.Writer, answer func(method string) (status int, body string)) engine.Peer {
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		var message struct {
			Method string
			ID     json.RawMessage
		}
		message.Method = "card"
		if r.Body != nil {
			_ = json.NewDecoder(r.Body).Decode(&message)
		}
		status, body := answer(message.Method)
		if status == 0 && message.Method == "card" {
			status, body = 200, `{"supportedInterfaces":[{"url":"https://agent.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
		}
		body = strings.ReplaceAll(body, "ID", string(message.ID))
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})
	agents := New(Options{HTTP: func(agent.A2A) *http.Client { return &http.Client{Transport: transport} }, Clock: stopped{}, Secrets: secrets, Logger: slog.New(slog.NewTextHandler(log, nil))})
	p, err := agents.Peer(agent.Definition{}, agent.Tool{Agent: &agent.Callee{A2A: &agent.A2A{URL: "https://agent.example", MaxBytes: 20_000,
		Headers: map[string]string{"Authorization": "{secret:TOKEN}"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stopped is a clock that does not move.
type stopped struct{}

func (stopped) Now() time.Time                                { return time.UnixMilli(0) }
func (stopped) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

func taskOne() engine.PeerRequest {
	q := asks()
	q.Task = peer.Task{ID: "task-1", Endpoint: "https://agent.example/a2a"}
	return q
}

// HK14: whatever an answer says its length is.
func TestNothingOfAnAnswerThatIsTooLongIsUsed(t *testing.T) {
	const most = 1000
	long := strings.Replace(whole1, "all of it", strings.Repeat("x", most), 1)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, strings.Replace(whole1, "all of it", strings.Repeat("x", 1<<20), 1))
	_ = z.Close()
	for name, answer := range map[string]string{
		"with a length": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long),
		"without":       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + long,
		"a false one":   fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n%s", long),
		"packed":        fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", packed.Len(), packed.String()),
		"spaces":        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + strings.Replace(whole1, `{`, `{`+strings.Repeat(" ", most), 1),
	} {
		w := newWorld(t, nil, false)
		w.def.MaxBytes = most
		w.between(raw("GetTask", answer))
		if r, err := w.peer().Look(t.Context(), about(w.known())); err != nil || r.State != peer.Failed || r.Code != peer.CodeBadAnswer || !r.Open || !strings.Contains(r.Detail, "more than 1000 bytes") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	w := newWorld(t, nil, false)
	w.def.MaxBytes = int64(len(whole1))
	w.between(answering("GetTask", 200, whole1))
	if r, err := w.peer().Look(t.Context(), about(w.known())); err != nil || r.Text != "all of it" {
		t.Errorf("just as long: %+v, %v", r, err)
	}
}

// TestASlowAnswerEnds: however many bytes trickle in.
func TestASlowAnswerEnds(t *testing.T) {
	for name, begins := range map[string]string{"silence": "", "a head": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "a body": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\"", "a refusal": "HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\nx"} {
		w := newWorld(t, nil, false)
		w.def.Timeout = 5000
		w.between(func(rw http.ResponseWriter, r *http.Request, at request) bool {
			conn, _, _ := rw.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, begins)
			w.clock.Advance(5 * time.Second)
			_, _ = io.Copy(io.Discard, conn) // until the adapter hangs up
			_ = conn.Close()
			return true
		})
		r, err := w.peer().Look(t.Context(), about(w.known()))
		if err == nil || name != "a refusal" && !strings.Contains(err.Error(), " did not answer within 5s.") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestACallOfManyRequestsEnds: each of them is in time.
func TestACallOfManyRequestsEnds(t *testing.T) {
	w := newWorld(t, nil, false)
	w.between(func(rw http.ResponseWriter, r *http.Request, at request) bool {
		w.clock.Advance(29 * time.Second)
		return answering("ListTasks", 200, `{"jsonrpc":"2.0","id":ID,"result":{"nextPageToken":"more"}}`)(rw, r, at)
	})
	if r, err := w.peer().Send(t.Context(), again(false)); err == nil {
		t.Errorf("report %+v", r)
	}
	if n := len(w.requests("")); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestHugeHeadersAreADrop(t *testing.T) {
	w := newWorld(t, nil, false)
	w.http.Client().Transport.(*http.Transport).MaxResponseHeaderBytes = 64 << 10
	w.between(raw("GetTask", "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 100<<10)+"\r\n\r\n"+whole1))
	if r, err := w.peer().Look(t.Context(), about(w.known())); err == nil {
		t.Errorf("report %+v", r)
	}
}

// TestNoConnectionIsKept: not even between two requests of one call.
func TestNoConnectionIsKept(t *testing.T) {
	w := newWorld(t, nil, false)
	w.act = w.stays(a2a.TaskStateWorking)
	sent := w.send(asks())
	w.look(sent)
	if err := w.peer().Stop(t.Context(), about(sent)); err != nil {
		t.Error(err)
	}
	if n := w.idle.Load(); n > 0 {
		t.Errorf("%d connections were kept", n)
	}
}

// TestASecretIsInNoReport: an agent knows those that it is sent, and may say them anywhere.
func TestASecretIsInNoReport(t *testing.T) {
	spellings := []string{token, strings.ToUpper(token), "x" + token + "x", `t\u006f` + token[2:], strings.ReplaceAll(token, "-", " "), strings.Repeat("y", 250) + token}
	member := `{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","contextId":"c","status":{"state":"STATE","message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"SECRET"},{"data":{"SECRET":"SECRET"}}]}},
		"artifacts":[{"parts":[{"text":"SECRET"},{"data":{"SECRET":["SECRET"]}},{"url":"https://x.example/SECRET","filename":"SECRET","mediaType":"SECRET"},{"raw":"","filename":"SECRET"}]}]}}`
	var bodies []string
	for _, state := range []string{"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "SECRET"} {
		bodies = append(bodies, strings.ReplaceAll(member, "STATE", state))
	}
	bodies = append(bodies, strings.ReplaceAll(member, `"id":"task-1"`, `"id":"SECRET"`), strings.ReplaceAll(member, `"contextId":"c"`, `"contextId":"SECRET"`), `SECRET`, `{"SECRET":"SECRET"}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"SECRET","data":"SECRET"}}`, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"SECRET","data":[{"@type":"SECRET"}]}}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"SECRET":{}}}`, `{"jsonrpc":"2.0","id":{"SECRET":1},"result":{}}`)
	for _, spelled := range spellings {
		for _, body := range bodies {
			for _, method := range []string{"GetTask", "SendMessage", "ListTasks", "CancelTask", "card"} {
				answer := strings.ReplaceAll(body, "SECRET", spelled)
				if method == "SendMessage" {
					answer = strings.Replace(answer, `"result":`, `"result":{"task":`, 1) + "}"
				}
				var said strings.Builder
				p := canned(t, &said, func(m string) (int, string) {
					switch m {
					case method:
						return 200, answer
					case "card":
						return 0, ""
					}
					return 200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001}}`
				})
				for _, q := range []engine.PeerRequest{asks(), again(false), again(true)} {
					r, err := p.Send(t.Context(), q)
					fmt.Fprintf(&said, "%+v %s %v\n", r, r.Value, err)
				}
				r, err := p.Look(t.Context(), taskOne())
				fmt.Fprintf(&said, "%+v %s %v\n", r, r.Value, err)
				fmt.Fprintln(&said, p.Stop(t.Context(), taskOne()), p.Stop(t.Context(), asks()))
				if values := (secret.Values{"TOKEN": token}); values.In(said.String()) || strings.Contains(said.String(), token[:10]) {
					t.Fatalf("%s answered %s: %s", method, answer, said.String())
				}
			}
		}
	}
}

// TestNoBeginningOfASecretIsLeftWhereATextIsCut: spaces are dropped after a long text was cut.
func TestNoBeginningOfASecretIsLeftWhereATextIsCut(t *testing.T) {
	for before := 16*mostDetail - len(token) - 10; before < 16*mostDetail; before++ {
		p := canned(t, io.Discard, func(string) (int, string) {
			return 200, `{"jsonrpc":"2.0","id":ID,"result":{"id":"task-1","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"` +
				strings.Repeat(" ", before) + token + ` and more"}]}}}}`
		})
		if r, err := p.Look(t.Context(), taskOne()); err != nil || strings.Contains(r.Detail, token[:4]) {
			t.Errorf("%d spaces: %s, %v", before, r.Detail, err)
		}
	}
}

func TestASecretThatCannotBeHad(t *testing.T) {
	for name, tt := range map[string]struct {
		source secret.Source
		fails  bool // a first send
	}{
		"not set":     {func(context.Context, string) (string, error) { return "", secret.ErrNotSet }, true},
		"two lines":   {func(context.Context, string) (string, error) { return "a\nb", nil }, true},
		"not reached": {func(context.Context, string) (string, error) { return "", errors.New("timeout") }, false},
	} {
		w := newWorld(t, nil, false)
		p := w.peer().(*remoteAgent)
		p.Agents = New(Options{HTTP: p.o.HTTP, Clock: w.clock, Secrets: tt.source, Logger: p.o.Logger})
		r, err := p.Send(t.Context(), asks())
		if tt.fails && (err != nil || r.State != peer.Failed || r.Code != peer.CodeRefused || r.Open || !strings.Contains(r.Detail, "TOKEN")) || !tt.fails && err == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if r, err := p.Send(t.Context(), again(false)); err == nil {
			t.Errorf("%s: %+v; the task may be there", name, r)
		}
		if r, err := p.Look(t.Context(), about(w.known())); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
		if err := p.Stop(t.Context(), about(w.known())); err == nil {
			t.Errorf("%s: it was stopped", name)
		}
		if len(w.requests("")) > 0 {
			t.Errorf("%s: requests %+v", name, w.requests(""))
		}
	}
}

func TestAnAgentThatIsNotThereIsAnError(t *testing.T) {
	w := newWorld(t, nil, false)
	w.http.Close()
	r, err := w.peer().Send(t.Context(), asks())
	if err == nil || !strings.Contains(err.Error(), "could not be reached: it refused the connection.") {
		t.Errorf("report %+v, %v", r, err)
	}
	if r, err := w.peer().Send(t.Context(), again(true)); err == nil {
		t.Errorf("report %+v", r)
	}
	if err := w.peer().Stop(t.Context(), about(w.known())); err == nil {
		t.Error("it was stopped")
	}
}
