package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/cli/agents/rehearsal"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// recordedPeers answers for the agents elsewhere with what the test file has. A test reaches none
// of them: it would give someone's agent a task each time it is run.
func recordedPeers(all []rehearsal.Remote) program.Peers {
	return func(_ agent.Definition, t agent.Tool) (engine.Peer, error) {
		p := recordedPeer{tool: t.Name}
		if i := slices.IndexFunc(all, func(r rehearsal.Remote) bool { return r.Tool == t.Name }); i >= 0 {
			p.answers = all[i].Answers
		}
		return p, nil
	}
}

// recordedPeer finishes each task at once.
type recordedPeer struct {
	tool    string
	answers []rehearsal.Answer
}

// Send implements [engine.Peer].
func (p recordedPeer) Send(_ context.Context, req engine.PeerRequest) (peer.Report, error) {
	for _, a := range p.answers {
		if a.Input == nil || a.Input.FitsText(req.Input) {
			return reported(a), nil
		}
	}
	return peer.Report{State: peer.Failed, Code: peer.CodeRefused,
		Detail: fmt.Sprintf("tests don't call agents that run elsewhere, and the test file has no answer to this under remote; add one: remote: {%s: [{result: ...}]}", p.tool)}, nil
}

func reported(a rehearsal.Answer) peer.Report {
	if a.Result == nil {
		return peer.Report{State: peer.Failed, Code: peer.CodeFailed, Detail: a.Error}
	}
	r := peer.Report{State: peer.Done, Task: peer.Task{ID: "recorded"}, Text: string(a.Result.JSON())}
	var text string
	if json.Unmarshal(a.Result.JSON(), &text) == nil {
		r.Text = text
	} else {
		r.Value = a.Result.JSON()
	}
	return r
}

// Look implements [engine.Peer]. No task is left to be looked at.
func (recordedPeer) Look(context.Context, engine.PeerRequest) (peer.Report, error) {
	return peer.Report{State: peer.Failed, Code: peer.CodeNotFound}, nil
}

// Stop implements [engine.Peer].
func (recordedPeer) Stop(context.Context, engine.PeerRequest) error { return nil }
