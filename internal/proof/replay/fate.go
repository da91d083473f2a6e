package replay

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// fate is what becomes of one gated call: how its answer is used, and what the caller does about
// it. It hangs on the seed and the call alone, so that the rules, the caller and the check at the
// end agree without talking to one another.
type fate struct {
	mode   core.ResumeMode
	silent bool // nobody answers before the deadline
	late   bool // and somebody does after it
	deny   bool
	edit   bool

	lateBy time.Duration // how long after the deadline
	lapse  core.DeadlineOutcome
}

// How long a gated call may wait, if calls have deadlines at all. One that shall be answered has
// time for all the faults there are.
const (
	shortDeadline = 20 * time.Second
	longDeadline  = 6 * time.Hour
	latest        = 10 * time.Second
)

func (o Options) fate(agent, call string) fate {
	h := fnv.New64a()
	_, _ = h.Write([]byte(agent + "\x00" + call))
	rng := rand.New(rand.NewPCG(o.Seed, h.Sum64()))
	rolls := func(p float64) bool { return rng.Float64() < p }
	f := fate{silent: rolls(o.Deadlines), deny: rolls(o.Denials), edit: rolls(o.Edits), late: rolls(0.5),
		lateBy: time.Duration(rng.Int64N(int64(latest))), lapse: core.DeadlineFail}
	if rolls(0.5) {
		f.lapse = core.DeadlineCancel
	}
	if o.Modes {
		f.mode = core.ResumeMode(rng.IntN(3))
	}
	f.deny = f.deny && !f.silent
	// no body would run with them
	f.edit = f.edit && !f.silent && !f.deny && f.mode != core.UseDecisionAsToolResult
	return f
}

func (o Options) deadline(f fate) core.Deadline {
	switch {
	case o.Deadlines == 0:
		return core.Deadline{}
	case f.silent:
		return core.Deadline{Within: shortDeadline.Milliseconds(), Outcome: f.lapse}
	}
	return core.Deadline{Within: longDeadline.Milliseconds()}
}

// edited are arguments with a harmless member more.
func edited(arguments json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(arguments, &members) != nil || members == nil {
		members = map[string]json.RawMessage{"was": arguments}
	}
	members["edited_by"] = json.RawMessage(`"the caller"`)
	return core.Encode(members)
}
