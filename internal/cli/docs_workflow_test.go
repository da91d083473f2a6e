package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// runsWorkflow runs the shell steps of a page's workflow as a runner of GitHub does, once with a
// yes and once with a no. The step that installs dormouse is left out: the program is there.
func (s *session) runsWorkflow(t *testing.T, page string) {
	t.Helper()
	var w struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ Run string }
		}
	}
	for _, b := range blocksOf(page) {
		if strings.HasPrefix(b.file, ".github/") {
			if err := yaml.Unmarshal([]byte(b.text), &w); err != nil {
				t.Fatal(err)
			}
		}
	}
	token, err := os.ReadFile(filepath.Join(s.dir, "ci.token"))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "deploy.sh"), []byte("#!/bin/sh\necho \"$1\" >> deployed\n"), 0o700)
	}
	if err != nil || len(w.Jobs["deploy"].Steps) < 4 {
		t.Fatalf("%+v, %v", w, err)
	}
	known := map[string]string{"${{ vars.DORMOUSE_URL }}": s.url, "${{ secrets.DORMOUSE_TOKEN }}": strings.TrimSpace(string(token))}
	for attempt, answer := range map[string]string{"1": "--approve", "2": "--deny"} {
		env := append(s.environ(), "GITHUB_REF_NAME=v"+attempt, "GITHUB_SHA=abc", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT="+attempt)
		for name, value := range w.Jobs["deploy"].Env {
			env = append(env, name+"="+known[value])
		}
		answered := make(chan error, 1)
		go func() { answered <- s.answers(t.Context(), answer) }()
		err = nil
		for _, step := range w.Jobs["deploy"].Steps {
			if err != nil || step.Run == "" || strings.HasPrefix(step.Run, "go install ") {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			cmd := exec.CommandContext(ctx, "bash", "-e", "-c", step.Run)
			cmd.WaitDelay, cmd.Dir, cmd.Env = time.Second, s.dir, env
			var out []byte
			out, err = cmd.CombinedOutput()
			cancel()
			t.Logf("%s%s%v", step.Run, out, err)
		}
		if problem := <-answered; problem != nil || (err == nil) != (answer == "--approve") || err != nil && err.Error() != "exit status 1" {
			t.Errorf("%s: the job ends with %v; %v", answer, err, problem)
		}
	}
	if deployed, err := os.ReadFile(filepath.Join(s.dir, "deployed")); string(deployed) != "v1\n" {
		t.Errorf("deployed: %q, %v", deployed, err)
	}
}

// answers gives anna's answer to the question that comes.
func (s *session) answers(ctx context.Context, answer string) error {
	cmd := exec.CommandContext(ctx, "bash", "-c", `for i in $(seq 200); do
  run=$(dormouse approvals --json --token-file anna.token | grep -o '"run_id": *"[^"]*"' | head -1 | cut -d'"' -f4)
  [ -z "$run" ] || exec dormouse decide "$run" `+answer+` --token-file anna.token
  sleep 0.1
done
exit 1`)
	cmd.Dir, cmd.Env = s.dir, s.environ()
	return cmd.Run()
}
