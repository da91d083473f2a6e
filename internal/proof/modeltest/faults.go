package modeltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

// fate is what must come of a fault that does not pass.
type fate string

const (
	later   fate = "later"    // engine.TryLater
	busy    fate = "busy"     // the same, and Busy
	notBusy fate = "not busy" // the same, and not
	lasting fate = "lasting"  // engine.ModelError
)

var fates = map[modeldouble.Fault]fate{
	modeldouble.Throttled: busy, modeldouble.NotReady: busy, modeldouble.TimedOut: notBusy, modeldouble.ServerError: notBusy,
	modeldouble.Unreachable: notBusy,
	modeldouble.Refused:     lasting, modeldouble.Forbidden: lasting, modeldouble.NotFound: lasting,
	modeldouble.Cut: notBusy, modeldouble.Aborted: notBusy, modeldouble.HalfFrame: notBusy, modeldouble.Garbled: later,
	modeldouble.LateThrottled: later, modeldouble.LateError: notBusy,
}

// longestSleep is what one Ask may wait in all.
const longestSleep = 10 * time.Second

func (s suite) faults(t *testing.T) {
	turn := core.Turn{Text: "On its way, I think.", Calls: []core.ToolCall{call("a", "lookup", `{"order":7}`)}, InputTokens: 3, OutputTokens: 2}
	for fault, want := range fates {
		t.Run(string(fault)+" is "+string(want), func(t *testing.T) {
			r := s.rig(t, says(modeldouble.Said{Turn: turn, Piece: 4, Fault: fault}), nil)
			got, err := r.ask(prompt("lookup"))
			if err == nil {
				t.Fatalf("it became the turn %+v", got)
			}
			if is := fateOf(err); is != want && (want != later || is == lasting) {
				t.Errorf("it is %s: %v", is, err)
			}
			if r.clock.slept > longestSleep {
				t.Errorf("Ask waited %s", r.clock.slept)
			}
			if n := len(r.requests()); want == lasting && n > 1 || n > 6 {
				t.Errorf("the provider was asked %d times", n)
			}
		})
	}
	for _, fault := range []modeldouble.Fault{modeldouble.Throttled, modeldouble.NotReady, modeldouble.ServerError} {
		t.Run(string(fault)+" once is waited out", func(t *testing.T) {
			r := s.rig(t, inTurn(modeldouble.Said{Fault: fault}, modeldouble.Said{Turn: turn}), nil)
			if got := r.turn(prompt("lookup")); got.Text != turn.Text || len(r.requests()) != 2 {
				t.Errorf("got %+v after %d requests", got, len(r.requests()))
			}
			if r.clock.slept == 0 || r.clock.slept > longestSleep {
				t.Errorf("it was asked again after %s", r.clock.slept)
			}
		})
	}
}

func fateOf(err error) fate {
	l, isLater := errors.AsType[*engine.TryLater](err)
	_, isLasting := errors.AsType[*engine.ModelError](err)
	switch {
	case isLater && isLasting, !isLater && !isLasting, isLater && l.Detail == "":
		return "not one that a model may return"
	case isLasting && errors.Is(err, engine.ErrTryAgain):
		return "lasting, and to be tried again"
	case isLasting:
		return lasting
	case l.Busy:
		return busy
	}
	return notBusy
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// cutBody ends a body when so many bytes were read.
type cutBody struct {
	from io.ReadCloser
	left int
	end  func() error
}

func (c *cutBody) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, c.end()
	}
	n, err := c.from.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

func (c *cutBody) Close() error { return c.from.Close() }

// cuts breaks a recorded answer at every byte, in order and not. Under -short it leaves most bytes
// out, but none near the end of the turn or of the answer.
func (s suite) cuts(t *testing.T) {
	turn := core.Turn{Text: "Yes é.", Calls: []core.ToolCall{call("a", "lookup", `{"order":12345678901234567890}`)},
		InputTokens: 3, OutputTokens: 2}
	said := modeldouble.Said{Turn: turn}
	recorded := s.record(t, said)
	whole := len(recorded)
	if !s.whole {
		whole = s.Whole(recorded)
	}
	if whole <= 0 || whole > len(recorded) {
		t.Fatalf("%d of %d bytes are said to make the turn", whole, len(recorded))
	}
	for name, end := range map[string]error{"in order": io.EOF, "broken": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			n := 0
			r := s.rig(t, says(said), func(inner http.RoundTripper) http.RoundTripper { return cutAt(inner, &n, end) })
			for n = 0; n <= len(recorded); n++ {
				if near := min(max(n-whole, whole-n), len(recorded)-n); near > 16 && n%effort.Of(1, 7) != 0 {
					continue
				}
				r.log.Reset()
				got, err := r.ask(prompt("lookup"))
				switch {
				case err == nil && n < whole:
					t.Fatalf("%d of %d bytes became the turn %+v:\n%q", n, len(recorded), got, recorded[:n])
				case err == nil:
					sameCalls(t, fmt.Sprintf("cut behind byte %d", n), got.Calls, turn.Calls)
					if got.Text != turn.Text || got.End != nil {
						t.Fatalf("cut behind byte %d: %+v", n, got)
					}
				case n == len(recorded) && end == io.EOF:
					t.Fatalf("the whole answer is no turn: %v", err)
				case fateOf(err) != notBusy:
					t.Fatalf("%d of %d bytes: %v", n, len(recorded), err)
				}
			}
		})
	}
}

// cutAt ends each answer behind n bytes, as n is by then.
func cutAt(inner http.RoundTripper, n *int, end error) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(req)
		if err == nil {
			resp.Body = &cutBody{from: resp.Body, left: *n, end: func() error { return end }}
		}
		return resp, err
	})
}

// record is an answer as it goes over the wire.
func (s suite) record(t *testing.T, said modeldouble.Said) []byte {
	var all bytes.Buffer
	r := s.rig(t, says(said), func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(req)
			if err != nil {
				return resp, err
			}
			defer resp.Body.Close()
			if _, err := io.Copy(&all, resp.Body); err != nil {
				return nil, err
			}
			resp.Body = io.NopCloser(bytes.NewReader(all.Bytes()))
			return resp, nil
		})
	})
	r.turn(prompt("lookup"))
	return all.Bytes()
}

// stops holds what is said of why a model stopped against what comes of it.
func (s suite) stops(t *testing.T) {
	calls := []core.ToolCall{call("a", "lookup", `{"order":7}`)}
	words := map[string]string{"a_word_of_tomorrow": "unknown_stop_reason"}
	for word, code := range s.Stops {
		words[word] = code
	}
	for word, code := range words {
		t.Run(word, func(t *testing.T) {
			turns := 0
			for name, turn := range map[string]core.Turn{"text": {Text: "So far"}, "a call": {Text: "So far", Calls: calls}} {
				r := s.rig(t, says(modeldouble.Said{Turn: turn, Stop: word}), nil)
				got, err := r.ask(prompt("lookup"))
				switch {
				// a word that does not fit what was said may be doubted
				case err != nil && fateOf(err) == notBusy && (code == TryLater || code == ""):
				case err != nil || code == TryLater:
					t.Errorf("behind %s: %+v, %v", name, got, err)
				case code == "" && got.End != nil, code != "" && (got.End == nil || got.End.Kind != core.Stopped || got.End.Code != code):
					t.Errorf("behind %s: the end is %+v, want %q", name, got.End, code)
				case got.Text != "So far" || len(got.Calls) != len(turn.Calls):
					t.Errorf("behind %s: %+v", name, got)
				default:
					turns++
				}
			}
			if code == "" && turns == 0 {
				t.Error("it makes no turn, behind text or behind a call")
			}
		})
	}
}

// TryLater in [Provider.Stops] is of a word that makes no turn.
const TryLater = "try later"
