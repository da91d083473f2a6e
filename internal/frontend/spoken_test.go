package frontend_test

import (
	"context"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/local/live"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// chatter is a model that says a letter more each time a reader has looked.
type chatter struct {
	engine.Speech
	more chan struct{}
}

func (c *chatter) Spoken(context.Context, string, string) (engine.Speech, bool) {
	heard := c.Speech
	c.Text += "x"
	select {
	case c.more <- struct{}{}:
	default:
	}
	return heard, heard.Text != ""
}

func (c *chatter) Watch(string, string) (changed <-chan struct{}, stop func()) {
	return c.more, func() {}
}

// Each look reads the head: a model that never pauses makes a reader look ten times in a second,
// and not a thousand.
func TestAFastModelDoesNotSayHowOftenAReaderLooks(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Say(run.ID, core.Message{Role: core.RoleAssistant, Parts: core.TextParts("Hm.")})
	all, err := x.Events(t.Context(), anna, run.ID, query.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	h := x.head(run.ThreadID)
	model := &chatter{more: make(chan struct{}, 1)}
	model.Attempt = engine.Attempt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Turn: 1, Step: 1, Epoch: h.Epoch, Seq: h.Seq, Event: h.Ev}
	front := query.New(frontend.New(frontend.Options{Store: x.store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker, Clock: machine.Clock{}, Random: x.random, Live: model}))
	const reads = 4
	began := time.Now()
	for range reads {
		model.Text = ""
		page, err := front.Events(t.Context(), anna, run.ID, query.EventQuery{After: all.Next, Wait: time.Minute, Live: true})
		if err != nil || len(page.Items) != 1 || page.Items[0].Type != "text.delta" {
			t.Fatalf("%+v, %v", page.Items, err)
		}
	}
	if took := time.Since(began); took < reads*100*time.Millisecond {
		t.Errorf("a reader looked again %d times in %v", reads, took)
	}
}

func TestAReaderIsToldWhatBodiesDoOnceEach(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Say(run.ID, core.Message{Role: core.RoleAssistant, Parts: core.TextParts("Hm.")})
	all, err := x.Events(t.Context(), anna, run.ID, query.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	h := x.head(run.ThreadID)
	board := live.NewBoard(x.clock)
	front := query.New(frontend.New(frontend.Options{Store: x.store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker, Clock: x.clock, Random: x.random, Live: board}))
	at := engine.Attempt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Turn: 1, Step: 1, Epoch: h.Epoch, Seq: h.Seq, Event: h.Ev}
	call := core.ToolCall{ID: "c1", Name: "look"}
	board.Begin(at)
	board.Note(at, engine.Note{Version: 1, Call: call, At: 1000})
	board.Note(at, engine.Note{Version: 2, Call: call, At: 2000, Progress: &engine.Progress{Done: 3, Total: 10, Text: "page 3"}})
	read := func(after string) wire.EventPage {
		t.Helper()
		page, err := front.Events(t.Context(), anna, run.ID, query.EventQuery{After: after, Live: true})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	page := read(all.Next)
	if len(page.Items) != 2 || page.Items[0].Type != "call.started" || page.Items[1].Type != "call.progress" {
		t.Fatalf("%+v", page.Items)
	}
	for i, want := range []string{
		`{"call_id":"c1","tool_name":"look","status":"running","started_at":"1970-01-01T00:00:01.000Z","updated_at":"1970-01-01T00:00:01.000Z","live":true}`,
		`{"call_id":"c1","tool_name":"look","done":3,"total":10,"text":"page 3"}`,
	} {
		if got := string(page.Items[i].Data); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if again := read(page.Items[0].Cursor); len(again.Items) != 1 || again.Items[0].Type != "call.progress" {
		t.Errorf("from behind the first: %+v", again.Items)
	}
	if again := read(page.Next); len(again.Items) != 0 {
		t.Errorf("from the end: %+v", again.Items)
	}
	board.Note(at, engine.Note{Version: 3, Call: call, At: 3000, Progress: &engine.Progress{Done: 9}})
	if again := read(page.Next); len(again.Items) != 1 || string(again.Items[0].Data) != `{"call_id":"c1","tool_name":"look","done":9}` {
		t.Errorf("after more progress: %+v", again.Items)
	}
	board.End(at)
	if again := read(page.Next); len(again.Items) != 1 || again.Items[0].Type != "step.reset" {
		t.Errorf("after the attempt was given up: %+v", again.Items)
	}
}
