package invariant_test

import (
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
)

func TestWhatAWriteMayLeave(t *testing.T) {
	end := &core.Reason{Kind: core.NaturalEnd}
	waits := map[string]core.Call{"c1": {Status: core.CallSuspended}}
	settled := map[string]core.Call{"c1": {Status: core.CallSucceeded}, "c2": {Status: core.CallCancelled}}
	signals := map[string]core.Signal{core.KeyCancel: {}}
	outbox := map[string]core.Out{"n": {}}
	child := map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindChild, Sus: "sus_1"}}}
	launch := map[string]core.Out{core.LaunchKey("sus_1"): {Kind: core.OutLaunch}}
	family := core.Family{Parent: &core.Parent{}, Children: 1}
	settledChild := map[string]core.Call{"c1": {Status: core.CallFailed, Wait: core.Wait{Kind: core.KindChild, Sus: "sus_1"}}}
	for name, c := range map[string]struct {
		head core.Head
		want invariant.Rule
	}{
		"running, whatever else":              {core.Head{Status: core.RunRunning, Out: outbox, Inbox: signals, Ending: core.Ending{End: end}, Calls: waits}, ""},
		"waiting for a call":                  {core.Head{Status: core.RunWaiting, Calls: waits}, ""},
		"waiting for a moment":                {core.Head{Status: core.RunWaiting, Schedule: core.Schedule{Deadline: 5}}, ""},
		"done, every call settled":            {core.Head{Status: core.RunDone, Ending: core.Ending{End: end}, Calls: settled}, ""},
		"created":                             {core.Head{Status: core.RunCreated, Calls: waits}, invariant.BackToCreated},
		"waiting for nothing":                 {core.Head{Status: core.RunWaiting, Calls: settled}, invariant.WaitsForNothing},
		"waiting with something in the inbox": {core.Head{Status: core.RunWaiting, Calls: waits, Inbox: signals}, invariant.WaitsWithSignals},
		"waiting with something to send":      {core.Head{Status: core.RunWaiting, Calls: waits, Out: outbox}, invariant.WaitsWithOutbox},
		"done without a reason":               {core.Head{Status: core.RunDone}, invariant.DoneWithoutEnd},
		"done with something in the inbox":    {core.Head{Status: core.RunDone, Ending: core.Ending{End: end}, Inbox: signals}, invariant.DoneWithSignals},
		"done with something to send":         {core.Head{Status: core.RunDone, Ending: core.Ending{End: end}, Out: outbox}, invariant.DoneWithOutbox},
		"done with a held message":            {core.Head{Status: core.RunDone, Ending: core.Ending{End: end}, Held: []core.Held{{Seq: 1}}}, invariant.DoneWithHeld},
		"waiting for a child alone":           {core.Head{Status: core.RunWaiting, Calls: child}, ""},
		"waiting with a launch to send":       {core.Head{Status: core.RunWaiting, Calls: child, Out: launch}, invariant.WaitsWithOutbox},
		"launching a child":                   {core.Head{Status: core.RunRunning, Calls: child, Out: launch}, ""},
		"launching for a call that has ended": {core.Head{Status: core.RunRunning, Calls: settledChild, Out: launch}, invariant.LaunchForNothing},
		"launching for an approval":           {core.Head{Status: core.RunRunning, Calls: map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindApproval, Sus: "sus_1"}}}, Out: launch}, invariant.LaunchForNothing},
		"launching for another suspension":    {core.Head{Status: core.RunRunning, Calls: map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindChild, Sus: "sus_2"}}}, Out: launch}, invariant.LaunchForNothing},
		"launching for no call":               {core.Head{Status: core.RunRunning, Out: launch}, invariant.LaunchForNothing},
		"cancelling for no call":              {core.Head{Status: core.RunRunning, Out: map[string]core.Out{core.CancelKey("sus_1"): {}}, Ending: core.Ending{End: end}}, ""},
		"ended with a launch to send":         {core.Head{Status: core.RunRunning, Calls: child, Out: launch, Ending: core.Ending{End: end}}, invariant.EndsWithLaunch},
		"a child stored for older programs":   {core.Head{Status: core.RunRunning, Identity: core.Identity{Schema: core.SchemaAlone}, Family: core.Family{Parent: &core.Parent{}}}, invariant.SchemaTooOld},
		"a parent stored for older programs":  {core.Head{Status: core.RunRunning, Identity: core.Identity{Schema: core.SchemaAlone}, Family: core.Family{Children: 1}}, invariant.SchemaTooOld},
		"a family":                            {core.Head{Status: core.RunRunning, Identity: core.Identity{Schema: core.SchemaFamily}, Family: family}, ""},
	} {
		if got := ruleOf(invariant.CheckWritten(c.head)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, status := range []core.CallStatus{core.CallNew, core.CallRunning, core.CallSuspended, core.CallResuming} {
		h := core.Head{Status: core.RunDone, Ending: core.Ending{End: end}, Calls: map[string]core.Call{"c0": {Status: core.CallFailed}, "c1": {Status: status}}}
		if got := ruleOf(invariant.CheckWritten(h)); got != invariant.DoneWithOpenCall {
			t.Errorf("done with a call that is %s: got %q", status, got)
		}
		if got := ruleOf(invariant.CheckEnded(h)); got != invariant.DoneWithOpenCall {
			t.Errorf("ended with a call that is %s: got %q", status, got)
		}
	}
}

func ruleOf(err error) invariant.Rule {
	if broken, ok := errors.AsType[*invariant.Error](err); ok {
		return broken.Rule
	}
	return ""
}
