package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// tampered is a store that answers reads with something else than what was written.
type tampered struct {
	engine.Store
	payload  func([]byte) []byte
	segments func([]core.Segment) []core.Segment
}

func (s *tampered) Payload(ctx context.Context, tenant, thread, digest string) ([]byte, error) {
	body, err := s.Store.Payload(ctx, tenant, thread, digest)
	if err == nil && s.payload != nil {
		body = s.payload(body)
	}
	return body, err
}

func (s *tampered) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	segments, err := s.Store.Segments(ctx, tenant, thread, from, to)
	if err == nil && s.segments != nil {
		segments = s.segments(segments)
	}
	return segments, err
}

// decideBeside stores a decision whose value is kept beside the head, as large ones are.
func (r *rig) decideBeside(callID string, d core.Resume) {
	r.t.Helper()
	h := r.head()
	value := core.Encode(d)
	r.must(r.db.PutPayload(r.ctx, "t", r.thread, core.Digest(value), value))
	sus := h.Calls[callID].Sus
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: h.Run, InboxKey: sus, Call: callID, Suspension: sus,
		Signal: core.Signal{Kind: core.SignalDecision, Call: callID, ID: d.DecisionID, Digest: "dig", Ref: core.Digest(value), At: r.now()},
		Due:    r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
}

func TestADecisionKeptBesideTheHead(t *testing.T) {
	t.Run("is read as it was written", func(t *testing.T) {
		r := paying(t)
		r.decideBeside("c1", resume("d1", ""))
		r.work()
		r.wantRan(`pay{"amount":5}`)
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("runs nothing if it is not what its digest says", func(t *testing.T) {
		r := paying(t)
		r.store = &tampered{Store: r.db, payload: func(body []byte) []byte { return []byte(strings.Replace(string(body), `"cancel"`, `"resume"`, 1)) }}
		r.build(engine.Options{})
		r.decideBeside("c1", cancelled("d1", "no"))
		for range 12 {
			_, _ = r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
			r.clock.Advance(3 * minute)
		}
		r.wantRan()
		r.wantEnd(core.Failed, "crash_loop")
	})
}

// A store may hold segments that no head ever named: those of owners that were lost before their
// commit.
func TestAJournalThatIsNotTheHeadsIsNotWorkedOn(t *testing.T) {
	for what, change := range map[string]func([]core.Segment) []core.Segment{
		"its last segment is one that the head does not name": func(s []core.Segment) []core.Segment {
			s[len(s)-1].W++
			return s
		},
		"a segment does not follow the one before": func(s []core.Segment) []core.Segment {
			s[0].W++
			return s
		},
		"it is empty":                 func([]core.Segment) []core.Segment { return nil },
		"the last segment is missing": func(s []core.Segment) []core.Segment { return s[:len(s)-1] },
		"a segment has the number of another": func(s []core.Segment) []core.Segment {
			s[0].Seq++
			return s
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := paying(t)
			if n := len(r.journal()); n < 2 {
				t.Fatalf("the journal has %d segments", n)
			}
			asked := r.asked
			r.must(r.decide("c1", resume("d1", "")))
			r.store = &tampered{Store: r.db, segments: func(s []core.Segment) []core.Segment {
				if len(s) < 2 {
					return s
				}
				return change(s)
			}}
			r.build(engine.Options{})
			// the round is read from the segment of its turn on, and the model is asked
			// with all of them
			for range 4 {
				_, _ = r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread})
				r.clock.Advance(3 * minute)
			}
			if r.asked != asked {
				t.Errorf("the model was asked %d times on a journal that is not its run's", r.asked-asked)
			}
		})
	}
}
