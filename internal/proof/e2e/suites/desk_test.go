package suites

import (
	"path/filepath"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

func TestTheDeskNeedsNoGoFunctions(t *testing.T) {
	service, err := torture.Serve(filepath.Join(t.TempDir(), "payments.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	for name, s := range map[string]*torture.Service{"with a service": service, "elsewhere": nil} {
		dir := t.TempDir()
		if err := (&Target{Module: "../../../..", Service: s}).writeDesk(dir); err != nil {
			t.Fatal(err)
		}
		agents, err := agentfile.Load(dir)
		if err != nil || len(agents) != 1 {
			t.Fatalf("%s: %d agents, %v", name, len(agents), err)
		}
		if d := agents[0]; d.Name != deskAgent || len(d.Tools) != 2 || len(d.Needs().Functions) > 0 || (d.Tools[0].HTTP != nil) != (s != nil) {
			t.Errorf("%s: %s has %d tools and needs the functions %v", name, d.Name, len(d.Tools), d.Needs().Functions)
		}
	}
}
