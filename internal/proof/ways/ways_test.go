package ways

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

var update = flag.Bool("update", false, "write what is generated from template.yaml")

const (
	source = "../../../template.yaml"
	cdk    = "../../../deploy/cdk"
)

// options are of a stack without parameters. They need the SAM translator, which .ci/servers
// installs: tests need Go alone.
func options(t *testing.T) stack.Options {
	tools := os.Getenv("DORMOUSE_TOOLS")
	if tools == "" {
		home, _ := os.UserHomeDir()
		tools = filepath.Join(home, ".cache", "dormouse-tools")
	}
	found, _ := filepath.Glob(filepath.Join(tools, "translator-*", "bin", "python"))
	if len(found) == 0 {
		t.Skip("the SAM translator is not installed; .ci/servers translator installs it")
	}
	return stack.Options{Name: "try", Region: "us-east-1", Account: "123456789012", Python: found[len(found)-1]}
}

// expanded is the template as Expanded writes it.
func expanded(t *testing.T, parameters map[string]string) []byte {
	t.Helper()
	o := options(t)
	o.Parameters = parameters
	cloud, err := Expanded(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	written, err := text(cloud)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func parsed(t *testing.T, text []byte) template.Template {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func golden(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what template.yaml makes of it; run .ci/ways update", file)
	}
}

func TestWhatIsGeneratedHoldsTheTemplate(t *testing.T) {
	cloud := expanded(t, nil)
	golden(t, cdk+"/lib/template.json", cloud)
	golden(t, cdk+"/lib/props.ts", []byte(Props(parsed(t, cloud))))
	if *update { // otherwise the checker looks
		if said, err := checker(t)("generate", module, nil); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
}

// deployments are parameters that together make every condition true and false.
var deployments = map[string]map[string]string{
	"as it is": {},
	"everything": {"Auth": "JWT", "JwtIssuer": "https://issuer.example", "JwtAudience": "dormouse", "IntakeAgent": "desk", "Origins": "https://a.example,https://b.example",
		"BedrockModels": "arn:aws:bedrock:us-east-1::foundation-model/m", "BedrockGuardrails": "arn:aws:bedrock:us-east-1:123456789012:guardrail/g",
		"ToolFunctions": "arn:aws:lambda:us-east-1:123456789012:function:a,arn:aws:lambda:us-east-1:123456789012:function:b", "SecretsPath": "/desk/",
		"SecretsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k", "SignInIssuer": "https://issuer.example", "SignInClientId": "desk", "SubnetIds": "subnet-1,subnet-2",
		"SecurityGroupIds": "sg-1", "KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k2", "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/bound",
		"StreamConcurrency": "7", "ApiConcurrency": "8", "DecisionConcurrency": "9", "PublicUrl": "https://desk.example", "EventBusName": "default",
		"NoticeTopicArn": "arn:aws:sns:us-east-1:123456789012:notices", "NoticeMailFrom": "desk@example.com", "NoticeMailIdentity": "example.com",
		"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms", "Tracing": "On", "DeletionProtection": "true", "Rollout": "Canary10Percent5Minutes",
		"StepTimeout": "300", "StepMemory": "256", "Policy": "deny: [pay]\n# ${AWS::Region} ${!x}", "TenantDayCost": "12.50", "LogRetentionDays": "400", "Version": "v1", "MonthlyBudget": "100"},
	"without streams": {"Streams": "Off", "AlarmEmail": "ops@example.com", "LiveText": "Off", "ExistingTable": "restored"},
}

func TestDeploymentsMakeEveryConditionTrueAndFalse(t *testing.T) {
	seen := map[string]map[bool]bool{}
	for name := range deployments {
		cloud := parsed(t, expanded(t, parametersOf(t, name)))
		r, err := cloud.Resolver(template.Deployment{Stack: "try", Region: "us-east-1", Account: "123456789012", Parameters: parametersOf(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		conditions, _ := cloud.Get("Conditions").(map[string]any)
		for condition := range conditions {
			holds, err := r.Holds(condition)
			if err != nil {
				t.Fatal(err)
			}
			if seen[condition] == nil {
				seen[condition] = map[bool]bool{}
			}
			seen[condition][holds] = true
		}
	}
	for condition, values := range seen {
		if len(values) != 2 {
			t.Errorf("%s is the same in all deployments; add a parameter to them", condition)
		}
	}
}

// parametersOf are the parameters of a deployment that the template has.
func parametersOf(t *testing.T, deployment string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(deployments[deployment])
	for name := range all {
		if _, there := parsed(t, text).Parameter(name); !there {
			delete(all, name)
		}
	}
	return all
}

// differences are of the construct's resources from the template's, and why they are right.
var differences = []struct{ kind, section, name, why string }{
	{"AWS::Lambda::Function", "Properties", "Code", "the CDK uploads the zip to the bucket of its own bootstrap stack"},
	{"AWS::Lambda::Version", "", "UpdateReplacePolicy", "its DeletionPolicy, which SAM sets, is the same; the CDK's validation asks for both"},
}

// TestADifferenceIsFound: the comparison sees a changed property, a missing and an added resource.
func TestADifferenceIsFound(t *testing.T) {
	queue := func(seconds string) map[string]any {
		return map[string]any{"Type": "AWS::SQS::Queue", "Properties": map[string]any{"VisibilityTimeout": seconds}}
	}
	want := map[string]map[string]any{"A": queue("720"), "B": queue("1"), "C": queue("2")}
	got := map[string]map[string]any{"A": queue("60"), "B": queue("1"), "D": queue("2")}
	wrong := compare(want, got)
	for i, id := range []string{"A", "C", "D"} {
		if len(wrong) != 3 || !strings.HasPrefix(wrong[i], id) {
			t.Fatalf("found %q", wrong)
		}
	}
}

func TestTheConstructDeploysWhatTheTemplateDoes(t *testing.T) {
	built(t)
	for name := range deployments {
		parameters := parametersOf(t, name)
		t.Run(name, func(t *testing.T) {
			cloud := parsed(t, expanded(t, parameters))
			d := template.Deployment{Stack: "try", Region: "us-east-1", Account: "123456789012", Parameters: parameters}
			want := resources(t, cloud, d)
			made := parsed(t, synthesized(t, cloud, parameters))
			d.Parameters = nil
			got := resources(t, made, d)
			same(t, want, got)
			if o, w := outputs(t, made, d), outputs(t, cloud, template.Deployment{Stack: "try", Region: "us-east-1", Account: "123456789012", Parameters: parameters}); !cmp.Equal(o, w) {
				t.Errorf("outputs: - are the template's, + the construct's\n%s", cmp.Diff(w, o))
			}
		})
	}
}

// built skips the test unless .ci/ways has built the construct as it is.
func built(t *testing.T) {
	t.Helper()
	program, err := os.Stat(cdk + "/dist/test/synth.js")
	props, missing := os.Stat(cdk + "/lib/props.ts")
	if missing != nil {
		t.Fatal(missing)
	}
	if err != nil || program.ModTime().Before(props.ModTime()) {
		t.Skip("the construct is not built, or was before it changed; .ci/ways builds and tests it")
	}
}

// synthesized is the template of an app with nothing but the construct.
func synthesized(t *testing.T, cloud template.Template, parameters map[string]string) []byte {
	t.Helper()
	props := map[string]any{}
	for name, value := range typed(cloud, parameters) {
		props[camel(name)] = value
	}
	if props["version"] == nil {
		props["version"] = "devel"
	}
	props["zips"] = zips(t, cloud)
	input, err := json.Marshal(props)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "node", "dist/test/synth.js")
	c.Dir, c.Stdin, c.Env = cdk, bytes.NewReader(input), append(os.Environ(), "TMPDIR="+t.TempDir(), "DORMOUSE_ASSEMBLY="+t.TempDir())
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c, stderr(err))
	}
	return out
}

func stderr(err error) string {
	if exit, is := err.(*exec.ExitError); is {
		return fmt.Sprintf("%v\n%s", err, exit.Stderr)
	}
	return err.Error()
}

// zips is a directory with a file for each program of the release.
func zips(t *testing.T, cloud template.Template) string {
	t.Helper()
	dir := t.TempDir()
	_, programs := functions(cloud)
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(dir, "dormouse_0.1.0_lambda_"+p+"_arm64.zip"), []byte(p), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// resources are those that a deployment has, with all references resolved, by logical id without
// the hash of a version.
func resources(t *testing.T, from template.Template, d template.Deployment) map[string]map[string]any {
	t.Helper()
	r, err := from.Resolver(d)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, res := range from.Resources() {
		if there, err := r.Holds(res.Condition()); err != nil || !there {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		body := maps.Clone(res.Body)
		delete(body, "Condition")
		delete(body, "Metadata")
		resolved, err := r.Resolve(map[string]any(body))
		if err != nil {
			t.Fatalf("%s: %v", res.ID, err)
		}
		id := versionID.ReplaceAllString(`"`+res.ID+`"`, `$1`)
		all[strings.Trim(id, `"`)] = plain(resolved).(map[string]any)
	}
	return all
}

func outputs(t *testing.T, from template.Template, d template.Deployment) map[string]string {
	t.Helper()
	r, err := from.Resolver(d)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	section, _ := from.Get("Outputs").(map[string]any)
	for name, o := range section {
		condition, _ := o.(map[string]any)["Condition"].(string)
		if there, err := r.Holds(condition); err != nil || !there {
			continue
		}
		value, err := r.Resolve(from.Get("Outputs", name, "Value"))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = template.Text(value)
	}
	return all
}

// plain is a value in which numbers and truths are the texts that CloudFormation also takes for
// them, and nothing is empty.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, of := range v {
			if p := plain(of); p != nil {
				out[name] = p
			}
		}
		return out
	case []any:
		out := []any{}
		for _, of := range v {
			out = append(out, plain(of))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case nil:
		return nil
	case string:
		return versionName.ReplaceAllString(v, "$1")
	}
	return template.Text(v)
}

// within is a section of a resource; the resource itself if the section has no name.
func within(resource map[string]any, section string) map[string]any {
	if of, is := resource[section].(map[string]any); is {
		return of
	}
	return resource
}

func same(t *testing.T, want, got map[string]map[string]any) {
	t.Helper()
	if len(want) < 150 {
		t.Fatalf("only %d resources are compared", len(want))
	}
	for _, wrong := range compare(want, got) {
		t.Error(wrong)
	}
}

// compare names each difference that is not one of differences.
func compare(want, got map[string]map[string]any) (wrong []string) {
	for _, id := range slices.Sorted(maps.Keys(want)) {
		made, there := got[id]
		if !there {
			wrong = append(wrong, fmt.Sprintf("%s (%s) is in template.yaml alone", id, want[id]["Type"]))
			continue
		}
		for _, d := range differences {
			if d.kind == want[id]["Type"] {
				delete(within(want[id], d.section), d.name)
				delete(within(made, d.section), d.name)
			}
		}
		if diff := cmp.Diff(want[id], made); diff != "" {
			wrong = append(wrong, fmt.Sprintf("%s: - is the template's, + the construct's\n%s", id, diff))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[id]; !there {
			wrong = append(wrong, id+" is in the construct alone")
		}
	}
	return wrong
}
