package protocols_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEachProtocolHasTranscriptsOfTwentyScenarios. CopilotKit's routes answer with AG-UI's.
func TestEachProtocolHasTranscriptsOfTwentyScenarios(t *testing.T) {
	for _, in := range []string{"../aisdk/testdata", "../agui/testdata", "testdata/a2a", "../mcpserver/testdata/stories"} {
		files, err := filepath.Glob(filepath.Join(in, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		scenarios := map[string]bool{}
		for _, file := range files {
			// the version of the client follows
			name, _, _ := strings.Cut(filepath.Base(file), ".")
			scenarios[name] = true
		}
		if len(scenarios) < 20 {
			t.Errorf("%s has transcripts of %d scenarios", in, len(scenarios))
		}
	}
}
