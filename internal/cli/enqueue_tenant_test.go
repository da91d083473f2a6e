package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestEnqueueRefusesWhatIsNoTenant(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, name := range []string{"Acme", "acme corp", "../acme", "-acme", strings.Repeat("a", 64), "acme\n", "ä"} {
		for _, what := range []string{written(t, message("a")), "--dead", "--retry-dead", "--forget-dead"} {
			s := offline(t.Context(), "", "enqueue", what, "--data", data, "--tenant", name)
			s.want(t, cmdline.ExitUsage, "dormouse: --tenant: ", "is not a valid tenant; use up to 63 lower-case letters, digits, _ and -")
		}
	}
	offline(t.Context(), "", "enqueue", "--dead", "--data", data).want(t, cmdline.ExitUsage, "has no store")
	offline(t.Context(), message("a"), "enqueue", "-", "--data", data, "--tenant", "acme-2_b").want(t, cmdline.ExitOK, "1 in the intake queue")
}

func TestEnqueueWarnsOfATenantThatNoServerHas(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/desk.yaml", talker)
	const warning = "dormouse: warning: no server of data knows the tenant acme yet; to add the tenant, create a token: dormouse tokens add NAME --tenant acme\n"
	enqueue := func(tenant string) spoken {
		return offline(t.Context(), message("a"), "enqueue", "-", "--data", "data", "--tenant", tenant)
	}
	for _, says := range []string{"data did not exist and was created; no server has used it yet.", "no server with an agent has used data yet."} {
		if s := enqueue("acme"); s.exit != cmdline.ExitOK || !strings.HasPrefix(s.stderr, "dormouse: warning: "+says) || strings.Count(s.stderr, "\n") != 1 {
			t.Errorf("before any server: %+v, want %s", s, says)
		}
	}
	enqueue("default")
	serveUntil(t, "data", "agents", func() bool { waiting, _ := inQueue(t, "data"); return waiting == 0 })
	if s := enqueue("acme"); s.exit != cmdline.ExitOK || s.stderr != warning {
		t.Errorf("after it: %+v", s)
	}
	if s := enqueue("default"); s.exit != cmdline.ExitOK || s.stderr != "" {
		t.Errorf("the tenant that is there: %+v", s)
	}
}
