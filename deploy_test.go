package dormouse_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/proof/ways"
)

// deployDesk is a copy of what tools/deploy reads, with a program in SAM's place that keeps what it
// is called with, and answers for the stack.
type deployDesk struct {
	dir    string
	stacks string // what "sam list stack-outputs" says, after its exit code
}

func newDeployDesk(t *testing.T, samconfig, stacks string) deployDesk {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash, which tools/deploy needs")
	}
	script, err := os.ReadFile("tools/deploy")
	if err != nil {
		t.Fatal(err)
	}
	d := deployDesk{t.TempDir(), stacks}
	sam := "#!/bin/sh\n{ for one in \"$@\"; do printf '%s|' \"$one\"; done; echo; } >> \"$CALLS\"\n" +
		"[ \"$1\" = list ] || exit 0\necho \"${STACKS#* }\" >&2\nexit \"${STACKS%% *}\"\n"
	for name, text := range map[string]string{"tools/deploy": string(script), "bin/sam": sam, "samconfig.toml": samconfig} {
		path := filepath.Join(d.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// deploy returns the calls of SAM, each with its arguments separated by bars.
func (d deployDesk) deploy(args ...string) (calls []string, output string, err error) {
	log := filepath.Join(d.dir, "calls")
	c := exec.Command("bash", append([]string{filepath.Join(d.dir, "tools/deploy")}, args...)...)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(d.dir, "bin")+":"+os.Getenv("PATH"), "CALLS="+log, "STACKS="+d.stacks, "GIT_CEILING_DIRECTORIES="+filepath.Dir(d.dir))
	out, err := c.CombinedOutput()
	text, _ := os.ReadFile(log)
	return strings.Split(strings.TrimSpace(string(text)), "\n"), string(out), err
}

const deploySettings = `version = 0.1
[default.global.parameters]
stack_name = "desk-dev"

[default.deploy.parameters]
capabilities = "CAPABILITY_IAM"
parameter_overrides = [
  "LogLevel=DEBUG",
]

[prod.global.parameters]
stack_name = "desk"

[prod.deploy.parameters]
parameter_overrides = [
  # A comment.
  "LogLevel=INFO", # another
  'Policy="deny: [pay]"',
  "Origins=\"https://a.example,https://b.example\"",
  "DeletionProtection=true",
]
`

const there = "0 []"

func version(call string) string {
	_, after, _ := strings.Cut(call, "|Version=")
	return strings.TrimSuffix(after, "|")
}

func TestDeployPassesEveryParameterAndAVersionOfThem(t *testing.T) {
	calls, out, err := newDeployDesk(t, deploySettings, there).deploy("prod")
	if err != nil || len(calls) != 3 {
		t.Fatalf("%v: %s\n%v", err, out, calls)
	}
	want := `deploy|--config-env|prod|--stack-name|desk|--parameter-overrides|LogLevel=INFO|Policy="deny: [pay]"|Origins="https://a.example,https://b.example"|DeletionProtection=true|Version=`
	if !strings.HasPrefix(calls[2], want) || len(version(calls[2])) > 40 {
		t.Errorf("got  %s\nwant %s…", calls[2], want)
	}
	if calls[0] != "build|--config-env|prod|" || !strings.HasPrefix(calls[1], "list|stack-outputs|--stack-name|desk|") {
		t.Errorf("got %v", calls[:2])
	}
}

func TestDeployOfAChangedPolicyIsAnotherVersion(t *testing.T) {
	versions := map[string]string{}
	for _, policy := range []string{"deny: [pay]", "deny: [refund]", "deny: [pay]"} {
		calls, out, err := newDeployDesk(t, strings.ReplaceAll(deploySettings, "deny: [pay]", policy), there).deploy("prod")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		one := version(calls[len(calls)-1])
		if before := versions[policy]; before != "" && before != one {
			t.Errorf("%s is version %s, and was %s", policy, one, before)
		}
		versions[policy] = one
	}
	if versions["deny: [pay]"] == versions["deny: [refund]"] {
		t.Errorf("both are version %s, so the functions wouldn't see the change", versions["deny: [pay]"])
	}
}

func TestDeployProtectsTheTableOfANewStackSecond(t *testing.T) {
	calls, out, err := newDeployDesk(t, deploySettings, "1 Error: The input stack desk-2 does not exist on Cloudformation in the region eu-central-1").deploy("prod", "desk-2")
	if err != nil || len(calls) != 4 {
		t.Fatalf("%v: %s\n%v", err, out, calls)
	}
	if !strings.Contains(calls[2], "|--stack-name|desk-2|") || !strings.Contains(calls[2], "|DeletionProtection=false|") || !strings.Contains(calls[3], "|DeletionProtection=true|") {
		t.Errorf("got %v", calls[2:])
	}
	calls, out, err = newDeployDesk(t, deploySettings, "1 does not exist").deploy()
	if err != nil || len(calls) != 3 || !strings.Contains(calls[2], "|--config-env|default|--stack-name|desk-dev|") {
		t.Errorf("without protection once is enough: %v: %s\n%v", err, out, calls)
	}
}

func TestDeployStopsWhereItDoesNotKnow(t *testing.T) {
	for name, c := range map[string]struct {
		config, stacks string
		args           []string
		said           string
	}{
		"no credentials": {deploySettings, "1 Unable to locate credentials", []string{"prod"}, "cannot tell whether the stack desk exists"},
		"no such stage":  {deploySettings, there, []string{"test"}, "has no stage test"},
		"two on a line":  {strings.Replace(deploySettings, "  \"LogLevel=INFO\", # another\n", "  \"LogLevel=INFO\", \"Rollout=AllAtOnce\",\n", 1), there, []string{"prod"}, "on a line of its own"},
		"no stack name":  {strings.Replace(deploySettings, "stack_name = \"desk\"", "", 1), there, []string{"prod"}, "has no stack_name"},
	} {
		calls, out, err := newDeployDesk(t, c.config, c.stacks).deploy(c.args...)
		if err == nil || !strings.Contains(out, c.said) || slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "deploy|") }) {
			t.Errorf("%s: %v: %s\n%v", name, err, out, calls)
		}
	}
}

// TestWaysToDeployAreThoseOfTheTemplate: what is generated from template.yaml was generated from
// what it says now.
func TestWaysToDeployAreThoseOfTheTemplate(t *testing.T) {
	digest, err := ways.Digest("template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"deploy/cdk/lib/template.json", "deploy/terraform/versions.tf"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), digest) {
			t.Errorf("%s is of another template.yaml; run .ci/ways update", file)
		}
	}
}

// TestAReleaseHasEveryFunction: the ways to deploy without SAM take all programs from a release.
func TestAReleaseHasEveryFunction(t *testing.T) {
	release, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir("functions")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		for _, line := range []string{"main: ./functions/" + f.Name(), "_lambda_" + f.Name() + "_arm64"} {
			if !strings.Contains(string(release), line) {
				t.Errorf(".goreleaser.yaml has no %s", line)
			}
		}
	}
}
