package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestADryRunRefusesArgumentsThatDoNotFitTheTool(t *testing.T) {
	served := wire.Agent{Name: "refund-desk", Version: "sha256:a", Tools: []wire.Tool{{Name: "other"}, {Name: "issue_refund", Parameters: json.RawMessage(
		`{"type":"object","properties":{"order":{"type":"string"},"amount":{"type":"number","maximum":500}},"required":["order","amount"]}`)}}}
	waits := run("waiting", pending("sus_1_a"), func(r *wire.Run) { r.AgentVersion = "sha256:a" })
	older := run("waiting", pending("sus_1_a"), func(r *wire.Run) { r.AgentVersion = "sha256:old" })
	const fits, unsent = "the arguments match the parameters of issue_refund; the server has not checked them against permissions", "dry run, not sent to the server: {"
	for name, tt := range map[string]struct {
		run       wire.Run
		arguments string
		exit      int
		says      []string
	}{
		"they fit":                {waits, `{"order":"A-17","amount":80}`, cmdline.ExitOK, []string{"issue_refund will run with edited arguments:\n", unsent, fits}},
		"one is missing":          {waits, `{"order":"A-17"}`, cmdline.ExitFailed, []string{"don't match the parameters of issue_refund: ", "amount", "; nothing was sent"}},
		"one is of another type":  {waits, `{"order":17,"amount":80}`, cmdline.ExitFailed, []string{"don't match", "order"}},
		"one is too large":        {waits, `{"order":"A-17","amount":501}`, cmdline.ExitFailed, []string{"don't match", "amount"}},
		"one is there twice":      {waits, `{"order":"A-17","amount":80,"amount":90}`, cmdline.ExitFailed, []string{"a JSON object with unique names"}},
		"they are no object":      {waits, `[1]`, cmdline.ExitFailed, []string{"not a JSON object"}},
		"the version is another":  {older, `{"order":"A-17"}`, cmdline.ExitOK, []string{unsent}},
		"the call does not wait":  {run("waiting"), `{"order":"A-17"}`, cmdline.ExitOK, []string{unsent}},
		"the call is of no one's": {run("done"), `{}`, cmdline.ExitOK, []string{unsent}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, tt.run), "GET /v1/agents/refund-desk": answer(200, served)})
			args := []string{"decide", runID, "sus_1_a", "--approve", "--dry-run", "--arguments", tt.arguments}
			out := dormouse(t, s, args...)
			out.wantExit(t, tt.exit)
			said := out.stdout + out.stderr
			contains(t, said, tt.says...)
			if name != "they fit" && strings.Contains(said, fits) || tt.exit != cmdline.ExitOK && out.stdout != "" {
				t.Errorf("it says %s", said)
			}
			asJSON := dormouse(t, s, append(args, "--json")...)
			asJSON.wantExit(t, tt.exit)
			if tt.exit != cmdline.ExitOK && (asJSON.stdout != "" || !strings.Contains(asJSON.stderr, `"code":"invalid_arguments"`)) {
				t.Errorf("as JSON %q %q", asJSON.stdout, asJSON.stderr)
			}
			for _, sent := range s.seen {
				if sent.method != "GET" {
					t.Errorf("%s %s was sent", sent.method, sent.path)
				}
			}
		})
	}
}
