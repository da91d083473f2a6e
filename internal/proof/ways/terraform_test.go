package ways

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

const module = "../../../deploy/terraform"

// checker is the program that makes and checks the Terraform module in a directory: a module of its
// own, because of the libraries that read and evaluate HCL.
func checker(t *testing.T) func(command, dir string, input []byte) (said string, err error) {
	t.Helper()
	if testing.Short() {
		t.Skip("the checker of the Terraform module is built from libraries that tests don't need")
	}
	program := filepath.Join(t.TempDir(), "terraform")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../../../tools/terraform"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return func(command, dir string, input []byte) (string, error) {
		c := exec.CommandContext(t.Context(), program, command, cdk+"/lib/template.json", dir)
		c.Stdin = bytes.NewReader(input)
		out, err := c.CombinedOutput()
		return string(out), err
	}
}

// deployment is what the checker reads of a deployment.
type deployment struct {
	Stack     string
	Variables map[string]any
	Resources map[string]map[string]any
	Refs      map[string]map[string]string
	Outputs   map[string]string
}

// planted are faults in the module, with what the checker must say of them.
var planted = []struct{ what, old, new, finds string }{
	{"a queue hides messages for too short a time", "visibility_timeout_seconds = 180", "visibility_timeout_seconds = 60", "intake_queue: .visibility_timeout_seconds is 180 in the template and 60"},
	{"a right that no function has", `"dynamodb:BatchGetItem"`, `"dynamodb:Scan"`, "dynamodb:BatchGetItem in the template and dynamodb:Scan"},
	{"a resource that wasn't asked for", "count = local.takes_events ? 1 : 0", "count = 1", "intake_queue_policy is in the module alone"},
	{"an argument that the provider lacks", "memory_size", "memory", "the provider has no argument memory"},
	{"an argument that the provider requires", `  protocol_type = "HTTP"`, "", "the provider requires protocol_type"},
	{"an attribute that the provider lacks", "aws_sqs_queue.wake_queue.arn", "aws_sqs_queue.wake_queue.arm", "reads aws_sqs_queue.wake_queue.arm"},
	{"a resource that isn't there", "aws_sqs_queue.wake_queue.arn", "aws_sqs_queue.wake.arn", "refers to aws_sqs_queue.wake, which isn't there"},
	{"a number that only AWS knows", "local.traced ? 1 : 0", "aws_sqs_queue.wake_queue.arn != null ? 1 : 0", "is not known when Terraform plans"},
}

func TestTheModuleDeploysWhatTheTemplateDoes(t *testing.T) {
	check := checker(t)
	all := map[string]deployment{}
	for name := range deployments {
		parameters := parametersOf(t, name)
		cloud := parsed(t, expanded(t, parameters))
		d := template.Deployment{Stack: "try", Region: "us-east-1", Account: "123456789012", Parameters: parameters}
		all[name] = deployment{"try", typed(cloud, parameters), resources(t, cloud, d), refs(t, cloud, d), outputs(t, cloud, d)}
	}
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	said, err := check("check", module, input)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Log(said)
	one, err := json.Marshal(map[string]deployment{"as it is": all["as it is"]})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range planted {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
			t.Fatal(err)
		}
		main, err := os.ReadFile(dir + "/main.tf")
		if err != nil {
			t.Fatal(err)
		}
		faulty := strings.Replace(string(main), p.old, p.new, 1)
		if faulty == string(main) {
			t.Errorf("%s: the module has no %q", p.what, p.old)
		}
		if err := os.WriteFile(dir+"/main.tf", []byte(faulty), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := check("check", dir, one); err == nil || !strings.Contains(said, p.finds) {
			t.Errorf("%s: the checker doesn't find %q: %v\n%s", p.what, p.finds, err, said)
		}
	}
}

// typed are parameters in the types of their variables.
func typed(cloud template.Template, parameters map[string]string) map[string]any {
	all := map[string]any{}
	for name, value := range parameters {
		p, _ := cloud.Parameter(name)
		switch p.Type {
		case "CommaDelimitedList":
			all[name] = strings.Split(value, ",")
		case "Number":
			all[name] = json.Number(value)
		default:
			all[name] = value
		}
	}
	return all
}

// refs are what references to each resource are.
func refs(t *testing.T, cloud template.Template, d template.Deployment) map[string]map[string]string {
	t.Helper()
	r, err := cloud.Resolver(d)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, res := range cloud.Resources() {
		all[res.ID] = map[string]string{}
		if value, err := r.Resolve(map[string]any{"Ref": res.ID}); err == nil {
			all[res.ID]["Ref"] = template.Text(value)
		}
		for _, attribute := range []string{"Arn", "QueueName", "ApiEndpoint", "FunctionUrl"} {
			if value, err := r.Resolve(map[string]any{"Fn::GetAtt": []any{res.ID, attribute}}); err == nil {
				all[res.ID][attribute] = template.Text(value)
			}
		}
	}
	return all
}
