package remote_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// story is a call, the attempts that it meets with, and when its context ends.
type story struct {
	kind     kind
	lost     bool // a crashed process had the call before
	repeats  int
	ends     int // the attempt in which the context ends; 0: none
	attempts []remote.Attempt
}

// read makes a story of any bytes.
func read(script []byte) story {
	next := func() (b byte) {
		if len(script) > 0 {
			b, script = script[0], script[1:]
		}
		return b
	}
	first := next()
	s := story{kind: kind(first % 3), lost: first&4 != 0 && first%3 != byte(once), repeats: int(first>>3) % 5, ends: int(next()) % 8}
	for len(script) > 0 || len(s.attempts) == 0 {
		s.attempts = append(s.attempts, attemptOf(next(), time.Duration(next())*100*time.Millisecond))
	}
	return s
}

// attemptOf is one of all attempts that an adapter can make up, the careless ones included.
func attemptOf(b byte, after time.Duration) remote.Attempt {
	flag := func(bit byte) bool { return b>>bit&1 == 1 }
	word := func(bit byte, text string) string {
		if flag(bit) {
			return text
		}
		return ""
	}
	switch b % 8 {
	case 0:
		return nil
	case 1:
		return &remote.NotSent{Why: "was not there", Retry: true}
	case 2:
		return remote.NotSent{Why: word(3, "was not there"), Retry: flag(4), After: after}
	case 3:
		return remote.Refused{Why: word(3, "refused"), Said: word(4, "Bank refused."), Retry: flag(5), Certain: flag(6), After: after}
	case 4, 5:
		return remote.Unknown{Why: word(3, "the line broke"), Said: word(4, "Bank was lost."), Retry: flag(5), After: after}
	}
	return remote.Answered{Outcome: core.Outcome{Text: "An answer.", Failed: flag(3)}, Settled: flag(4), Doubt: word(5, "it is not whole"), After: after}
}

// unsure says whether an attempt may have taken effect without an answer that says so. It knows
// nothing of the package but what its documentation promises.
func unsure(a remote.Attempt) bool {
	switch a := a.(type) {
	case remote.NotSent:
		return a.Why == ""
	case remote.Refused:
		return a.Why == "" && a.Said == ""
	case remote.Answered:
		return false
	}
	return true
}

// play makes the attempts of a story, and returns those that were made.
func play(t *testing.T, s story) (out core.Outcome, made []remote.Attempt, err error) {
	w := newWorld(t, s.kind)
	w.call.Request.Again, w.call.Repeats = s.lost, s.repeats
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := w.clock.Now()
	w.before = func(n int) {
		made = append(made, s.attempts[min(n, len(s.attempts))-1])
		if n == s.ends {
			cancel()
		}
		if n > 1 && w.clock.Now().Sub(began) >= quiet {
			t.Errorf("attempt %d began after %s, when the time was over", n, w.clock.Now().Sub(began))
		}
	}
	out, err = w.run(ctx, s.attempts...)
	if len(made) > s.repeats+1 {
		t.Errorf("%d attempts, of at most %d", len(made), s.repeats+1)
	}
	return out, made, err
}

// FuzzAtMostOnce holds the rules to their promise, whatever an adapter says.
func FuzzAtMostOnce(f *testing.F) {
	f.Add([]byte{0b10_000, 0, 2 | 8 | 16, 0, 3 | 16 | 32, 0, 4 | 8 | 32, 0, 2 | 8, 0})
	f.Add([]byte{0b10_001, 0, 4 | 8 | 32, 0, 2 | 8, 0})
	f.Add([]byte{0b10_101, 0, 4 | 8 | 32, 0, 3 | 8 | 16, 0})
	f.Add([]byte{0b10_010, 3, 6 | 8 | 32, 1, 4, 0, 7 | 8 | 16, 0})
	f.Fuzz(holds)
}

// TestAtMostOnce is [FuzzAtMostOnce] with calls at random.
func TestAtMostOnce(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 20_000 {
		script := make([]byte, 2+rng.IntN(10))
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		if holds(t, script); t.Failed() {
			t.Fatalf("seed %d, script %v", seed, script)
		}
	}
}

func holds(t *testing.T, script []byte) {
	s := read(script)
	out, made, err := play(t, s)
	if err == nil {
		checkOutcome(t, s, made, out)
	} else if !errors.Is(err, context.Canceled) || s.ends == 0 {
		t.Errorf("%+v: %v", s, err)
	}
	if s.kind == once {
		checkOnce(t, s, made)
	}
}

// checkOnce: behind an attempt that may have taken effect there is no other.
func checkOnce(t *testing.T, s story, made []remote.Attempt) {
	for i, a := range made[:len(made)-1] {
		refused, is := a.(remote.Refused)
		_, answered := a.(remote.Answered)
		if unsure(a) || answered || is && !refused.Certain {
			t.Errorf("attempt %d of %+v, %#v, may have taken effect, and was followed by another", i+1, s, a)
		}
	}
}

// checkOutcome: no doubt is forgotten, and none is made up.
func checkOutcome(t *testing.T, s story, made []remote.Attempt, out core.Outcome) {
	doubt := false
	for _, a := range made {
		answered, is := a.(remote.Answered)
		doubt = doubt || unsure(a) || is && s.kind != once && answered.Doubt != ""
	}
	last, answered := made[len(made)-1].(remote.Answered)
	question := out.Ticket != nil && out.Kind == core.KindUnknownOutcome && strings.Contains(out.Ticket.Suspension.Message, "Say what happened")
	denied := strings.HasPrefix(out.Text, "The call did not run: ")
	open := strings.Contains(out.Text, "may or may not have taken effect")
	success := answered && !last.Outcome.Failed && (last.Doubt == "" || s.kind == once)
	switch {
	case s.kind == once && question != doubt:
		t.Errorf("%+v: a person is asked %v, in doubt %v: %+v", s, question, doubt, out)
	case s.kind != once && out.Ticket != nil:
		t.Errorf("%+v: a person is asked about a call that may be repeated", s)
	case denied && doubt:
		t.Errorf("%+v: it is denied that the call ran: %q", s, out.Text)
	case success != (!out.Failed && out.Ticket == nil):
		t.Errorf("%+v: success %v: %+v", s, success, out)
	case s.kind == look && open:
		t.Errorf("%+v: what only reads has no effect: %q", s, out.Text)
	case s.kind == again && out.Failed && (doubt || s.lost || answered && !last.Settled) && !open:
		t.Errorf("%+v: the doubt is forgotten: %q", s, out.Text)
	case open && !doubt && !s.lost && !(answered && !last.Settled):
		t.Errorf("%+v: a doubt is made up: %q", s, out.Text)
	}
}
