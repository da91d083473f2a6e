package a2atest

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/dormouse-dev/dormouse/internal/api/a2a"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Split holds the projection of a run's events against two promises: a client takes it, and it
// doesn't matter when its stream began. events are all of the run; rest says that the run does
// nothing until someone acts.
func Split(events []wire.Event, rest bool, random *rand.Rand) error {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1].Seq
	now, _, err := seen(events, rest, last)
	if err != nil {
		return fmt.Errorf("a task: %w", err)
	}
	for range 3 {
		after := random.Int64N(last + 1)
		then, began, err := seen(events, rest, after)
		if err != nil {
			return fmt.Errorf("a stream from event %d on: %w", after, err)
		}
		if err := same(then, now); rest && err != nil {
			return fmt.Errorf("a stream from event %d on: %w", after, err)
		}
		if n := len(began); n > len(now.History) || n > 0 && !reflect.DeepEqual(began, now.History[:n]) {
			return fmt.Errorf("at event %d the history is\n%s\nand in the end\n%s", after, core.Encode(began), core.Encode(now.History))
		}
	}
	return nil
}

// seen is the task of a client whose stream shows it as it was after an event, and the history that
// it began with.
func seen(events []wire.Event, rest bool, after int64) (*sdk.Task, []*sdk.Message, error) {
	c := &Client{}
	s := a2a.NewStream(a2a.View{After: after})
	var began []*sdk.Message
	take := func(updates []sdk.Event) error {
		for _, u := range updates {
			if err := c.Take(u); err != nil {
				return err
			}
			if began == nil {
				began = c.Task.History
			}
		}
		return nil
	}
	for _, e := range events {
		updates, err := s.Push(e)
		if err != nil {
			return nil, nil, err
		}
		if err := take(updates); err != nil {
			return nil, nil, err
		}
	}
	if rest {
		if err := take(s.Rest()); err != nil {
			return nil, nil, err
		}
		if !s.Over() {
			return nil, nil, fmt.Errorf("the run rests, and the stream isn't over")
		}
	}
	return c.Task, began, nil
}

// same compares what two clients know of a run that rests. If it didn't complete, one may have text
// that isn't the output.
func same(a, b *sdk.Task) error {
	status, output := string(core.Encode(a.Status)), string(core.Encode(a.Artifacts))
	if want := string(core.Encode(b.Status)); status != want {
		return fmt.Errorf("the status is\n%s\nand the task's\n%s", status, want)
	}
	if want := string(core.Encode(b.Artifacts)); a.Status.State == sdk.TaskStateCompleted && output != want && output != empty {
		return fmt.Errorf("the output is\n%s\nand the task's\n%s", output, want)
	}
	return nil
}

// empty is the output of a run that said something, and nothing in the end.
const empty = `[{"artifactId":"output","name":"output","parts":[{"text":""}]}]`
