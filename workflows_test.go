package dormouse_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pinnedAction is a step that uses an action of another repository: pinned by commit, with the
// version that the commit has.
var pinnedAction = regexp.MustCompile(`^uses: ([\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$`)

type workflow struct {
	Permissions map[string]string
	Concurrency any
	Jobs        map[string]struct {
		TimeoutMinutes int `yaml:"timeout-minutes"`
		Permissions    map[string]string
	}
}

// workflowTexts are the workflows of this repository by file name.
func workflowTexts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

func TestActionsArePinnedByCommit(t *testing.T) {
	pins := map[string]string{}
	for file, text := range workflowTexts(t) {
		for line := range strings.Lines(text) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			if !strings.HasPrefix(line, "uses:") {
				continue
			}
			m := pinnedAction.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: %q isn't pinned; write uses: OWNER/NAME@COMMIT # vX.Y.Z", file, line)
				continue
			}
			if before, known := pins[m[1]]; known && before != line {
				t.Errorf("%s: %q, but elsewhere %q; use one version of an action", file, line, before)
			}
			pins[m[1]] = line
		}
	}
	if len(pins) == 0 {
		t.Error("no workflow uses an action")
	}
}

func TestWorkflowsHaveTheLeastPermissionsAndEnd(t *testing.T) {
	for file, text := range workflowTexts(t) {
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: the workflow's permissions are %v; grant contents: read there and more in the job that needs it", file, w.Permissions)
		}
		if w.Concurrency == nil {
			t.Errorf("%s has no concurrency group", file)
		}
		for name, job := range w.Jobs {
			if job.TimeoutMinutes == 0 {
				t.Errorf("%s: job %s has no timeout-minutes", file, name)
			}
			if len(job.Permissions) > 0 && filepath.Base(file) != "release.yml" {
				t.Errorf("%s: job %s has permissions %v; only a release needs more than the workflow's", file, name, job.Permissions)
			}
		}
	}
}

func TestTheReleaseIsMadeByOneVersionOfGoReleaser(t *testing.T) {
	versions := map[string][]string{}
	texts := workflowTexts(t)
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	texts["Makefile"] = string(makefile)
	for file, text := range texts {
		for _, m := range regexp.MustCompile(`(?m)(?:goreleaser/v2@|^ +version: )(v[\d.]+)$`).FindAllStringSubmatch(text, -1) {
			versions[m[1]] = append(versions[m[1]], file)
		}
	}
	if len(versions) != 1 {
		t.Errorf("versions of GoReleaser by file: %v; use one in the Makefile and in the workflows", versions)
	}
}
