package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Progress is what stop rules look at: the run after a model's answer, before any of the calls it
// asks for runs.
type Progress struct {
	Steps  int   // completed model calls, this one included
	Tokens int64 // of the whole run, in and out
	Awake  int64 // ms since the run began, without the time it waited for somebody
	Errors int   // rounds in a row in which every tool that was executed failed
	Turn   Turn
	Rounds []string // what the rounds before asked for, oldest first, as [Turn.Signature] says it
}

// StopRule ends a run. Stop must be pure. Code and detail become those of the run's reason.
type StopRule interface {
	Stop(Progress) (code, detail string, stop bool)
}

// Limit marks the stop rules that a turn without calls outweighs: it is a natural end even if it
// also reached the limit.
type limit interface{ IsLimit() }

// A rule with 0 never fires.

type maxRounds int

func (n maxRounds) IsLimit() {}
func (n maxRounds) Stop(p Progress) (code, detail string, stop bool) {
	return "max_rounds", fmt.Sprintf("%d of %d steps", p.Steps, n), n > 0 && p.Steps >= int(n)
}

type timeout int

func (n timeout) IsLimit() {}
func (n timeout) Stop(p Progress) (code, detail string, stop bool) {
	return "timeout", fmt.Sprintf("more than %d s", n), n > 0 && p.Awake > int64(n)*1000
}

type tokenBudget int

func (n tokenBudget) IsLimit() {}
func (n tokenBudget) Stop(p Progress) (code, detail string, stop bool) {
	return "token_budget", fmt.Sprintf("%d of %d tokens", p.Tokens, n), n > 0 && p.Tokens > int64(n)
}

type consecutiveErrors int

func (n consecutiveErrors) IsLimit() {}
func (n consecutiveErrors) Stop(p Progress) (code, detail string, stop bool) {
	return "consecutive_errors", fmt.Sprintf("%d rounds in a row failed", p.Errors), n > 0 && p.Errors >= int(n)
}

type stopOnTool string

func (name stopOnTool) Stop(p Progress) (code, detail string, stop bool) {
	asked := slices.ContainsFunc(p.Turn.Calls, func(c ToolCall) bool { return c.Name == string(name) })
	return "stop_on_tool", string(name), name != "" && asked
}

type contentMatch struct{ pattern *regexp.Regexp }

// newContentMatch keeps a rule even for a pattern that does not compile: one that was stored all
// the same stops the run.
func newContentMatch(pattern string) (StopRule, error) {
	if pattern == "" {
		return contentMatch{}, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return invalidMatch{}, fmt.Errorf("core: content_match: %w", err)
	}
	return contentMatch{re}, nil
}

func (m contentMatch) Stop(p Progress) (code, detail string, stop bool) {
	if m.pattern == nil || !m.pattern.MatchString(p.Turn.Text) {
		return "", "", false
	}
	return "content_match", m.pattern.String(), true
}

type invalidMatch struct{}

func (invalidMatch) Stop(Progress) (code, detail string, stop bool) {
	return "content_match_invalid_regex", "the pattern is no regular expression", true
}

type loopDetection int

// window of 1 would be no loop, and one that is larger than a head remembers is cut.
func (n loopDetection) window() int {
	if n <= 0 {
		return 0
	}
	return min(max(int(n), 2), mostRounds+1)
}

func (n loopDetection) Stop(p Progress) (code, detail string, stop bool) {
	same, now := 1, p.Turn.Signature()
	for _, before := range slices.Backward(p.Rounds) {
		if before != now {
			break
		}
		same++
	}
	return "loop_detection", fmt.Sprintf("the same calls %d times in a row", same), n > 0 && len(p.Turn.Calls) > 0 && same >= n.window()
}

// Signature is short text that is the same for two turns that ask for the same calls: names and
// canonical arguments, in order.
func (t Turn) Signature() string {
	type ask struct {
		Name      string
		Arguments json.RawMessage
	}
	asks := make([]ask, len(t.Calls))
	for i, c := range t.Calls {
		args, err := ReadArguments(c.Arguments)
		if err != nil {
			args = refusedArguments(c.Arguments)
		}
		asks[i] = ask{c.Name, args}
	}
	return Digest(Encode(asks))[:12]
}

// stopOf asks the rules in their declared order; the first that fires counts. A turn that ends the
// run is a natural end even if it also reached a limit.
func stopOf(rules []StopRule, p Progress, ends bool) *Reason {
	for _, rule := range rules {
		if _, isLimit := rule.(limit); isLimit && ends {
			continue
		}
		if code, detail, stop := rule.Stop(p); stop {
			return &Reason{Kind: Stopped, Code: code, Detail: detail}
		}
	}
	return nil
}

// mostRounds bounds how many signatures of rounds a head keeps.
const mostRounds = 16

// progress is what stop rules see of the turn that is being folded in.
func (d *draft) progress(t Turn) Progress {
	return Progress{Steps: d.h.Step, Tokens: d.h.InputTokens + d.h.OutputTokens, Awake: d.awake(), Errors: d.h.Errors, Turn: t, Rounds: d.h.Rounds}
}

// awake is how long the run has not been waiting.
func (d *draft) awake() int64 {
	if d.h.AwakeSince == 0 {
		return d.h.Awake
	}
	return d.h.Awake + max(0, d.v.Now-d.h.AwakeSince)
}

// closeRound counts how the round before a new turn went: it failed if a call of it was executed
// and none succeeded. Every other round, one in which nothing was executed included, ends the row
// of failed ones.
func (d *draft) closeRound() {
	if d.h.RoundFailed > 0 && d.h.RoundOK == 0 {
		d.h.Errors++
	} else {
		d.h.Errors = 0
	}
	d.h.RoundOK, d.h.RoundFailed, d.h.StepCalls = 0, 0, 0
}

// remember keeps the signature of a turn with calls, as many as the rules look back.
func (d *draft) remember(t Turn) {
	keep := 0
	for _, rule := range d.v.Rules.Terms().Stops {
		if looks, ok := rule.(interface{ window() int }); ok {
			keep = min(max(keep, looks.window()-1), mostRounds)
		}
	}
	if keep == 0 || len(t.Calls) == 0 {
		d.h.Rounds = nil
		return
	}
	d.h.Rounds = append(slices.Clone(d.h.Rounds), t.Signature())
	d.h.Rounds = d.h.Rounds[max(0, len(d.h.Rounds)-keep):]
}
