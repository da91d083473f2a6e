package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// held approves what waits for the tool after a hold.
func (p *performance) decisionAfter(tool, seconds string) sending {
	n, _ := strconv.Atoi(seconds)
	send := p.decision(tool, wire.Decision{Action: "resume", Hold: n})
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		isNew, err := send(ctx, who)
		if code(err) == refusal.CodeHoldUnavailable {
			err = fmt.Errorf("%w: the run does not rest", engine.ErrUnavailable)
		}
		return isNew, err
	}
}

// takeBack withdraws the decision that was accepted last.
func (p *performance) takeBack() sending {
	last := p.decisions[len(p.decisions)-1]
	return func(ctx context.Context, who frontend.Caller) (bool, error) {
		_, err := p.front.Withdraw(ctx, who, last.sus, last.id)
		if err == nil {
			p.decisions = slices.DeleteFunc(p.decisions, func(d toldDecision) bool { return d.sus == last.sus && d.id == last.id })
			p.withdrawn = append(p.withdrawn, last.id)
		}
		return true, err
	}
}
