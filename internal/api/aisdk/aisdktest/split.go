package aisdktest

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/dormouse-dev/dormouse/internal/api/aisdk"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Split holds the projection of a run's events against two promises: a client takes it, and it
// doesn't matter how many responses it came in. events are all of the run; rest says that the run
// does nothing until someone acts.
func Split(events []wire.Event, rest bool, random *rand.Rand) error {
	for _, sdk := range []int{5, 6, 7} {
		whole, err := seen(events, rest, sdk, func() bool { return false })
		if err != nil {
			return fmt.Errorf("in one response, version %d: %w", sdk, err)
		}
		pieces, err := seen(events, rest, sdk, func() bool { return random.IntN(2) == 0 })
		if err != nil {
			return fmt.Errorf("in several responses, version %d: %w", sdk, err)
		}
		if !reflect.DeepEqual(whole, pieces) {
			return fmt.Errorf("version %d: one response shows\n%s\nand several show\n%s", sdk, core.Encode(whole), core.Encode(pieces))
		}
	}
	return nil
}

// seen are the messages of a client that takes the responses.
func seen(events []wire.Event, rest bool, sdk int, cut func() bool) ([]*Message, error) {
	c := &Client{}
	err := Responses(events, rest, sdk, cut, c.Response)
	return c.Messages, err
}

// Responses are those of a client that asks for the answer to each message, and ends a response at
// a suspended turn where cut says so.
func Responses(events []wire.Event, rest bool, sdk int, cut func() bool, take func([]aisdk.Chunk) error) error {
	rests := projecttest.Rests(events)
	for view, n := (aisdk.View{Turn: 1, SDK: sdk}), 0; ; {
		to := len(events)
		for _, place := range rests {
			if place > n && place < to && cut() {
				to = place
			}
		}
		view.Hold = projecttest.Answered(events, n, to)
		s := aisdk.NewStream(view)
		chunks, next, err := respond(s, events[:to])
		if err != nil {
			return err
		}
		if next == len(events) && !rest && !s.Over() {
			return nil // the run is at work: the response isn't over
		}
		if !s.Over() {
			chunks = append(chunks, s.Rest()...)
		}
		if err := take(chunks); err != nil {
			return err
		}
		if end := s.Run().Ended; next == len(events) || s.Over() && end != nil && end.Status == core.RunDone.String() {
			return nil
		}
		view, n = viewOf(s.Run(), events[next-1], sdk), next
	}
}

// viewOf is what a client asks for next: behind a turn's end what its answers brought, and behind
// another message the answer to that.
func viewOf(run *project.Run, last wire.Event, sdk int) aisdk.View {
	if core.EventType(last.Type) == core.EventMessageReceived && len(last.Path) == 0 {
		return aisdk.View{Message: run.Message, SDK: sdk}
	}
	return aisdk.View{Turn: run.Turn + 1, SDK: sdk}
}

// respond pushes events until the response is over.
func respond(s *aisdk.Stream, events []wire.Event) (chunks []aisdk.Chunk, next int, err error) {
	for i, e := range events {
		more, err := s.Push(e)
		if err != nil {
			return nil, 0, err
		}
		chunks = append(chunks, more...)
		if s.Over() {
			return chunks, i + 1, nil
		}
	}
	return chunks, len(events), nil
}
