package stoprule

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// A limit of 0 never fires.

type maxRounds int

func (n maxRounds) IsLimit() {}

func (n maxRounds) Stop(p core.Progress) (code, detail string, stop bool) {
	return "max_rounds", fmt.Sprintf("%d of %d steps", p.Steps, n), n > 0 && p.Steps >= int(n)
}

type timeout int

func (n timeout) IsLimit() {}

func (n timeout) Stop(p core.Progress) (code, detail string, stop bool) {
	return "timeout", fmt.Sprintf("more than %d s", n), n > 0 && p.Awake > int64(n)*1000
}

type tokenBudget int

func (n tokenBudget) IsLimit() {}

func (n tokenBudget) Stop(p core.Progress) (code, detail string, stop bool) {
	return "token_budget", fmt.Sprintf("%d of %d tokens", p.Tokens, n), n > 0 && p.Tokens > int64(n)
}

type consecutiveErrors int

func (n consecutiveErrors) IsLimit() {}

func (n consecutiveErrors) Stop(p core.Progress) (code, detail string, stop bool) {
	return "consecutive_errors", fmt.Sprintf("%d rounds in a row failed", p.Errors), n > 0 && p.Errors >= int(n)
}
