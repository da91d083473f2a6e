package children

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
)

// Head is the head of the run that works for a suspended call of h. Everything that narrows the
// parent narrows it. Token is unguessable text; the run of a remote agent needs it.
func Head(h core.Head, call core.SuspendedCall, now int64, token string) core.Head {
	c, sus := *call.Child, call.Suspension.ID
	agent, version := c.Agent, c.Version
	var work *peer.Work
	if c.Remote {
		agent, version = h.Agent, h.Version
		work = &peer.Work{Tool: c.Agent, Once: c.Once, Until: call.Deadline, Token: token}
	}
	input := core.Signal{Kind: core.SignalStart, ID: sus, Value: core.Encode(core.TextParts(c.Input)), By: "agent:" + h.Agent, Via: core.ViaAgent, At: now}
	return core.Head{
		Identity: core.Identity{Tenant: h.Tenant, Thread: c.Thread, Run: c.Run, Agent: agent, Version: version, Schema: core.SchemaFamily},
		Status:   core.RunCreated,
		Family: core.Family{Parent: &core.Parent{Thread: h.Thread, Run: h.Run, Call: call.CallID, Sus: sus, Depth: c.Depth, Deepest: c.Deepest, Final: c.Final},
			Allowance: c.Allowance, Peer: work},
		Origin:      core.Origin{Born: now, At: now, Notify: h.Notify},
		Permissions: core.Permissions{Narrow: h.Narrow, NoMemory: h.NoMemory},
		Calls:       map[string]core.Call{}, Waits: core.Waits{TimedOut: map[string]int{}}, Out: map[string]core.Out{},
		Inbox: map[string]core.Signal{core.KeyStart: input},
	}
}
