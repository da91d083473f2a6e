package a2a_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/a2a"
)

// TestAnswersShareTheirReason: a message of a megabyte must not become a hundred.
func TestAnswersShareTheirReason(t *testing.T) {
	const answers = 100
	text := `{"text":"` + strings.Repeat("a", 1<<18) + `"},`
	m, err := a2a.ReadMessage(json.RawMessage(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[` + text + text +
		strings.TrimSuffix(strings.Repeat(`{"data":{"decisionId":"sus_1_a_b","approved":true}},`, answers), ",") + `]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all, err := m.Answers()
	runtime.ReadMemStats(&after)
	if err != nil || len(all) != answers || len(all[answers-1].Reason) != 2<<18+1 {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
		t.Errorf("they take %d bytes", taken)
	}
}
