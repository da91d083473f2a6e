package replay

import (
	"fmt"
	"os"
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
