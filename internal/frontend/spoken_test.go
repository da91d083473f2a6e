package frontend_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// chatter is a model that says a letter more each time a reader has looked.
type chatter struct {
	engine.Speech
	more chan struct{}
}

func (c *chatter) Spoken(string, string) (engine.Speech, bool) {
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

// Each look reads the head: a model that never pauses makes a reader look ten times in a second, and not a thousand.
func TestAFastModelDoesNotSayHowOftenAReaderLooks(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Say(run.ID, core.Message{Role: core.RoleAssistant, Parts: core.TextParts("Hm.")})
	all, err := x.Events(t.Context(), anna, run.ID, frontend.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	h := x.head(run.ThreadID)
	model := &chatter{more: make(chan struct{}, 1)}
	model.Attempt = engine.Attempt{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Turn: 1, Step: 1, Epoch: h.Epoch, Seq: h.Seq, Event: h.Ev}
	front := frontend.New(frontend.Options{Store: x.store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker, Clock: machine.Clock{}, Random: x.random, Live: model})
	const reads = 4
	began := time.Now()
	for range reads {
		model.Text = ""
		page, err := front.Events(t.Context(), anna, run.ID, frontend.EventQuery{After: all.Next, Wait: time.Minute, Live: true})
		if err != nil || len(page.Items) != 1 || page.Items[0].Type != "text.delta" {
			t.Fatalf("%+v, %v", page.Items, err)
		}
	}
	if took := time.Since(began); took < reads*100*time.Millisecond {
		t.Errorf("a reader looked again %d times in %v", reads, took)
	}
}
