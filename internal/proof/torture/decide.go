package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Of ten who decide, so many send their decision again, and so many have somebody beside them who
// says the opposite at the same moment.
const (
	inTenRepeat = 2
	inTenRivals = 3
)

// answers are what sends the answers to a call, in one manner or another.
func (t *talk) answers(ctx context.Context, run string, p wire.Pending) ([]func() error, error) {
	d, err := t.decision(run, p)
	if err != nil {
		return nil, err
	}
	once := func(d wire.Decision) func() error {
		return func() error { _, err := t.decide(ctx, run, p, d); return err }
	}
	style := t.random.IntN(10)
	switch {
	case p.Kind == "interrupt":
		return []func() error{func() error { return t.resume(ctx, waits(run, p)) }}, nil
	case style < inTenRepeat:
		return []func() error{func() error { return t.decideTwice(ctx, run, p, d) }}, nil
	case style < inTenRepeat+inTenRivals && (p.Kind == "approval" || p.Kind == "client"):
		return []func() error{once(d), once(t.opposite(p, d))}, nil
	}
	return []func() error{once(d)}, nil
}

// decision is what this caller thinks.
func (t *talk) decision(run string, p wire.Pending) (wire.Decision, error) {
	d := wire.Decision{Target: p.Suspension.ID, DecisionID: t.mark("decision")}
	switch p.Kind {
	case "approval":
		t.approval(p, &d)
	case "unknown_outcome":
		return d, t.outcome(waits(run, p), p, &d)
	default:
		d.Result = quoted("answered by " + d.DecisionID)
	}
	return d, nil
}

func (t *talk) approval(p wire.Pending, d *wire.Decision) {
	switch t.random.IntN(6) {
	case 0:
		d.Action = "cancel"
	case 1:
		d.Result = json.RawMessage(`{"approved":false}`)
	case 2:
		d.Action = "resume"
		if t.own {
			d.Arguments = edited(p.Arguments)
		}
	default:
		d.Action = "resume"
	}
}

// edited are the arguments of our own pay tool with another amount.
func edited(arguments json.RawMessage) json.RawMessage {
	var members map[string]any
	if json.Unmarshal(arguments, &members) != nil {
		return nil
	}
	changed := maps.Clone(members)
	amount, ok := changed["amount"].(float64)
	if !ok {
		return nil
	}
	changed["amount"] = amount + 1
	raw, _ := json.Marshal(changed) // it came from JSON
	return raw
}

// outcome says what became of a call whose process was killed: the ledger knows. Without one nobody
// does, and the call is left alone.
func (t *talk) outcome(run string, p wire.Pending, d *wire.Decision) error {
	if t.ledger == "" {
		d.Action = "cancel"
		return nil
	}
	e, there, err := effectOf(t.ledger, run, p.CallID)
	switch {
	case err != nil:
		return fmt.Errorf("reading the ledger: %w", err)
	case there:
		d.Result = e.Arguments
	default:
		d.Action = "resume" // it did not happen: run it
	}
	return nil
}

// opposite is what a rival says.
func (t *talk) opposite(p wire.Pending, d wire.Decision) wire.Decision {
	rival := wire.Decision{Target: d.Target, DecisionID: t.mark("decision")}
	switch {
	case p.Kind == "client":
		rival.Error = "refused by " + rival.DecisionID
	case refuses(d):
		rival.Action = "resume"
	default:
		rival.Action = "cancel"
	}
	return rival
}

// refuses says whether a decision on an approval is a no.
func refuses(d wire.Decision) bool { return d.Action != "resume" || d.Error != "" }

// decide sends a decision until it is answered, and writes down how.
func (t *talk) decide(ctx context.Context, run string, p wire.Pending, d wire.Decision) (Decision, error) {
	said := Decision{Caller: t.n, Run: waits(run, p), Shown: p, Decision: d}
	_, err := ask(ctx, t.door, func(api *client.Client) (wire.DecisionAnswer, error) { return api.Decide(ctx, run, d) })
	code, refused, err := refusal(err)
	if err != nil {
		return said, fmt.Errorf("deciding: %w", err)
	}
	said.Refusal = code
	if refused != nil && refused.Winner != nil {
		said.Winner = refused.Winner.DecisionID
	}
	note(t.kept, &t.kept.Decisions, said)
	return said, nil
}

// decideTwice sends a decision again after it was answered: what was accepted must be confirmed.
func (t *talk) decideTwice(ctx context.Context, run string, p wire.Pending, d wire.Decision) error {
	said, err := t.decide(ctx, run, p, d)
	if err != nil || said.Refusal != "" {
		return err
	}
	again, err := ask(ctx, t.door, func(api *client.Client) (wire.DecisionAnswer, error) { return api.Decide(ctx, run, d) })
	code, _, err := refusal(err)
	if err != nil {
		return fmt.Errorf("deciding again: %w", err)
	}
	if code != "" || again.Same == nil || !*again.Same {
		note(t.kept, &t.kept.Broken, Violation{Rule: "an accepted decision, sent again, is confirmed", To: t.n,
			Promised: promisedDecision(said), Found: fmt.Sprintf("sent again it was answered %d %s%s", again.Status, again.Code, code)})
	}
	return nil
}

// resume lets a run go on that somebody else interrupted.
func (t *talk) resume(ctx context.Context, run string) error {
	_, err := ask(ctx, t.door, func(api *client.Client) (wire.DecisionAnswer, error) {
		return api.Resume(ctx, run, wire.ResumeRequest{})
	})
	_, _, err = refusal(err)
	return err
}
