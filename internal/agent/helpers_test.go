package agent_test

import (
	"os"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

// head is line 1 of the text of an agent.
const head = "model: {provider: scripted, turns: [{say: hi}]}\n"

// withTool is an agent of two lines with a tool a.
const withTool = head + "tools: [{name: a, go: a}]\n"

// complete has every field.
var complete = func() string {
	text, err := os.ReadFile("agentfile/testdata/complete.yaml")
	if err != nil {
		panic(err)
	}
	return string(text)
}()

func noFiles(string) ([]byte, error) { return nil, os.ErrNotExist }

func parse(t *testing.T, text string) agent.Definition {
	t.Helper()
	d, err := agentfile.Parse("refund-desk.yaml", []byte(text), noFiles)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return d
}
