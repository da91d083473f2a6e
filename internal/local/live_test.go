package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program"
)

const speaking = `
name: desk
model: {provider: openai, model: any, base_url: "https://models.example.com/v1"}
`

// speaker is a model that says and answers what the test tells it to.
type speaker struct {
	t     *testing.T
	asked chan engine.Prompt
	end   chan ended
	say   func(engine.Delta) // of the prompt at hand
}

type ended struct {
	turn core.Turn
	err  error
}

func (s *speaker) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	select {
	case s.asked <- p:
	case <-ctx.Done():
		return core.Turn{}, ctx.Err()
	}
	select {
	case e := <-s.end:
		return e.turn, e.err
	case <-ctx.Done():
		return core.Turn{}, ctx.Err()
	}
}

// listening waits until the model is asked.
func (s *speaker) listening() {
	s.t.Helper()
	s.say = (<-s.asked).Say
}

func (s *speaker) says(text string) { s.say(engine.Delta{Kind: core.TextPart, Text: text}) }

// speak is a server with one run, whose model is asked.
func speak(t *testing.T) (*speaker, running, wire.Run) {
	t.Helper()
	m := &speaker{t: t, asked: make(chan engine.Prompt), end: make(chan ended)}
	r, _ := countingRig(t)
	r.deploy(speaking)
	o := r.options()
	o.Models = map[string]program.Provider{agent.ProviderOpenAI: func(agent.Definition) (engine.Model, error) { return m, nil }}
	s := r.startWith(o)
	run := s.begin(t)
	m.listening()
	return m, s, run
}

// said is what an event says live or whole: its part, attempt, offset and text.
type said struct {
	Part    string `json:"part_id"`
	Attempt string `json:"attempt"`
	Offset  int    `json:"offset"`
	Text    string `json:"text"`
	Reason  string `json:"reason"`
}

func (d said) String() string { return fmt.Sprintf("%s@%d %q", d.Part, d.Offset, d.Text) }

func readSaid(t *testing.T, e wire.Event) (d said) {
	t.Helper()
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &d) != nil {
		t.Fatalf("%s has the data %s", e.Type, e.Data)
	}
	return d
}

// hears reads the stream up to the first event of the type.
func (s stream) hears(kind core.EventType) (id string, e wire.Event, d said) {
	s.t.Helper()
	for {
		id, e, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended without %s", kind)
		}
		if e.Type == string(kind) {
			return id, e, readSaid(s.t, e)
		}
	}
}

// reads reads deltas until they have the text, and returns the cursor behind them.
func (s stream) reads(offset int, want string) (id string) {
	s.t.Helper()
	for got := ""; got != want; {
		at, e, d := s.hears(core.EventTextDelta)
		if d.Offset != offset+len(got) || !strings.HasPrefix(want[len(got):], d.Text) || !strings.HasSuffix(d.Part, ":text-1") {
			s.t.Fatalf("behind %q came %s", got, d)
		}
		if at != e.Cursor {
			s.t.Fatalf("the id is %q, the cursor %q", at, e.Cursor)
		}
		got, id = got+d.Text, at
	}
	return id
}

func TestReadersHearTheModelBeforeItsTurnIsCommittedAndEachTextOnce(t *testing.T) {
	m, s, run := speak(t)
	first, second := s.stream(t, run.ID, "", ""), s.stream(t, run.ID, "", "")
	m.says("Once upon ")
	last := first.reads(0, "Once upon ")
	second.reads(0, "Once upon ")
	first.drop()
	m.says("a time")
	second.reads(10, "a time")
	again := s.stream(t, run.ID, last, "")
	again.reads(10, "a time")
	late := s.stream(t, run.ID, "", "")
	if _, e, d := late.hears(core.EventTextDelta); d.Offset != 0 || d.Text != "Once upon a time" || e.Step != 1 || e.Seq == 0 {
		t.Errorf("who comes late gets %+v %s", e, d)
	}
	if page, err := s.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 100}); err != nil || strings.Contains(listed(page.Items), "delta") {
		t.Errorf("a page that is not held has %s, %v", listed(page.Items), err)
	}
	m.end <- ended{turn: core.Turn{Text: "Once upon a time."}}
	for name, open := range map[string]stream{"who stayed": second, "who came back": again, "who came late": late} {
		_, e, d := open.hears(core.EventTextEnded)
		if !strings.HasSuffix(d.Part, ":text-1") || d.Text != "Once upon a time." {
			t.Errorf("%s gets %+v %s", name, e, d)
		}
		rest, _ := open.rest()
		if strings.Contains(listed(rest), "delta") || strings.Contains(listed(rest), "reset") || !endsAtRest(append([]wire.Event{e}, rest...)) {
			t.Errorf("%s gets %s behind the end", name, listed(rest))
		}
	}
	all, err := s.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 1000})
	if err != nil || strings.Contains(listed(all.Items), "delta") {
		t.Errorf("the journal has %s, %v", listed(all.Items), err)
	}
	if events, _ := s.stream(t, run.ID, last, "").rest(); strings.Contains(listed(events), "reset") || !endsAtRest(events) {
		t.Errorf("who comes back behind the end gets %s", listed(events))
	}
}

func TestAnAttemptThatIsMadeAgainIsResetAndNeverMixed(t *testing.T) {
	m, s, run := speak(t)
	open := s.stream(t, run.ID, "", "")
	m.says("Never mi")
	gone := s.stream(t, run.ID, "", "")
	last := gone.reads(0, "Never mi")
	gone.drop()
	open.reads(0, "Never mi")

	m.say(engine.Delta{Restart: true})
	if _, e, d := open.hears(core.EventStepReset); d.Reason != "repeated" || e.Seq == 0 {
		t.Errorf("the model begins anew: %s %s", e.Type, e.Data)
	}
	m.says("Never mind")
	open.reads(0, "Never mind")
	back := s.stream(t, run.ID, last, "")
	if _, e, ok := back.next(); !ok || e.Type != "step.reset" {
		t.Errorf("who comes back first gets %s %s", e.Type, e.Data)
	}
	back.reads(0, "Never mind")

	m.end <- ended{err: &engine.TryLater{Detail: "no room"}}
	for _, reader := range []stream{open, back} {
		if _, e, d := reader.hears(core.EventStepReset); d.Reason != "model_unavailable" {
			t.Errorf("the attempt failed: %s", e.Data)
		}
	}
	m.listening()
	m.says("Third")
	open.reads(0, "Third")
	back.reads(0, "Third")
	lost := s.stream(t, run.ID, last, "")
	if _, e, ok := lost.next(); !ok || e.Type == "text.delta" {
		t.Errorf("who comes back over a failure first gets %s %s", e.Type, e.Data)
	}
	lost.reads(0, "Third")
	m.end <- ended{turn: core.Turn{Text: "Third time."}}
	for _, reader := range []stream{open, back, lost} {
		if _, _, d := reader.hears(core.EventTextEnded); d.Text != "Third time." {
			t.Errorf("in the end it is %s", d)
		}
	}
}

func TestWhatAModelSaidThatFailsForGoodIsTakenBack(t *testing.T) {
	m, s, run := speak(t)
	open := s.stream(t, run.ID, "", "")
	m.says("I will")
	open.reads(0, "I will")
	m.end <- ended{err: &engine.ModelError{Detail: "no such model"}}
	rest, _ := open.rest()
	if len(rest) == 0 || rest[0].Type != "step.reset" || !endsAtRest(rest) {
		t.Errorf("behind the text came %s", listed(rest))
	}
}

func TestAHeldPageHasWhatTheModelIsSaying(t *testing.T) {
	m, s, run := speak(t)
	m.says("Hello")
	page, err := s.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 100})
	for err == nil && !strings.Contains(listed(page.Items), "text.delta") {
		page, err = s.EventPage(t.Context(), run.ID, client.EventQuery{After: page.Next, Wait: 20 * time.Second, Limit: 100})
	}
	if err != nil || len(page.Items) != 1 || page.Done || readSaid(t, page.Items[0]).Text != "Hello" {
		t.Fatalf("%s, %v", listed(page.Items), err)
	}
	if quiet, err := s.EventPage(t.Context(), run.ID, client.EventQuery{After: page.Next, Limit: 100}); err != nil || len(quiet.Items) > 0 || quiet.Next != page.Next {
		t.Errorf("%s, %v", listed(quiet.Items), err)
	}
	m.end <- ended{turn: core.Turn{Text: "Hello."}}
	page, err = s.EventPage(t.Context(), run.ID, client.EventQuery{After: page.Next, Wait: 20 * time.Second, Limit: 100})
	if err != nil || !strings.Contains(listed(page.Items), "text.ended") || strings.Contains(listed(page.Items), "reset") {
		t.Errorf("%s, %v", listed(page.Items), err)
	}
}

// A reader that takes nothing holds up nobody, and then gets what it missed as one piece for each
// look.
func TestAReaderThatDoesNotReadHoldsUpNobody(t *testing.T) {
	m, s, run := speak(t)
	slow := s.stream(t, run.ID, "", "")
	slow.lines = bufio.NewScanner(slow.resp.Body)
	slow.lines.Buffer(nil, 1<<20)
	const pieces = 400
	piece := strings.Repeat("x", 300)
	for range pieces {
		m.says(piece)
	}
	m.end <- ended{turn: core.Turn{Text: strings.Repeat(piece, pieces)}}
	s.await(t, run.ID, "done")
	if _, _, d := slow.hears(core.EventTextEnded); len(d.Text) != pieces*len(piece) {
		t.Errorf("%d bytes", len(d.Text))
	}
}

func TestAStreamWithADamagedLiveCursorIsRefused(t *testing.T) {
	m, s, run := speak(t)
	m.says("Hello")
	open := s.stream(t, run.ID, "", "")
	last := open.reads(0, "Hello")
	if got := s.stream(t, run.ID, last[:len(last)-3], "").resp.StatusCode; got != http.StatusBadRequest {
		t.Errorf("the answer is %d", got)
	}
	m.end <- ended{turn: core.Turn{Text: "Hello."}}
}
