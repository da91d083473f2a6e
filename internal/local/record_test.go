package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

const spoken = "pay, and look at this"

// talk is a thread with two runs: a picture comes in, a call is approved, and another one is
// denied.
func (s running) talk(t *testing.T) wire.Run {
	t.Helper()
	run, err := s.StartRun(t.Context(), wire.StartRequest{Agent: "desk",
		Input: []byte(`[{"type":"text","text":"` + spoken + `"},{"type":"image","media_type":"image/gif","data":"R0lGODlh"}]`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	s.answerFirst(t, run, wire.Decision{Action: "resume", Arguments: []byte(`{"amount":4}`)})
	next, err := s.SendMessage(t.Context(), run.ThreadID, wire.MessageRequest{Input: []byte(`"pay again"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s.answerFirst(t, next, wire.Decision{Action: "cancel", Reason: "not today"})
}

func (s running) answerFirst(t *testing.T, run wire.Run, d wire.Decision) wire.Run {
	t.Helper()
	run = s.await(t, run.ID, "waiting")
	d.Target = run.Pending[0].Suspension.ID
	if _, err := s.Decide(t.Context(), run.ID, d); err != nil {
		t.Fatal(err)
	}
	return s.await(t, run.ID, "done")
}

// recorded reads what is in a file once it has the run.
func recorded(t *testing.T, file, run string) []recording.Conversation {
	t.Helper()
	for ; ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"`+run+`"`) {
			continue
		}
		found, err := recording.Read(strings.NewReader(string(text)), file)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
}

// What was recorded of a model is what a recorded model says: the same conversation comes out,
// pictures, edits and denials included.
func TestARecordingPlaysTheSameConversation(t *testing.T) {
	r := newRig(t, nothing)
	file := filepath.Join(r.agents, "made.jsonl")
	r.deploy(asked)
	o := r.options()
	o.Record = file
	first := r.startWith(o)
	run := first.talk(t)
	found := recorded(t, file, run.ID)
	if len(found) != 1 || found[0].ID != run.ThreadID || found[0].Run != run.ID || len(found[0].Messages) != 8 {
		t.Fatalf("recorded %+v", found)
	}
	want, err := client.Collect(first.Messages(t.Context(), run.ThreadID, client.MessageOptions{Data: true}))
	if err != nil {
		t.Fatal(err)
	}
	first.end(t)
	if len(want) < 8 || len(want[0].Parts) != 2 || string(want[0].Parts[1].Data) != "GIF89a" {
		t.Fatalf("the thread is %+v", want)
	}

	_, tools, _ := strings.Cut(asked, "tools:")
	r.deploy("name: desk\nmodel: {provider: recorded, file: made.jsonl}\ntools:" + tools)
	second := r.start()
	again := second.talk(t)
	got, err := client.Collect(second.Messages(t.Context(), again.ThreadID, client.MessageOptions{Data: true}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(wire.Message{}, "ID", "RunID", "At")); diff != "" {
		t.Errorf("played again (-first +second):\n%s", diff)
	}
}

func TestRunsGoOnWhereTheRecordingCannotBeWritten(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed)
	o := r.options()
	o.Record = filepath.Join(t.TempDir(), "gone", "made.jsonl")
	s := r.startWith(o)
	for range 3 {
		if run := s.await(t, s.begin(t).ID, "done"); run.Error != nil {
			t.Errorf("the run ended %+v", run)
		}
	}
	s.end(t) // with all that was left to be recorded
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if said := strings.Count(r.log.all.String(), "cannot write the recording"); said != 1 {
		t.Errorf("it was said %d times:\n%s", said, r.log.all.String())
	}
}

// A server that stops records what ended before.
func TestTheLastRunsAreRecordedBeforeTheEnd(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed)
	o := r.options()
	o.Record = filepath.Join(t.TempDir(), "made.jsonl")
	s := r.startWith(o)
	runs := map[string]bool{}
	for range 5 {
		runs[s.await(t, s.begin(t).ID, "done").ID] = true
	}
	s.end(t)
	text, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	found, err := recording.Read(strings.NewReader(string(text)), "made.jsonl")
	if err != nil || len(found) != len(runs) {
		t.Fatalf("%d runs are recorded of %d, %v", len(found), len(runs), err)
	}
	for _, c := range found {
		if !runs[c.Run] {
			t.Errorf("%s was no run", c.Run)
		}
	}
}
