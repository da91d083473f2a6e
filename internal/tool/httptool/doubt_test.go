package httptool

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// half begins an answer and breaks off.
func half(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// openEnds are the ways in which an attempt may have taken effect and nobody knows, and what is
// said of them.
var openEnds = []struct {
	name   string
	answer http.HandlerFunc
	says   string
}{
	{"no answer", cutOff, "the connection broke before a whole answer came"},
	{"half of a success", half(200), "the connection broke before a whole answer came"},
	{"half of a fault", half(500), "the connection broke before a whole answer came"},
	{"502", status(502), "a gateway in front of the service answered 502 Bad Gateway"},
	{"503", status(503), "the service answered 503 Service Unavailable"},
	{"524", status(524), "a gateway in front of the service answered 524"},
	{"504", status(504), "a gateway in front of the service answered 504 Gateway Timeout"},
}

// afterwards is what the network is like after the first request.
var afterwards = []struct {
	name   string
	change func(*world)
	says   string
}{
	{"the service restarts", func(w *world) { w.routes = nil }, "it refused the connection"},
	{"the name is gone", func(w *world) { w.names = nil }, "there is no such host"},
	{"the name leads inside", func(w *world) { w.names["api.example.com"] = []string{"10.0.0.1"} }, "private or special network"},
	{"nobody answers", func(w *world) { w.routes[publicAddress+":443"] = mute }, "could not be reached within"},
}

// TestWhatWasSentOnceIsNeverSaidNotToHaveRun: a later attempt that does not get through says
// nothing about the one before.
func TestWhatWasSentOnceIsNeverSaidNotToHaveRun(t *testing.T) {
	for _, first := range openEnds {
		for _, then := range afterwards {
			t.Run(first.name+", then "+then.name, func(t *testing.T) {
				w := newWorld(t)
				w.serve(publicAddress+":443", func(rw http.ResponseWriter, r *http.Request) {
					w.mu.Lock()
					then.change(w)
					w.mu.Unlock()
					first.answer(rw, r)
				})
				out := w.call(again, `{"order":"1","amount":5}`)
				want := "The request was sent to api.example.com, and " + first.says + ". It may or may not have taken effect. " +
					"The request could not be sent again: api.example.com "
				if !out.Failed || !strings.HasPrefix(out.Text, want) || !strings.Contains(out.Text, then.says) || len(w.requests()) != 1 {
					t.Errorf("outcome %+v after %d requests", out, len(w.requests()))
				}
			})
		}
	}
}

// TestARefusalOfTheRepeatIsNoneOfTheFirst: the second refund is refused perhaps because the first
// was made.
func TestARefusalOfTheRepeatIsNoneOfTheFirst(t *testing.T) {
	for _, first := range openEnds {
		for _, code := range []int{400, 404, 409, 422, 429} {
			w := newWorld(t)
			w.serve(publicAddress+":443", inTurn(w, first.answer, status(code)))
			out := w.call(again, `{"order":"1"}`)
			want := fmt.Sprintf("The service answered %d %s. It was sent before, and %s: the call may or may not have taken effect.", code, http.StatusText(code), first.says)
			if !out.Failed || out.Text != want || len(w.requests()) < 2 {
				t.Errorf("%s, then %d: outcome %+v after %d requests", first.name, code, out, len(w.requests()))
			}
		}
	}
}

// TestAFailureOfTheRepeatNamesTheDoubtAboutTheFirst: the service may fail over what the first one
// did.
func TestAFailureOfTheRepeatNamesTheDoubtAboutTheFirst(t *testing.T) {
	for _, first := range openEnds {
		w := newWorld(t)
		w.serve(publicAddress+":443", inTurn(w, first.answer, status(500)))
		want := "The service answered 500 Internal Server Error. It was sent before, and " + first.says + ": the call may or may not have taken effect."
		if out := w.call(again, `{"order":"1"}`); !out.Failed || out.Text != want {
			t.Errorf("%s: outcome %+v", first.name, out)
		}
	}
}

func TestARefusalAloneLeavesNothingOpen(t *testing.T) {
	for _, tool := range []string{pay, again} {
		for _, code := range []int{400, 401, 403, 404, 409, 422, 429} {
			w := newWorld(t)
			w.serve(publicAddress+":443", status(code))
			if out := w.call(tool, `{"order":"1"}`); out.Text != fmt.Sprintf("The service answered %d %s.", code, http.StatusText(code)) {
				t.Errorf("outcome %+v", out)
			}
		}
	}
}

// TestAnAnswerThatIsNoRefusalLeavesTheEffectOpen: even the only one.
func TestAnAnswerThatIsNoRefusalLeavesTheEffectOpen(t *testing.T) {
	for _, tool := range []string{pay, again} {
		for _, code := range []int{300, 302, 304, 305, 500, 501, 503, 521, 999} {
			w := newWorld(t)
			w.serve(publicAddress+":443", status(code))
			if out := w.call(tool, `{"order":"1"}`); !out.Failed || !strings.HasSuffix(out.Text, ". The call may or may not have taken effect.") {
				t.Errorf("%d: outcome %+v", code, out)
			}
		}
	}
}

// TestWhatOnlyReadsHasNoEffectToSpeakOf: but that it was sent is not denied either.
func TestWhatOnlyReadsHasNoEffectToSpeakOf(t *testing.T) {
	for _, first := range openEnds {
		w := newWorld(t)
		w.serve(publicAddress+":443", func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.routes = nil
			w.mu.Unlock()
			first.answer(rw, r)
		})
		out := w.call(look, `{"order":"1"}`)
		want := "A request was sent to api.example.com, and " + first.says + ". The request could not be sent again: api.example.com could not be reached: it refused the connection."
		if !out.Failed || out.Text != want {
			t.Errorf("%s: outcome %+v", first.name, out)
		}
		w = newWorld(t)
		w.serve(publicAddress+":443", inTurn(w, first.answer, status(404)))
		if out := w.call(look, `{"order":"1"}`); out.Text != "The service answered 404 Not Found." {
			t.Errorf("%s: outcome %+v", first.name, out)
		}
	}
}

// TestARepeatForALostProcessSpeaksForItselfAlone: what the process before did is not known here.
func TestARepeatForALostProcessSpeaksForItselfAlone(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"refused": nil, "404": status(404), "500": status(500)} {
		for text, doubts := range map[string]bool{again: true, look: false} {
			w := newWorld(t)
			if answer != nil {
				w.serve(publicAddress+":443", answer)
			}
			tool, _ := readTool(t, text)
			req := requestFor(`{"order":"1"}`)
			req.Again = true
			out, err := w.caller().Tool(tool).Run(t.Context(), req)
			if err != nil || !out.Failed || strings.Contains(out.Text, "the process that made the call before crashed, and may have sent it") != doubts {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		}
	}
}

func TestASuccessSettlesWhatCameBefore(t *testing.T) {
	for _, first := range openEnds {
		w := newWorld(t)
		w.serve(publicAddress+":443", inTurn(w, first.answer, answering(200, `"paid"`)))
		if out := w.call(again, `{"order":"1"}`); out.Failed || out.Text != `"paid"` {
			t.Errorf("%s: outcome %+v", first.name, out)
		}
	}
}
