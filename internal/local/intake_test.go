package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// queue opens the intake queue as another process would.
func (r *rig) queue() *Intake {
	r.t.Helper()
	q, err := OpenIntake(r.t.Context(), r.data, true)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { q.Close() })
	return q
}

func enqueue(t *testing.T, q *Intake, from, to int) {
	t.Helper()
	var bodies [][]byte
	for i := from; i < to; i++ {
		bodies = append(bodies, fmt.Appendf(nil, `{"idempotency_key":"k%d","agent":"desk","input":"pay"}`, i))
	}
	if err := q.Put(t.Context(), "default", bodies); err != nil {
		t.Fatal(err)
	}
}

// emptied waits until nothing waits in the queue, and returns what is dead.
func emptied(t *testing.T, q *Intake) sqlite.IntakeCounts {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		c, err := q.Counts(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		if c.Waiting == 0 {
			return c
		}
	}
}

// allRuns are the ids of all runs.
func (s running) allRuns(t *testing.T) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for cursor := ""; ; {
		page, err := s.RunPage(t.Context(), client.RunFilter{Limit: 100, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range page.Items {
			ids[run.ID] = true
		}
		if cursor = page.Next; cursor == "" {
			return ids
		}
	}
}

func TestWhatAnotherProcessPutsInIsStartedOnceAKey(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(allowed)
	before := r.queue()
	enqueue(t, before, 0, 50) // nobody serves yet
	s := r.start()
	enqueue(t, before, 25, 200) // while it works on them, and some again
	if c := emptied(t, before); c.Dead != 0 {
		dead, err := before.Dead(t.Context(), "default", 3)
		t.Fatalf("dead letters: %+v, %v", dead, err)
	}
	runs := s.allRuns(t)
	if len(runs) != 200 {
		t.Errorf("%d runs for 200 keys", len(runs))
	}
	for id := range runs {
		s.await(t, id, "done")
	}
	if paid.Load() != 200 {
		t.Errorf("the tool ran %d times in 200 runs", paid.Load())
	}
}

func TestAStoppedServerLeavesTheRestToTheNext(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	q := r.queue()
	enqueue(t, q, 0, 150)
	s := r.start()
	for len(s.allRuns(t)) == 0 {
	}
	s.end(t)
	s = r.start()
	if c := emptied(t, q); c.Dead != 0 {
		t.Errorf("counts %+v", c)
	}
	if got := len(s.allRuns(t)); got != 150 {
		t.Errorf("%d runs for 150 keys", got)
	}
}

func TestAKeyIsTheSameOverHTTPAndInTheQueue(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	run, err := s.StartRun(t.Context(), startOf("desk", `"pay"`), "k0")
	if err != nil {
		t.Fatal(err)
	}
	q := r.queue()
	enqueue(t, q, 0, 1)
	emptied(t, q)
	if got := s.allRuns(t); len(got) != 1 || !got[run.ID] {
		t.Errorf("runs %v, want only %s", got, run.ID)
	}
}

func TestAnOpenIntakeIsNoShareOfTheDirectory(t *testing.T) {
	r, _ := countingRig(t)
	r.queue()
	l, err := lockData(r.data, "no policy", func() error { return errors.New("alone") })
	if err == nil {
		l.release()
		t.Error("a server that is started beside an enqueue is not alone, and takes over nothing")
	}
}

func TestOpenIntakeMakesADirectoryOnlyIfAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := OpenIntake(t.Context(), dir, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	q, err := OpenIntake(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	q.Close()
}

// What is refused before it is put in is what would become a dead letter, and nothing else.
func TestMessagesAreJudgedAsTheServerDoes(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	q := r.queue()
	for i, tt := range []struct {
		body string
		code refusal.Code // "" if it is good
	}{
		{`{"idempotency_key":"a","agent":"desk","input":"pay"}`, ""},
		{`{"idempotency_key":"b","agent":"desk","input":[{"type":"text","text":"pay"}],"permissions":{"deny":["pay"]},"memory":false}`, ""},
		{`{"idempotency_key":"c","agent":"desk","input":" "}`, refusal.CodeInvalid},
		{`{"idempotency_key":"d","agent":"desk"}`, refusal.CodeInvalid},
		{`{"idempotency_key":"e","agent":"","input":"pay"}`, refusal.CodeInvalid},
		{`{"idempotency_key":"f","agent":"desk","input":"pay","on_pending":"wait"}`, refusal.CodeInvalid},
		{`{"idempotency_key":"g","agent":"desk","input":"pay","metadata":[]}`, refusal.CodeInvalid},
		{`{"idempotency_key":"h","agent":"desk","input":"pay","permissions":{"blok":[]}}`, refusal.CodeInvalidPermissions},
		{`{"idempotency_key":"i","agent":"desk","input":"pay","tenant":"x"}`, "unknown_field"},
		{`nothing`, "malformed_body"},
	} {
		var refused *refusal.Error
		_, err := NewMessages().Check(t.Context(), []byte(tt.body))
		if got, _ := errors.AsType[*refusal.Error](err); err != nil && got == nil || got == nil && tt.code != "" || got != nil && got.Code != tt.code {
			t.Errorf("%s: %v, want %q", tt.body, err, tt.code)
		} else {
			refused = got
		}
		if err := q.Put(t.Context(), "default", [][]byte{[]byte(tt.body)}); err != nil {
			t.Fatal(err)
		}
		dead := emptied(t, q).Dead
		if (refused != nil) != (dead == 1) {
			t.Errorf("%s: judged %v, and there are %d dead letters", tt.body, refused, dead)
		}
		letters, err := q.Dead(t.Context(), "default", 1)
		if err != nil || refused != nil && (letters[0].Code != string(refused.Code) || letters[0].Detail != refused.Detail) {
			t.Errorf("case %d: judged %v, and the dead letter is %+v (%v)", i, refused, letters, err)
		}
		if _, err := q.DropDead(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(s.allRuns(t)); got != 2 {
		t.Errorf("%d runs, want 2", got)
	}
}

func startOf(agent, input string) wire.StartRequest {
	return wire.StartRequest{Agent: agent, Input: []byte(input)}
}
