package replay

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/recording"
)

// changing are the tools of the airline recordings that a person would want to approve.
var changing = []string{"book_reservation", "cancel_reservation", "update_reservation_flights", "update_reservation_baggages",
	"update_reservation_passengers", "send_certificate", "transfer_to_human_agents"}

const airline = "../../../shared/data/tau-airline.jsonl"

func TestRecordedConversations(t *testing.T) {
	if _, err := os.Stat(airline); err != nil {
		t.Skip("the recordings are not here; nothing was replayed")
	}
	report, err := Run(t.Context(), Options{File: airline, Gate: changing, Faults: 0.05, Seed: 7, Limit: 10})
	check(t, report, err)
	if report.Suspensions == 0 || len(report.Faults) == 0 {
		t.Errorf("nothing was tried: %+v", report)
	}
}

func TestGeneratedConversations(t *testing.T) {
	for seed := range uint64(6) {
		for _, rate := range []float64{0, 0.05} {
			t.Run(fmt.Sprintf("seed %d, faults %v", seed, rate), func(t *testing.T) {
				made := recording.Generate(seed, 8, recording.GenerateOptions{})
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

func TestASeedRepeatsItsRun(t *testing.T) {
	once := func() Report {
		r, err := Run(t.Context(), Options{Conversations: recording.Generate(5, 6, recording.GenerateOptions{}), Gate: []string{"refund"}, Faults: 0.08, Seed: 21, Workers: 5})
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
