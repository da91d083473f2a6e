package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

func status(code int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

func TestRetryAfterIsWaitedForIfItIsShortAndToldIfItIsLong(t *testing.T) {
	for value, c := range map[string]struct {
		after    time.Duration
		requests int
	}{
		"":                              {0, 3},
		"1":                             {time.Second, 3},
		"0.5":                           {500 * time.Millisecond, 3},
		"30":                            {30 * time.Second, 1},
		"1h":                            {0, 3},
		"-5":                            {0, 3},
		"99999999999999999999":          {0, 3},
		"Sat, 21 Nov 2026 08:00:40 GMT": {40 * time.Second, 1},
		"Sat, 21 Nov 2026 07:00:00 GMT": {0, 3},
	} {
		t.Run("Retry-After: "+value, func(t *testing.T) {
			s := newStage(t, status(429, map[string]string{"Retry-After": value}, `{}`))
			_, err := s.model.Ask(t.Context(), prompt())
			later, ok := errors.AsType[*engine.TryLater](err)
			if !ok || !later.Busy || later.After != c.after || s.requests() != c.requests {
				t.Errorf("after %d requests: %+v", s.requests(), err)
			}
			if s.clock.slept > 4*time.Second {
				t.Errorf("Ask waited %s", s.clock.slept)
			}
		})
	}
}

func TestStatusOfAnEndpoint(t *testing.T) {
	for code, c := range map[int]struct{ lasting, word string }{
		301: {"redirects", ""}, 307: {"redirects", ""}, 400: {"rejected the request", ""}, 401: {"credentials", ""}, 403: {"credentials", ""}, 404: {"does not know the model", ""},
		413: {"too large", ""}, 422: {"rejected the request", ""}, 408: {}, 425: {}, 429: {}, 500: {}, 501: {}, 502: {}, 503: {}, 504: {}, 529: {},
	} {
		s := newStage(t, status(code, map[string]string{"Location": "http://elsewhere.test/"}, `{"error":{"message":"the-endpoint's-own-words"}}`))
		_, err := s.model.Ask(t.Context(), prompt())
		lasts := errors.As(err, new(*engine.ModelError))
		if lasts != (c.lasting != "") || !lasts && !errors.As(err, new(*engine.TryLater)) || !strings.Contains(err.Error(), c.lasting) {
			t.Errorf("%d: %v", code, err)
		}
		if strings.Contains(fmt.Sprintf("%v", err), "own-words") || !strings.Contains(s.logged(), "own-words") {
			t.Errorf("%d: the endpoint's words belong into the log alone: %v\n%s", code, err, s.logged())
		}
		if later, ok := errors.AsType[*engine.TryLater](err); ok && later.Answered {
			t.Errorf("%d: counts as an answer", code)
		}
		if lasts && s.requests() != 1 {
			t.Errorf("%d: asked %d times", code, s.requests())
		}
	}
}

func TestErrorsUnderAStatusThatSaysAllIsWell(t *testing.T) {
	for name, c := range map[string]struct {
		body    http.HandlerFunc
		lasting bool
		busy    bool
	}{
		"an event called error": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("event: error\ndata: {\"message\":\"boom\",\"code\":500}\n\n"))
		}, false, false},
		"rate limit":           {frames(`{"error":{"code":"rate_limit_exceeded","message":"m"}}`), false, true},
		"a status as code":     {frames(`{"error":{"code":429,"message":"m"}}`), false, true},
		"overloaded":           {frames(`{"error":{"type":"overloaded_error"}}`), false, true},
		"too long":             {frames(`{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}`), true, false},
		"a bad request":        {frames(`{"error":{"code":400}}`), true, false},
		"a text":               {frames(`{"error":"boom"}`), false, false},
		"in one piece":         {status(200, map[string]string{"Content-Type": "application/json"}, `{"error":{"code":500}}`), false, false},
		"a page":               {status(200, map[string]string{"Content-Type": "text/html"}, `<html>log in</html>`), false, false},
		"no completion":        {status(200, map[string]string{"Content-Type": "application/json"}, `{"ok":true}`), false, false},
		"choices of no kind":   {frames(`{"choices":"x"}`, stop), false, false},
		"calls, and none come": {frames(toolCalls), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newStage(t, c.body).model.Ask(t.Context(), prompt())
			later, isLater := errors.AsType[*engine.TryLater](err)
			if isLater == c.lasting || !isLater && !errors.As(err, new(*engine.ModelError)) || isLater && later.Busy != c.busy {
				t.Errorf("got %+v", err)
			}
		})
	}
}

func TestAnAnswerThatIsNoTurnIsToldFromNone(t *testing.T) {
	text, call := delta(`{"content":"On its"}`), delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"pay","arguments":"{"}}]}`)
	failed := `{"error":{"code":500}}`
	for name, c := range map[string]struct {
		body     http.HandlerFunc
		answered bool
	}{
		"finish reason error":                  {frames(text, `{"choices":[{"delta":{},"finish_reason":"error"}]}`), true},
		"finish reason error alone":            {frames(`{"choices":[{"delta":{},"finish_reason":"error"}]}`), true},
		"broken off in a text":                 {frames(text), true},
		"broken off in a call":                 {frames(call), true},
		"an error behind a text":               {frames(text, failed), true},
		"a call that names none":               {frames(toolCalls), true},
		"a page":                               {status(200, map[string]string{"Content-Type": "text/html"}, `<html>log in</html>`), true},
		"an error in place of the first word":  {frames(failed), false},
		"overloaded":                           {frames(`{"error":{"type":"overloaded_error"}}`), false},
		"a connection that ends before a word": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		"a stream that ends before a word":     {frames(), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newStage(t, c.body).model.Ask(t.Context(), prompt())
			if later, ok := errors.AsType[*engine.TryLater](err); !ok || later.Answered != c.answered {
				t.Errorf("got %+v", err)
			}
		})
	}
}

func TestNoSecretLeavesTheRequest(t *testing.T) {
	repeat := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "%s you sent %v %q", strings.Repeat("x", 1990), r.Header, r.Header)
	}
	m := agent.Model{ID: "small", APIKey: "MODEL_KEY", BaseURL: "http://model.test/v1?token=" + key, Headers: map[string]string{"X-Own": "key={secret:MODEL_KEY}"}}
	var seen http.Header
	for name, h := range map[string]http.HandlerFunc{"repeated": repeat, "unreachable": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"in the stream": func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header
			frames(`{"error":{"message":"`+r.Header.Get("Authorization")+`"}}`)(w, r)
		}} {
		s := newStageOf(t, m, h)
		_, err := s.model.Ask(t.Context(), prompt())
		later, _ := errors.AsType[*engine.TryLater](err)
		for where, text := range map[string]string{"error": fmt.Sprintf("%v %+v", err, later), "log": s.logged()} {
			if strings.Contains(text, "planted") || strings.Contains(text, "0123456789") {
				t.Errorf("%s: the key is in the %s: %s", name, where, text)
			}
		}
	}
	if seen.Get("Authorization") != "Bearer "+key || seen.Get("X-Own") != "key="+key {
		t.Errorf("the endpoint was sent %v", seen)
	}
}

func TestMissingSecretSaysWhichAndAsksNobody(t *testing.T) {
	s := newStageOf(t, agent.Model{ID: "small", APIKey: "OTHER_KEY"}, modeldouble.OpenAI(nil))
	_, err := s.model.Ask(t.Context(), prompt())
	if !errors.As(err, new(*engine.ModelError)) || !strings.Contains(err.Error(), "OTHER_KEY") || s.requests() != 0 {
		t.Errorf("after %d requests: %v", s.requests(), err)
	}
}

func TestDefinitionsThatCannotBe(t *testing.T) {
	for name, m := range map[string]agent.Model{
		"no model":              {BaseURL: "http://localhost/v1"},
		"no URL":                {ID: "m"},
		"no scheme":             {ID: "m", BaseURL: "localhost:11434/v1"},
		"another scheme":        {ID: "m", BaseURL: "file:///etc/passwd"},
		"a password":            {ID: "m", BaseURL: "http://me:hunter2@localhost/v1"},
		"link-local":            {ID: "m", BaseURL: "http://169.254.169.254/v1"},
		"link-local, disguised": {ID: "m", BaseURL: "http://[::ffff:169.254.169.254]/v1"},
		"metadata of Azure":     {ID: "m", BaseURL: "http://168.63.129.16/v1"},
		"metadata of Alibaba":   {ID: "m", BaseURL: "http://100.100.100.200/v1"},
		"metadata of AWS, IPv6": {ID: "m", BaseURL: "http://[fd00:ec2::254]/v1"},
		"link-local of IPv6":    {ID: "m", BaseURL: "http://[fe80::1%25eth0]/v1"},
		"an argument":           {ID: "m", BaseURL: "http://localhost/v1", Headers: map[string]string{"X": "{name}"}},
		"a line break":          {ID: "m", BaseURL: "http://localhost/v1", Headers: map[string]string{"X": "a\nY: b"}},
		"a header's name":       {ID: "m", BaseURL: "http://localhost/v1", Headers: map[string]string{"X Y": "a"}},
		"length":                {ID: "m", BaseURL: "http://localhost/v1", Headers: map[string]string{"content-length": "1"}},
		"request":               {ID: "m", BaseURL: "http://localhost/v1", Request: []byte(`[1]`)},
		"output":                {ID: "m", BaseURL: "http://localhost/v1", Output: []byte(`[1]`)},
		"no source of secrets":  {ID: "m", BaseURL: "http://localhost/v1", APIKey: "MODEL_KEY"},
	} {
		_, err := openai.New(openai.Options{Model: m, Clock: enginetest.AtMilli(0), Random: enginetest.NewRandom(t, 7)})
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "clock") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := agent.Model{ID: "m", BaseURL: "http://10.0.0.5:8000/v1", Headers: map[string]string{"X-Team": "a {{b}}"}}
	if _, err := openai.New(openai.Options{Model: m, Clock: enginetest.AtMilli(0), Random: enginetest.NewRandom(t, 7)}); err != nil {
		t.Errorf("one that can be: %v", err)
	}
}

// refusing is a client whose connections are refused.
func refusing(why error) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, why }}}
}

func TestAnEndpointThatMayNotBeReachedIsNoOutage(t *testing.T) {
	for why, want := range map[error]string{netguard.ErrForbidden: "with --allow-private-hosts model.test:8000 (on AWS, the parameter PrivateHosts)",
		netguard.ErrClear: "use https, or serve the agent with --allow-private-hosts model.test:8000"} {
		m, err := openai.New(openai.Options{Model: agent.Model{ID: "m", BaseURL: "http://model.test:8000/v1"}, HTTP: refusing(why), Clock: enginetest.AtMilli(0),
			Random: enginetest.NewRandom(t, 7)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = m.Ask(t.Context(), prompt()); !errors.As(err, new(*engine.ModelError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAModelWithoutAClientReachesPublicAddressesOnly, so that a program that forgets to bring one
// opens nothing inside.
func TestAModelWithoutAClientReachesPublicAddressesOnly(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	m, err := openai.New(openai.Options{Model: agent.Model{ID: "m", BaseURL: server.URL + "/v1"}, Clock: enginetest.AtMilli(0), Random: enginetest.NewRandom(t, 7)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.Ask(t.Context(), prompt()); asked != 0 || !errors.As(err, new(*engine.ModelError)) {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestOverARealConnection(t *testing.T) {
	var asked modeldouble.Asked
	server := httptest.NewServer(modeldouble.OpenAI(func(a modeldouble.Asked) modeldouble.Said {
		asked = a
		return modeldouble.Said{Turn: core.Turn{Text: "On its way.", InputTokens: 3}, Piece: 2}
	}))
	ask := func() (core.Turn, *instant, error) {
		clock := &instant{Clock: enginetest.AtMilli(0)}
		m, err := openai.New(openai.Options{Model: agent.Model{ID: "m", BaseURL: server.URL + "/gateway/v1/?api-version=2"}, HTTP: &http.Client{Transport: &http.Transport{}}, Clock: clock, Random: enginetest.NewRandom(t, 7)})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := m.Ask(t.Context(), prompt())
		return turn, clock, err
	}
	turn, _, err := ask()
	if err != nil || turn.Text != "On its way." || asked.Path != "/gateway/v1/chat/completions" {
		t.Errorf("%+v, %v, asked %s", turn, err, asked.Path)
	}
	server.Close()
	_, clock, err := ask()
	later, ok := errors.AsType[*engine.TryLater](err)
	if !ok || later.Busy || later.Answered || !strings.Contains(later.Detail, "refused the connection") || clock.slept == 0 {
		t.Errorf("with nobody there: %v after %s", err, clock.slept)
	}
}

func TestRedirectTakesTheKeyNowhere(t *testing.T) {
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		s := newStage(t, status(code, map[string]string{"Location": other.URL}, ""))
		if _, err := s.model.Ask(t.Context(), prompt()); !errors.As(err, new(*engine.ModelError)) {
			t.Errorf("%d: %v", code, err)
		}
	}
	if elsewhere != 0 {
		t.Errorf("followed %d times", elsewhere)
	}
}

func TestSilenceEndsByTheClock(t *testing.T) {
	for name, begins := range map[string]bool{"before the first word": false, "in the middle": true} {
		t.Run(name, func(t *testing.T) {
			silent := make(chan struct{}, 1)
			s := newStage(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begins {
					frames(delta(`{"content":"On its"}`))(w, r)
				}
				silent <- struct{}{}
				<-r.Context().Done()
				// an answer written at this moment may still arrive
				panic(http.ErrAbortHandler)
			}))
			done := make(chan error, 1)
			go func() {
				_, err := s.model.Ask(t.Context(), prompt())
				done <- err
			}()
			<-silent
			var err error
			for ended := false; !ended; {
				select {
				case err = <-done:
					ended = true
				default:
					s.clock.Advance(10 * time.Second)
				}
			}
			if later, ok := errors.AsType[*engine.TryLater](err); !ok || later.Busy || later.Answered != begins || s.requests() != 1 {
				t.Errorf("after %d requests: %v", s.requests(), err)
			}
		})
	}
}

func TestAnswersWithoutEnd(t *testing.T) {
	endless := func(first, again string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write([]byte(first))
			for err == nil {
				_, err = w.Write([]byte(strings.Repeat(again, 1+1000/len(again))))
			}
		}
	}
	text := "data: " + delta(`{"content":"`+strings.Repeat("long ", 500)+`"}`) + "\n\n"
	call := "data: " + delta(`{"tool_calls":[{"function":{"name":"lookup","arguments":"{}"},"id":"a"}]}`) + "\n\n"
	whole := status(200, map[string]string{"Content-Type": "application/json"}, `{"choices":[{"message":{"content":"`+strings.Repeat("long ", 10000)+`"},"finish_reason":"stop"}]}`)
	for name, h := range map[string]http.HandlerFunc{"a line": endless("data: ", "x"), "an event": endless("", "data: x\n"), "text": endless("", text),
		"comments": endless("", ": still here\n"), "calls": endless("", call), "an answer in one piece": whole,
		"text that says that it ends": frames(delta(`{"content":"`+strings.Repeat("long ", 1000)+`"}`), delta(`{"content":"`+strings.Repeat("long ", 1000)+`"}`),
			delta(`{"content":"`+strings.Repeat("long ", 1000)+`"}`), delta(`{"content":"`+strings.Repeat("long ", 1000)+`"}`), stop)} {
		s := newStage(t, h)
		if !s.model.Usual() {
			t.Fatal("the bounds of a model are not those that are documented")
		}
		s.model.Bound()
		if _, err := s.model.Ask(t.Context(), prompt()); !errors.As(err, new(*engine.ModelError)) || s.requests() != 1 {
			t.Errorf("%s: after %d requests: %v", name, s.requests(), err)
		}
	}
}

func TestAnAnswerThatItsContextEndsHadBegun(t *testing.T) {
	gone := errors.New("the time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newStage(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a long story \"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	p := prompt()
	p.Say = func(engine.Delta) { cancel(gone) }
	_, err := s.model.Ask(ctx, p)
	if _, cut := errors.AsType[*engine.CutShort](err); !cut || !errors.Is(err, gone) {
		t.Errorf("the error is %#v", err)
	}
}
