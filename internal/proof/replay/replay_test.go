package replay

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// changing are the tools of the airline recordings that a person would want to approve.
var changing = []string{"book_reservation", "cancel_reservation", "update_reservation_flights", "update_reservation_baggages",
	"update_reservation_passengers", "send_certificate", "transfer_to_human_agents"}

const airline = "../../../../shared/data/tau-airline.jsonl"

func TestRecordedConversations(t *testing.T) {
	if _, err := os.Stat(airline); err != nil {
		t.Skip("the recordings are not here; nothing was replayed")
	}
	report, err := Run(t.Context(), Options{File: airline, Gate: changing, Faults: 0.05, Seed: 7, Limit: effort.Of(10, 3)})
	check(t, report, err)
	if report.Suspensions == 0 || len(report.Faults) == 0 {
		t.Errorf("nothing was tried: %+v", report)
	}
}

func TestGeneratedConversations(t *testing.T) {
	for seed := range uint64(effort.Of(6, 2)) {
		for _, rate := range []float64{0, 0.05} {
			t.Run(fmt.Sprintf("seed %d, faults %v", seed, rate), func(t *testing.T) {
				made := recording.Generate(seed, effort.Of(8, 4), recording.GenerateOptions{})
				var gate []string
				for _, c := range made[:4] {
					for _, m := range c.Messages {
						for _, call := range m.Calls {
							gate = append(gate, call.Name)
						}
					}
				}
				report, err := Run(t.Context(), Options{Conversations: made, Gate: gate[:min(len(gate), 2)], Faults: rate, Seed: seed})
				check(t, report, err)
			})
		}
	}
}

// everything is what callers may do about gated calls, all at once.
func everything(o Options) Options {
	o.Gate = []string{"search", "get_order", "refund", "update-Profile"}
	o.Edits, o.Denials, o.Deadlines, o.Modes = 0.3, 0.2, 0.25, true
	return o
}

func TestGatedCallsComeToWhatWasDecided(t *testing.T) {
	total := Report{}
	for seed := range uint64(6) {
		rate := []float64{0, 0.05, 0.1}[seed/2]
		t.Run(fmt.Sprintf("seed %d, faults %v", seed, rate), func(t *testing.T) {
			report, err := Run(t.Context(), everything(Options{Conversations: recording.Generate(seed+100, 3, recording.GenerateOptions{}),
				Faults: rate, Seed: seed, Parallel: seed%2 == 0, Workers: []int{4, 16}[seed%2]}))
			check(t, report, err)
			total.Edited += report.Edited
			total.Denied += report.Denied
			total.TimedOut += report.TimedOut
			total.Late += report.Late
			total.LateInTime += report.LateInTime
			total.InPart += report.InPart
		})
	}
	if total.Edited == 0 || total.Denied == 0 || total.TimedOut == 0 || total.Late == 0 || total.InPart == 0 {
		t.Errorf("not all was tried: %+v", total)
	}
}

func TestADeviationIsFound(t *testing.T) {
	made := recording.Generate(7, 4, recording.GenerateOptions{})
	o := everything(Options{Conversations: made, Seed: 3})
	s := &stage{o: o, cast: newCast(o)}
	for i, c := range made {
		a := &actor{s: s, conversation: c, name: agentName(i), recorded: c.Results(), rulings: map[string]*ruling{}}
		for id := range a.recorded {
			a.rulings[id] = &ruling{fate: fate{deny: true}}
		}
		a.hold(recording.UniqueIDs(c.Messages), nil) // as if every call had succeeded
	}
	if s.report.OK() || s.report.Denied == 0 {
		t.Errorf("a denied call that succeeded is not found: %+v", s.report)
	}
}

func TestASeedRepeatsItsRun(t *testing.T) {
	once := func() Report {
		r, err := Run(t.Context(), everything(Options{Conversations: recording.Generate(5, 3, recording.GenerateOptions{}), Faults: 0.08, Seed: 21, Workers: 5}))
		check(t, r, err)
		r.Seconds = 0
		return r
	}
	if a, b := once(), once(); !reflect.DeepEqual(a, b) {
		t.Errorf("one seed, two runs:\n%+v\n%+v", a, b)
	}
}

func TestAMismatchIsFound(t *testing.T) {
	made := recording.Generate(5, 2, recording.GenerateOptions{})
	report := Report{}
	for _, m := range recording.Compare(made[0], made[1].Messages) {
		report.mismatch(made[0], m.String())
	}
	if report.OK() || len(report.First) == 0 {
		t.Error("two different conversations are taken for one")
	}
}

func check(t *testing.T, r Report, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK() || len(r.Errors) > 0 {
		_ = r.Print(os.Stderr)
		t.Error(r.Verdict())
	}
}
