package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
)

func call(id, name, arguments string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// longArguments hold what is lost where it is cut: escapes, characters of two to four bytes, a
// number longer than any float.
var longArguments = `{"note":"a \"quoted\" \\ line\nand \u00e9 \ud83d\ude00 é 猫 😀 ` + strings.Repeat("long ", 60) +
	`","order":123456789012345678901234567890,"price":1.10}`

func (s suite) answers(t *testing.T) {
	t.Run("text comes as it was said", func(t *testing.T) {
		for _, text := range []string{"On its way.", "line\nbreak \"quoted\" \\ é 猫 😀", strings.Repeat("long ", 1000)} {
			for _, piece := range []int{0, 1, 3, 7} {
				if len(text) > 1000 && piece == 1 {
					continue
				}
				r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Text: text, InputTokens: 10, OutputTokens: 5}, Piece: piece}), nil)
				got := r.turn(prompt())
				if got.Text != text || len(got.Calls) != 0 || got.End != nil {
					t.Errorf("in pieces of %d: %q became %+v", piece, text, got)
				}
				if got.InputTokens != 10 || got.OutputTokens != 5 || got.NoUsage {
					t.Errorf("used %d and %d tokens (unknown: %v), want 10 and 5", got.InputTokens, got.OutputTokens, got.NoUsage)
				}
			}
		}
	})
	t.Run("what came out of a cache is of the input", func(t *testing.T) {
		r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Text: "yes", InputTokens: 100, OutputTokens: 5, CacheRead: 60}}), nil)
		if got := r.turn(prompt()); got.InputTokens != 100 || got.CacheRead != 60 {
			t.Errorf("read %d tokens, %d of them from a cache; want 100 and 60", got.InputTokens, got.CacheRead)
		}
	})
	t.Run("parallel calls keep their order and every digit, wherever they are cut", func(t *testing.T) {
		calls := []core.ToolCall{call("call_a", "lookup", longArguments), call("call_b", "refund", `{"order":7}`), call("call_c", "lookup", `{}`)}
		for piece := range 12 {
			r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Text: "Let me see.", Calls: calls, InputTokens: 1, OutputTokens: 1}, Piece: piece}), nil)
			got := r.turn(prompt("lookup", "refund"))
			if got.Text != "Let me see." {
				t.Errorf("in pieces of %d: the text is %q", piece, got.Text)
			}
			sameCalls(t, fmt.Sprintf("in pieces of %d", piece), got.Calls, calls)
		}
	})
	t.Run("a repeated id does not join two calls", func(t *testing.T) {
		calls := []core.ToolCall{call("same", "lookup", `{"order":1}`), call("same", "lookup", `{"order":2}`)}
		r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Calls: calls}}), nil)
		sameCalls(t, "two of one id", r.turn(prompt("lookup")).Calls, calls)
	})
	t.Run("missing usage is unknown and not nothing", func(t *testing.T) {
		r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Text: "yes", InputTokens: 9, OutputTokens: 9}, Fault: modeldouble.NoUsage}), nil)
		if got := r.turn(prompt()); !got.NoUsage || got.InputTokens != 0 || got.OutputTokens != 0 || got.Text != "yes" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("events that nobody knows are passed over", func(t *testing.T) {
		r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Text: "yes"}, Fault: modeldouble.UnknownEvent}), nil)
		if got := r.turn(prompt()); got.Text != "yes" || got.End != nil {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a context that ends in the middle ends the answer soon, with its cause", s.cancelled)
}

func sameCalls(t testing.TB, what string, got, want []core.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d calls, want %d: %+v", what, len(got), len(want), got)
	}
	for i := range want {
		if got[i].ID != want[i].ID || got[i].Name != want[i].Name || !sameJSON(got[i].Arguments, want[i].Arguments) {
			t.Fatalf("%s: call %d is\n%s %s %s, want\n%s %s %s", what, i, got[i].ID, got[i].Name, got[i].Arguments, want[i].ID, want[i].Name, want[i].Arguments)
		}
	}
}

// sameJSON compares values, and numbers digit by digit.
func sameJSON(a, b json.RawMessage) bool {
	x, errX := core.Canonical(a)
	y, errY := core.Canonical(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

var errStopped = errors.New("somebody stopped it")

func (s suite) cancelled(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	hang := func(ctx context.Context) {
		stop(errStopped)
		<-ctx.Done()
	}
	r := s.rig(t, says(modeldouble.Said{Turn: core.Turn{Text: "a long story"}, Piece: 3}), func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(req)
			if err == nil {
				resp.Body = &cutBody{from: resp.Body, left: 60, end: func() error { hang(req.Context()); return req.Context().Err() }}
			}
			return resp, err
		})
	})
	done := make(chan error, 1)
	go func() {
		_, err := r.model.Ask(ctx, prompt())
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errStopped) || errors.Is(err, engine.ErrTryAgain) {
			t.Errorf("ended with %v, want the cause", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Ask goes on though its context ended")
	}
}
