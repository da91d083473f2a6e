package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

// TestAnAgentIsServedWithoutTheOneItCalls: its other tools work, and the start says which do not.
func TestAnAgentIsServedWithoutTheOneItCalls(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": calling})
	if got := r.version(access.Tenant, "desk"); got != digestOf(t, "desk", calling) {
		t.Errorf("desk starts with %q", got)
	}
	problems := r.agents.Incomplete()
	want := filepath.Join(r.dir, "desk.yaml") + `:3: this directory has no agent "helper"; name one it has (desk), or create it`
	if len(problems) != 1 || problems[0].String() != want {
		t.Errorf("incomplete: %v, want %s", problems, want)
	}
	r.write(map[string]string{"helper.yaml": mistaken})
	r.restart(r.stored)
	if problems := r.agents.Incomplete(); len(problems) > 0 {
		t.Errorf("a file that cannot be read may be the agent: %v", problems)
	}
}

// TestADeploymentOfAllIsRefusedIfOneIsMissing: what is served in production does not change until
// the next start.
func TestADeploymentOfAllIsRefusedIfOneIsMissing(t *testing.T) {
	r := newDirRig(t, nil)
	agents := NewAgents(r.stored, Program{Tools: payer(t), Hooks: hook.NewRegistry(), Dir: t.TempDir(), Home: access.Tenant, Clock: machine.Clock{}})
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(agents.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("desk.yaml", calling)
	_, err := agents.Deploy(t.Context(), access.Tenant)
	if !errors.As(err, new(*NotServableError)) || !strings.Contains(err.Error(), `desk.yaml:3: this directory has no agent "helper"`) {
		t.Errorf("deployed: %v", err)
	}
	write("helper.yaml", saying("hi"))
	if _, err := agents.Deploy(t.Context(), access.Tenant); err != nil {
		t.Error(err)
	}
}

func TestCallersAreShownWhichAgentAToolCalls(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": calling})
	stored, err := r.stored.Current(t.Context(), access.Tenant, "desk")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := r.agents.Describe(stored)
	if err != nil || len(shown.Tools) != 1 {
		t.Fatalf("%+v, %v", shown, err)
	}
	if got := shown.Tools[0]; got.Agent != "helper" || got.Delivery != "" || !strings.Contains(string(got.Parameters), `"q"`) {
		t.Errorf("%+v", got)
	}
	details, err := r.agents.Tool(t.Context(), access.Tenant, core.Record{Agent: "desk", Version: stored.Digest}, "ask")
	if err != nil || details.Kind != "agent" || details.Target != "helper" {
		t.Errorf("%+v, %v", details, err)
	}
}
