package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// model answers by the position in the transcript, so that asking again gives the same turn.
type model struct {
	*cast
	agent   string
	version string
}

func (c model) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	if why := sim.Malformed(p.Messages, c.s.plan.terms.Continue); why != "" {
		c.s.wrong("I-7: %s in %s", why, p.Run)
	}
	c.samePin(p.Run, c.version)
	c.checkShown(ctx, p)
	if c.s.reads {
		c.checkPrompt(ctx, p)
	}
	c.s.w.Yield(ctx)
	c.lost("in a model call")
	if c.s.faults.Rate > 0 && !c.s.plan.calm && c.s.w.Happens("model", c.s.plan.breaks) {
		return core.Turn{}, errors.New("the model is out of order")
	}
	if c.s.faults.Rate > 0 && c.s.w.Chance(c.s.plan.tryAgain) {
		return core.Turn{}, &engine.TryLater{Detail: "later", Answered: c.s.w.Chance(0.3), After: 7_000_000_000}
	}
	if c.s.isDown() {
		return core.Turn{}, &engine.TryLater{Detail: "down"}
	}
	turns, since := 0, 0
	for _, m := range p.Messages {
		switch m.Role {
		case core.RoleAssistant:
			turns, since = turns+1, since+1
		case core.RoleUser:
			since = 0
		}
	}
	return c.turn(turns, since)
}

func (c model) turn(n, since int) (core.Turn, error) {
	rng := rand.New(rand.NewPCG(c.s.seed, hash(c.agent, strconv.Itoa(n))))
	if rng.IntN(60) == 0 {
		return core.Turn{}, &engine.StopError{Code: "script_ended"}
	}
	turn := core.Turn{Text: fmt.Sprintf("turn %d", n), InputTokens: 10, OutputTokens: 1}
	if since >= c.s.plan.turns || rng.IntN(5) == 0 {
		return turn, nil
	}
	for i := range rng.IntN(c.s.plan.calls + 1) {
		id := []string{"", "c", fmt.Sprintf("c%d", i), fmt.Sprintf("t%d.%d", n, i)}[rng.IntN(4)]
		name := toolNames[rng.IntN(len(toolNames))]
		if favourite := c.s.plan.favourite; favourite != "" && rng.IntN(2) == 0 {
			name = favourite
		}
		arguments := fmt.Sprintf(`{"n":"%d.%d"}`, n, i)
		switch {
		case name == core.FinishTool:
			arguments = fmt.Sprintf(`{"output":"%d.%d","response_state":%q}`, n, i, []string{"done", "no_op", "awaiting_input"}[rng.IntN(3)])
		// who comes before whom depends on when decisions come
		case roles[name].fickle() && c.s.plan.calm:
			name = "look"
		}
		if name != core.FinishTool {
			arguments = otherwise(arguments, rng.IntN(24))
		}
		turn.Calls = append(turn.Calls, core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)})
	}
	if rng.IntN(25) == 0 {
		turn.End = &core.Reason{Kind: core.Stopped, Code: "max_tokens"}
		for i := range turn.Calls {
			if turn.Calls[i].Name != core.FinishTool {
				turn.Calls[i].Arguments = json.RawMessage(fmt.Sprintf(`{"n":"cut.%d"}`, n))
			}
		}
	}
	return turn, nil
}

func hash(texts ...string) uint64 {
	h := fnv.New64a()
	for _, t := range texts {
		_, _ = h.Write([]byte(t + "\x00"))
	}
	return h.Sum64()
}
