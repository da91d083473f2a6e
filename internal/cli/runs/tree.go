package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/narrate"
)

// treeEvent is an event of a run or of one below it. Path leads down to the latter.
type treeEvent struct {
	wire.Event
	Path []wire.PathStep `json:"path,omitempty"`
}

// member is a run of a tree whose events are read.
type member struct {
	run, after string // after is the cursor of the last event that was read
	path       []wire.PathStep
	done       bool
}

// tree reads the events of a run and of all runs below it. It looks at each of them again and
// again: what one look finds is in order of time.
type tree struct {
	client  *client.Client
	members []*member
	alone   bool // read the run itself, and wait for those below it
	show    func(treeEvent) error
}

// lookEvery is the time between two looks at a tree.
const lookEvery = 300 * time.Millisecond

// follow shows events until the run is done or, unless to the end, needs an answer.
func (t *tree) follow(ctx context.Context, toTheEnd bool) error {
	for {
		// read before the events, so that none of what led to it is left out
		run, err := t.client.Run(ctx, t.members[0].run)
		if err != nil {
			return err
		}
		if err := t.look(ctx); err != nil {
			return err
		}
		if run.Status == "done" || cmdline.Rests(run) && !toTheEnd {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// look shows what is new.
func (t *tree) look(ctx context.Context) error {
	var found []treeEvent
	for i := 0; i < len(t.members); i++ { // which grow meanwhile
		events, err := t.read(ctx, t.members[i])
		if err != nil {
			return err
		}
		found = append(found, events...)
	}
	slices.SortStableFunc(found, func(a, b treeEvent) int { return a.At.Compare(b.At.Time) })
	for _, e := range found {
		if err := t.show(e); err != nil {
			return err
		}
	}
	return nil
}

// read returns what is new of one run, and adds the runs that it has started.
func (t *tree) read(ctx context.Context, m *member) (events []treeEvent, err error) {
	for !m.done {
		page, err := t.client.EventPage(ctx, m.run, client.EventQuery{After: m.after, Limit: narrate.EventPage})
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound && len(m.path) > 0 {
			return events, nil // it is about to be started, or was given up before
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page.Items {
			events = append(events, treeEvent{e, m.path})
			t.note(e, m.path)
		}
		m.after, m.done = page.Next, page.Done
		if len(page.Items) == 0 {
			break
		}
	}
	return events, nil
}

// note adds the run that an event says was started.
func (t *tree) note(e wire.Event, path []wire.PathStep) {
	var child struct {
		Run   string `json:"child_run_id"`
		Agent string `json:"agent"`
		Call  string `json:"call_id"`
	}
	if t.alone || e.Type != "child.started" || json.Unmarshal(e.Data, &child) != nil || child.Run == "" {
		return
	}
	known := func(m *member) bool { return m.run == child.Run }
	if !slices.ContainsFunc(t.members, known) {
		t.members = append(t.members, &member{run: child.Run, path: append(slices.Clone(path), wire.PathStep{RunID: child.Run, CallID: child.Call, Agent: child.Agent})})
	}
}

// showInTree shows an event with the path of its run in front. Models that speak at the same time
// would be in one another's way, so text comes when it is committed.
func (v *view) showInTree(e treeEvent) error {
	if len(e.Path) == 0 && !isLive(e.Event) && !v.app.JSON {
		return v.show(e.Event)
	}
	prefix := cmdline.PathWords(e.Path) + " ▸ "
	switch {
	case v.app.JSON:
		return v.app.PrintJSON(e)
	case isLive(e.Event):
		return nil
	case !v.screen.Terminal:
		words := fmt.Sprintf("%s  %s%-17s  %s", e.At.UTC().Format(time.TimeOnly+".000"), prefix, e.Type, narrate.Describe(e.Event))
		return v.app.Printf("%s\n", strings.TrimRight(words, " "))
	}
	if v.below == nil {
		v.below = map[string]*narrate.Tale{}
	}
	if v.below[e.RunID] == nil {
		v.below[e.RunID] = narrate.NewTale(v.app.Now)
	}
	lines := v.below[e.RunID].Tell(e.Event)
	if len(lines) == 0 {
		return nil
	}
	lines[0] = append(display.Line{{Style: display.Faint, Text: prefix}}, lines[0]...)
	return v.app.Print(v.draw(e.Event, lines))
}
