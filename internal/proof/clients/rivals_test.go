package clients

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

var (
	accepted   = regexp.MustCompile(`"code":"accepted".*?"decision_id":"(\w+)"`)
	notAllowed = regexp.MustCompile(`lacks the role|is not one that this server gave this caller`)
	codes      = regexp.MustCompile(`"code":"(\w+)"`)
)

// TestOneAnswerCounts lets 32 callers answer a question at once, by all ways, each at least twice,
// and each with an answer of its own. Twelve times, it counts in the journal that one decision was
// applied, and in the ledger that the payment was made once or not at all, as that decision says.
// Of the clients that are answered with a code, those whose answer was accepted sent one decision,
// and the others learn that it was decided already.
func TestOneAnswerCounts(t *testing.T) {
	s := serve(t, callers(t)...)
	seed := rand.Uint64()
	t.Logf("seed of this test: %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	names := slices.Sorted(maps.Keys(ways))
	for round := range 12 {
		amount := 100 + round
		q := s.ask(t, fmt.Sprintf("rivals-%d", round), amount)
		var wg sync.WaitGroup
		var mu sync.Mutex
		decisions := map[string]bool{}
		start := make(chan struct{})
		for _, n := range random.Perm(32) {
			name, yes := names[n%len(names)], random.IntN(2) == 0
			wg.Go(func() {
				<-start
				got, err := ways[name].answer(q, yes)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || got.status >= 500 || got.text == "" {
					t.Errorf("round %d: %s is answered with %v, %v", round, name, got, err)
				}
				if first := accepted.FindStringSubmatch(got.text); first != nil {
					decisions[first[1]] = true
				} else if code := codes.FindStringSubmatch(got.text); code != nil && code[1] != "already_decided" {
					t.Errorf("round %d: %s is answered with %v", round, name, got)
				}
			})
		}
		close(start)
		wg.Wait()
		s.oneDecision(t, q, amount)
		if len(decisions) > 1 {
			t.Errorf("round %d: %v were accepted", round, decisions)
		}
	}
}

// TestEachWayAnswersTheOthers lets each way be the first and each the second to answer a question,
// which makes 256 pairs. The first says yes. The second says no, at once and again when the run is
// over, and learns by its own means that it came late, or what came of the yes. That it then agrees
// changes nothing. The test counts the decisions in the journal, and the payments.
func TestEachWayAnswersTheOthers(t *testing.T) {
	s := serve(t, callers(t)...)
	names := slices.Sorted(maps.Keys(ways))
	for i, first := range names {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			for j, second := range names {
				amount := 200 + i*len(names) + j
				q := s.ask(t, fmt.Sprintf("order-%d", amount), amount)
				if got, err := ways[first].answer(q, true); err != nil || got.status >= 400 || strings.Contains(got.text, `"error"`) {
					t.Errorf("%s is answered with %v, %v", first, got, err)
				}
				late := func() {
					t.Helper()
					if got, err := ways[second].answer(q, false); err != nil || got.status >= 500 || !strings.Contains(got.text, ways[second].late) {
						t.Errorf("%s, after %s, is answered with %v, %v", second, first, got, err)
					}
				}
				late()
				if paid := s.oneDecision(t, q, amount); !paid {
					t.Errorf("%s said yes before %s, and nothing was paid", first, second)
				}
				late()
				if got, err := ways[second].answer(q, true); err != nil || got.status >= 500 {
					t.Errorf("%s, which agrees with %s, is answered with %v, %v", second, first, got, err)
				}
				s.oneDecision(t, q, amount)
			}
		})
	}
}

// TestAnAnswerNeedsTheRole sends the answers of a caller that may read, and not decide, by each way
// that needs a token. None counts.
func TestAnAnswerNeedsTheRole(t *testing.T) {
	s := serve(t, callers(t)...)
	q := s.ask(t, "role", 600)
	reader := q
	reader.token = "reader"
	for name, way := range ways {
		if name == "link" || name == "page" {
			continue // who has the link may answer
		}
		got, err := way.answer(reader, true)
		if err != nil || !notAllowed.MatchString(got.text) {
			t.Errorf("%s is answered with %v, %v", name, got, err)
		}
	}
	run, err := client.New(s.url, client.WithToken("anna")).Run(t.Context(), q.run)
	if err != nil || len(run.Pending) != 1 || run.Pending[0].Suspension.ID != q.suspension || payments(t, s) != "" {
		t.Errorf("%+v, %v; paid: %s", run, err, payments(t, s))
	}
}

// oneDecision holds the journal and the ledger against each other. It says whether the payment was
// made.
func (s desk) oneDecision(t *testing.T, q question, amount int) (paid bool) {
	t.Helper()
	c := client.New(q.url, client.WithToken(q.token))
	run, err := c.WaitRun(t.Context(), q.run)
	if err != nil || run.Status != client.StatusDone {
		t.Fatalf("%v: %+v", err, run)
	}
	applied := 0
	for e, err := range c.Events(t.Context(), q.run, client.EventOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		var d client.DecisionRecordedData
		if e.Type == client.EventDecisionRecorded && e.Decode(&d) == nil && d.Applied {
			applied++
			paid = d.Action == client.ActionResume
		}
	}
	ledger, err := os.ReadFile(filepath.Join(s.data, "payments.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	lines := strings.Count(string(ledger), fmt.Sprintf(`"amount":%d,"to":"Ann"`, amount))
	if applied != 1 || paid != (lines == 1) || lines > 1 || strings.Contains(string(ledger), "Eve") {
		t.Errorf("%d decisions were applied, paid: %v, and the ledger has\n%s", applied, paid, ledger)
	}
	return paid
}
