package sim_test

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/dormouse-dev/dormouse/internal/api/a2a/a2atest"
	"github.com/dormouse-dev/dormouse/internal/api/agui/aguitest"
	"github.com/dormouse-dev/dormouse/internal/api/aisdk/aisdktest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// projected holds what stock clients see of a run against what they demand, and demands that it
// doesn't matter in how many responses they see it. rests: the run does nothing until someone acts.
func (r *reading) projected(events []wire.Event, rests bool) {
	name := fnv.New64a()
	_, _ = name.Write([]byte(r.run.ID))
	random := rand.New(rand.NewPCG(name.Sum64(), 0))
	if err := aisdktest.Split(events, rests, random); err != nil {
		r.wrong("projections: the AI SDK's of %s: %v", r.run.ID, err)
	}
	if err := a2atest.Split(events, rests, random); err != nil {
		r.wrong("projections: A2A's of %s: %v", r.run.ID, err)
	}
	if err := (aguitest.Conversation{Run: events, Rests: rests}).Split(random); err != nil {
		r.wrong("projections: AG-UI's of %s: %v", r.run.ID, err)
	}
}
