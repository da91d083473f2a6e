package sim_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// deploy makes a new version the newest. It denies a tool more than the one before.
func (c *cast) deploy() {
	tool := toolNames[int(c.s.w.Upto(1<<30))%len(toolNames)]
	c.denied = append(c.denied, tool)
	c.s.w.Note("deploys %s, which denies %s", c.version(), tool)
}

func (c *cast) version() string { return fmt.Sprintf("v%d", len(c.denied)+1) }

// narrowed are the rules of any version under what is deployed now, and under the run's own
// permissions.
func (c *cast) narrowed(own json.RawMessage) core.Rules {
	return underDeployed{c, append(slices.Clone(c.denied), denies(own)...)}
}

// denies are the tools that a run's own permissions take away.
func denies(narrow json.RawMessage) []string {
	var own struct{ Deny []string }
	_ = json.Unmarshal(narrow, &own)
	return own.Deny
}

type underDeployed struct {
	*cast
	denied []string
}

// Gate implements [core.Rules].
func (u underDeployed) Gate(call core.ToolCall, state core.State) core.Verdict {
	u.asked[askedAbout(call, state.Get(core.ThreadScope, "kept"))] = true
	v := u.cast.Gate(call, state)
	if slices.Contains(u.denied, call.Name) {
		v = core.Stricter(v, core.Verdict{Effect: core.Deny, Reason: "the newest version does not allow it any more"})
	}
	return v
}

// deniedBefore says whether one of the first n deployed versions denies the tool.
func (c *cast) deniedBefore(tool string, n int64) bool { return slices.Contains(c.denied[:n], tool) }

func claimOf(run string, epoch int64) string { return fmt.Sprint(run, "/", epoch) }

// samePin: a run keeps the version it began with, whatever is deployed.
func (c *cast) samePin(run, version string) {
	if c.pins[run] == "" {
		c.pins[run] = version
	}
	if c.pins[run] != version {
		c.s.wrong("%s began with %s and goes on with %s", run, c.pins[run], version)
	}
}
