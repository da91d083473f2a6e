package core

import "encoding/json"

// Effect is what a gate says of a call.
type Effect uint8

const (
	Ask Effect = iota // a person decides; what is not stated is asked
	Allow
	Deny      // the call fails and the model is told
	Block     // the run ends
	SetResult // the call has this result without running
)

var effectNames = []string{"ask", "allow", "deny", "block", "set_result"}

// strictness orders the effects: of several verdicts on one call the strictest counts.
var strictness = map[Effect]int{Allow: 0, SetResult: 1, Ask: 2, Deny: 3, Block: 4}

// Stricter returns the stricter of two verdicts; of two that are alike, a. An approval lifts an ask
// and nothing else: the result that another verdict gives in place of the body stays with it.
func Stricter(a, b Verdict) Verdict {
	switch {
	case a.Effect == Ask && b.Effect == SetResult && a.Result == nil:
		a.Result = givenResult(b)
		return a
	case a.Effect == SetResult && b.Effect == Ask && b.Result == nil:
		b.Result = givenResult(a)
		return b
	}
	if strictness[b.Effect] > strictness[a.Effect] {
		return b
	}
	return a
}

func (e Effect) String() string                { return name(effectNames, uint8(e)) }
func (e Effect) MarshalText() ([]byte, error)  { return marshalName("effect", effectNames, uint8(e)) }
func (e *Effect) UnmarshalText(b []byte) error { return unmarshalName("effect", effectNames, b, e) }

// Verdict is a gate's answer for one call.
type Verdict struct {
	Effect Effect
	Reason string // of a denial, told to the model; of an ask, shown to the person
	// Mode and Schema shape the suspension of an ask.
	Mode   ResumeMode
	Schema json.RawMessage
	// Grant names what an approval that says [GrantRun] allows: the tool and the rule that
	// asked. Empty: nothing more.
	Grant string
	// NotBy bars approvers of an ask, see [SuspendTicket].
	NotBy string
	// Result is that of SetResult, or what an approved call has instead of running.
	Result *Outcome
}

func givenResult(v Verdict) *Outcome {
	if v.Result == nil {
		return &Outcome{}
	}
	return v.Result
}

// gate applies the verdict on a call that is new or comes back with a decision. A new call that is
// not simply allowed waits for the bodies before it: they may change the state, and with it the
// verdict. Until then nothing is done about it.
func (d *draft) gate(call ToolCall, spec ToolSpec) (on bool, err error) {
	if last, keeps := d.keepsItsPlace(call); keeps {
		last, _ = d.lifted(call, last)
		return last.Effect == Allow, nil
	}
	v, granted := d.verdict(call)
	if v.Effect != Allow && d.h.Calls[call.ID].Status == CallNew && (len(d.cleared) > 0 || d.flying()) {
		return false, nil
	}
	switch v.Effect {
	case Block:
		d.over = blockedByRule(v, noReasonForCall)
		return false, d.denyByRule(call, v, noReasonForCall)
	case Deny:
		return true, d.denyByRule(call, v, noReasonForCall)
	case SetResult:
		return true, d.result(call, CallOutcomeSetByRule, set(v.Result))
	case Ask:
		return true, d.askApproval(call, v)
	}
	d.letThrough(call)
	if spec.Client {
		return true, d.askClient(call, spec)
	}
	d.change(call.ID, func(c *Call) { c.ByGrant = granted })
	d.cleared[call.ID] = true
	return true, nil
}

// set is the result that a gate gives in place of a body's; one that gives none has an empty one.
func set(out *Outcome) Outcome {
	if out == nil {
		return Outcome{}
	}
	return Outcome{Text: out.Text, Value: out.Value, Failed: out.Failed}
}

// gateOn is what the gate says of a call on the state as it is.
func (d *draft) gateOn(call ToolCall) Verdict {
	v, known := d.v.Gates.on(d.revision, call)
	if !known {
		v = d.v.Rules.Gate(call, d.state)
		d.v.Gates.note(d.revision, call, v)
	}
	return v
}

// keepsItsPlace says whether nothing is done about a call now, and what the gate said of it last.
// The state has changed since the gate was asked, and the body of another call of a sequential
// round runs first and may change it again. The gate is asked once more when nothing runs before
// the call. Until then no body, suspension or result rests on the old verdict.
func (d *draft) keepsItsPlace(call ToolCall) (last Verdict, keeps bool) {
	if d.v.Rules.Terms().Parallel || !d.bodyRunsFirst() {
		return Verdict{}, false // its own body may be in the next batch
	}
	call = d.effective(call)
	if _, fresh := d.v.Gates.on(d.revision, call); fresh {
		return Verdict{}, false
	}
	return d.v.Gates.last(call)
}

// bodyRunsFirst says whether a call is cleared already, or runs: the next batch of a sequential
// round is one call, and none that is looked at now.
func (d *draft) bodyRunsFirst() bool {
	if len(d.cleared) > 0 {
		return true
	}
	for _, call := range d.round.Calls {
		if c, tracked := d.h.Calls[call.ID]; tracked && c.Status == CallRunning && d.runsAgain(call) {
			return true
		}
	}
	return false
}
