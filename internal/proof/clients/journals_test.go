package clients

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
)

var update = flag.Bool("update", false, "record the journals of projecttest again")

const journals = "../../api/project/projecttest/journals"

// conversations are what people say and do, and what the journals are named for.
var conversations = []struct {
	name string
	acts []string
}{
	{"text", []string{"say hello"}},
	{"story", []string{"say tell a story"}},
	{"files", []string{"send hello, look at this", "say weather in Bern"}},
	{"two-messages", []string{"say hello", "say weather in Bern"}},
	{"tool", []string{"say weather in Bern"}},
	{"tool-error", []string{"say weather in Atlantis"}},
	{"approved", []string{"say pay 50", "approve"}},
	{"waiting", []string{"say pay 50"}},
	{"denied", []string{"say pay 50", "deny"}},
	{"edited", []string{"say pay 50", "edit {\"amount\":40,\"to\":\"Ann\"}"}},
	{"rule-denies", []string{"say pay 5000"}},
	{"two-approvals", []string{"say pay 50 twice", "approve", "deny"}},
	{"one-of-two", []string{"say pay 50 twice", "approve"}},
	{"approval-and-client-tool", []string{"say pay 50 and pick", "result {\"picked\":\"red\"}", "approve"}},
	{"client-tool", []string{"say pick", "result {\"picked\":\"red\"}"}},
	{"client-tool-fails", []string{"say pick", "error the page was closed"}},
	{"client-tool-invalid", []string{"say pick", "refused {\"wrong\":1}", "result {\"picked\":\"blue\"}"}},
	{"question-by-message", []string{"say color", "say green"}},
	{"question-by-decision", []string{"say color", "result \"blue\""}},
	{"abandoned", []string{"say pay 50", "abandon weather in Bern"}},
	{"failed", []string{"say xyzzy"}},
	{"cancelled", []string{"say pay 50", "cancel"}},
	{"interrupted", []string{"say pay 50", "interrupt", "resume", "approve"}},
	{"supplied-tool", []string{"board paint it red", "result {\"painted\":\"red\"}"}},
	{"supplied-tool-approved", []string{"board erase", "approve", "result {\"erased\":true}"}},
	{"supplied-tool-denied", []string{"board erase", "deny"}},
	{"supplied-tool-edited", []string{"board erase", "edit {\"all\":true}", "result {\"erased\":true}"}},
	{"shared-state", []string{"board remember milk", "board remember bread", "say hello"}},
	{"next-run-after-approval", []string{"say pay 50", "approve", "say hello"}},
	{"below-approved", []string{"ask pay 50", "approve"}},
	{"below-waiting", []string{"ask pay 50"}},
	{"below-denied", []string{"ask pay 50", "deny"}},
	{"below-edited", []string{"ask pay 50", "edit {\"amount\":40,\"to\":\"Ann\"}"}},
	{"below-two-questions", []string{"ask pay 50 twice", "approve", "deny"}},
	{"below-client-tool", []string{"ask pick", "result {\"picked\":\"red\"}"}},
	{"below-client-tool-invalid", []string{"ask pick", "refused {\"wrong\":1}", "result {\"picked\":\"blue\"}"}},
	{"below-question", []string{"ask color", "result \"blue\""}},
	{"below-mixed", []string{"ask pay 50 and pick", "result {\"picked\":\"red\"}", "approve"}},
	{"below-two-agents", []string{"ask pay 50; and color", "result \"blue\"", "approve"}},
	{"below-no-question", []string{"ask pay 5"}},
	{"below-abandoned", []string{"ask pay 50", "abandon hello"}},
	{"below-message", []string{"ask pay 50", "say hello", "approve"}},
	{"below-cancelled", []string{"ask pay 50", "cancel"}},
	{"below-interrupted", []string{"ask pay 50", "interrupt", "resume", "approve"}},
}

// TestJournalsAreOfThisServer plays every conversation of the recorded journals against a server:
// it still stores events of the same types, in the same order.
func TestJournalsAreOfThisServer(t *testing.T) {
	s := serve(t)
	var recorded map[string]projecttest.Journal
	if !*update {
		recorded = projecttest.Journals(t)
	}
	for _, one := range conversations {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			got := talk(t, client.New(s.url), one.acts)
			file := filepath.Join(journals, one.name+".json")
			if *update {
				text, err := json.MarshalIndent(got, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if now, then := types(got), types(recorded[one.name]); now != then {
				t.Errorf("the server stores\n%s\nand the journal %s has\n%s\nRecord it again with -update.", now, file, then)
			}
		})
	}
}

// types are those of the stored events of each run, in order. How often a worker looked at a run
// differs, and which of two runs below comes first.
func types(j projecttest.Journal) string {
	var runs []string
	of := map[string]string{}
	for _, e := range j.Stored() {
		if of[e.RunID] == "" {
			runs = append(runs, e.RunID)
		}
		if e.Type != client.EventActivationEnded {
			of[e.RunID] += " " + e.Type
		}
	}
	var all []string
	for _, run := range runs {
		all = append(all, of[run])
	}
	if len(all) > 1 {
		slices.Sort(all[1:])
	}
	return strings.Join(all, "\n")
}

// conversation is one that a test has.
type conversation struct {
	t      *testing.T
	c      *client.Client
	thread string
	run    client.Run
	zoom   int
	got    projecttest.Journal
	below  bool // runs below are read too

	answers int // so far, accepted
}

// talk plays acts one after the other, each when the run rests after the last, and reads the
// thread's stream meanwhile.
func talk(t *testing.T, c *client.Client, acts []string) projecttest.Journal {
	t.Helper()
	s := &conversation{t: t, c: c}
	for _, act := range acts {
		s.act(act)
		s.read()
	}
	s.addFiles()
	s.got.Rests = true
	return s.got
}

func (s *conversation) act(act string) {
	s.t.Helper()
	verb, rest, _ := strings.Cut(act, " ")
	ctx := s.t.Context()
	var err error
	switch verb {
	case "say":
		err = s.say(ctx, rest)
	case "ask":
		s.below = true
		s.run, err = s.c.StartRun(ctx, client.StartRequest{Agent: "chief", Input: client.Text(rest)}, "")
		s.thread = s.run.ThreadID
	case "board":
		err = s.board(ctx, rest)
	case "send":
		s.run, err = s.c.StartRun(ctx, client.StartRequest{Agent: "desk", Input: files(rest)}, "")
		s.thread = s.run.ThreadID
	case "abandon":
		s.run, err = s.c.SendMessage(ctx, s.thread, client.MessageRequest{Input: client.Text(rest), OnPending: "abandon"}, "")
	case "cancel":
		s.run, err = s.c.Cancel(ctx, s.run.ID)
	case "interrupt":
		s.run, err = s.c.Interrupt(ctx, s.run.ID, "")
	case "resume":
		_, err = s.c.Resume(ctx, s.run.ID, client.ResumeRequest{})
	case "refused":
		if _, err := s.c.Decide(ctx, s.run.ID, s.decision(verb, rest)); err == nil {
			s.t.Fatalf("%s: it was accepted", act)
		}
	default:
		_, err = s.c.Decide(ctx, s.run.ID, s.decision(verb, rest))
		s.answers++
	}
	if err != nil {
		s.t.Fatalf("%s: %v", act, err)
	}
}

// board is a message to an agent that takes what its client supplies, nearer each time.
func (s *conversation) board(ctx context.Context, text string) (err error) {
	s.zoom++
	supplied := client.Supplied{
		ClientTools: []client.ClientTool{{Name: "ui_paint", Description: "Paints the board."}, {Name: "ui_erase", Description: "Erases the board."}},
		Context:     []client.ContextItem{{Description: "the board", Value: json.RawMessage(`"white"`)}},
		State:       fmt.Appendf(nil, `{"zoom":%d}`, s.zoom),
	}
	s.run, err = s.c.StartRun(ctx, client.StartRequest{Agent: "board", ThreadID: s.thread, Input: client.Text(text), Supplied: supplied}, "")
	s.thread = s.run.ThreadID
	return err
}

// files is a message with an image and a document.
func files(text string) json.RawMessage {
	return client.Parts(client.Part{Type: "text", Text: text}, client.Part{Type: "image", MediaType: "image/png", Data: []byte("not really an image")},
		client.Part{Type: "document", MediaType: "application/pdf", Name: "order.pdf", Data: []byte("not really a document")})
}

// addFiles gives the recorded messages the bytes of their files, as the server reads them for
// projections.
func (s *conversation) addFiles() {
	s.t.Helper()
	of := map[string]client.Message{}
	for m, err := range s.c.Messages(s.t.Context(), s.thread, client.MessageOptions{Data: true}) {
		if err != nil {
			s.t.Fatal(err)
		}
		of[m.ID] = m
	}
	for i, e := range s.got.Events {
		var data client.MessageReceivedData
		if e.Type != client.EventMessageReceived || e.Decode(&data) != nil || data.Parts == nil {
			continue
		}
		data.Parts = of[data.MessageID].Parts
		raw, err := json.Marshal(data)
		if err != nil {
			s.t.Fatal(err)
		}
		s.got.Events[i].Data = raw
	}
}

func (s *conversation) say(ctx context.Context, text string) (err error) {
	if s.thread != "" {
		s.run, err = s.c.SendMessage(ctx, s.thread, client.MessageRequest{Input: client.Text(text)}, "")
		return err
	}
	s.run, err = s.c.StartRun(ctx, client.StartRequest{Agent: "desk", Input: client.Text(text)}, "")
	s.thread = s.run.ThreadID
	return err
}

// decision is on the first call that waits, of the kind that it fits.
func (s *conversation) decision(verb, rest string) client.Decision {
	s.t.Helper()
	run, err := s.c.Run(s.t.Context(), s.run.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	approves := verb == "approve" || verb == "deny" || verb == "edit"
	for _, p := range run.Pending {
		if (p.Kind == client.KindApproval) != approves {
			continue
		}
		d := client.Decision{Target: p.Suspension.ID}
		switch verb {
		case "approve":
			d.Action = client.ActionResume
		case "deny":
			d.Action, d.Reason = client.ActionCancel, "too much"
		case "edit":
			d.Action, d.Arguments = client.ActionResume, json.RawMessage(rest)
		case "error":
			d.Error = rest
		default:
			d.Result = json.RawMessage(rest)
		}
		return d
	}
	s.t.Fatalf("no call waits for: %s %s", verb, rest)
	return client.Decision{}
}

// read reads the thread's events, live ones included, until its run rests.
func (s *conversation) read() {
	s.t.Helper()
	if s.below {
		s.readBelow()
		return
	}
	after := ""
	if n := len(s.got.Events); n > 0 {
		after = s.got.Events[n-1].Cursor
	}
	for {
		page, err := s.c.ThreadEventPage(s.t.Context(), s.thread, client.EventQuery{After: after, Wait: 5 * time.Second})
		if err != nil {
			s.t.Fatal(err)
		}
		s.got.Events = append(s.got.Events, page.Items...)
		if after = page.Next; page.Waiting && len(page.Items) == 0 || s.rests() {
			return
		}
	}
}

// rests says whether the last turn has ended, and every event of its commit was read.
func (s *conversation) rests() bool {
	stored := s.got.Stored()
	for i := len(stored) - 1; i >= 0; i-- {
		switch stored[i].Type {
		case client.EventTurnStarted:
			return false
		case client.EventTurnEnded:
			return slices.Contains(stored[len(stored)-1].Checkpoint, "run_finished") && s.decided()
		}
	}
	return false
}

// readBelow reads the events of the run and those below it, until nothing goes on in any of them.
func (s *conversation) readBelow() {
	s.t.Helper()
	after := ""
	if n := len(s.got.Events); n > 0 {
		after = s.got.Events[n-1].Cursor
	}
	for {
		page, err := s.c.EventPage(s.t.Context(), s.run.ID, client.EventQuery{After: after, Tree: true, Wait: 5 * time.Second})
		if err != nil {
			s.t.Fatal(err)
		}
		s.got.Events = append(s.got.Events, page.Items...)
		if after = page.Next; page.Done || page.Waiting && s.allRest() {
			return
		}
	}
}

// allRest says whether each run waits for an answer, and every event of it was read.
func (s *conversation) allRest() bool {
	run, err := s.c.Run(s.t.Context(), s.run.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	read := map[string]int64{}
	for _, e := range s.got.Events {
		read[e.RunID] = e.Seq
	}
	for _, one := range append([]client.ChildRun{{RunID: s.run.ID}}, run.Children...) {
		now, err := s.c.Run(s.t.Context(), one.RunID)
		if err != nil {
			s.t.Fatal(err)
		}
		last, err := s.c.EventPage(s.t.Context(), one.RunID, client.EventQuery{Limit: 1000})
		if err != nil || now.Status != "waiting" || !last.Waiting || last.Items[len(last.Items)-1].Seq != read[one.RunID] {
			return false
		}
	}
	return s.decided()
}

// decided says whether each answer was taken.
func (s *conversation) decided() bool {
	taken := 0
	for _, e := range s.got.Events {
		if e.Type == client.EventDecisionRecorded {
			taken++
		}
	}
	return taken >= s.answers
}
