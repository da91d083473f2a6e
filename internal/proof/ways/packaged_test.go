package ways

import (
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

func packaged(t *testing.T, release string) template.Template {
	t.Helper()
	from, err := os.ReadFile(cdk + "/lib/template.json")
	if err != nil {
		t.Fatal(err)
	}
	made, err := Packaged(from, release)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, made)
}

// TestThePackagedTemplateDeploysTheZipsOfItsRelease by the names that .goreleaser.yaml gives them.
func TestThePackagedTemplateDeploysTheZipsOfItsRelease(t *testing.T) {
	release, err := os.ReadFile("../../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := packaged(t, "0.1.0-rc.1")
	r, err := p.Resolver(template.Deployment{Stack: "try", Region: "us-east-1", Account: "123456789012", Parameters: map[string]string{"CodeBucket": "code", "CodePrefix": "d/"}})
	if err != nil {
		t.Fatal(err)
	}
	functions := p.All("AWS::Lambda::Function")
	for _, f := range functions {
		code, err := r.Resolve(f.Get("Code"))
		if err != nil {
			t.Fatal(err)
		}
		key := template.Text(code.(map[string]any)["S3Key"])
		name := strings.Replace(strings.TrimSuffix(strings.TrimPrefix(key, "d/"), ".zip"), "0.1.0-rc.1", "{{ .Version }}", 1)
		if !strings.Contains(string(release), `"`+name+`"`) || code.(map[string]any)["S3Bucket"] != "code" {
			t.Errorf("%s has its code at %v, which no release has", f.ID, code)
		}
	}
	if len(functions) < 8 {
		t.Errorf("only %d functions", len(functions))
	}
}

func TestAReleasePublishesVersions(t *testing.T) {
	first, second := packaged(t, "0.1.0"), packaged(t, "0.1.1")
	if first.Resource("StepFunctionVersion0x1x0").Type() == "" || second.Resource("StepFunctionVersion0x1x0").Type() != "" {
		t.Error("the versions of two releases have the same ids")
	}
	for _, p := range []template.Template{first, second} {
		for _, alias := range p.All("AWS::Lambda::Alias") {
			if version := template.List(alias.Get("FunctionVersion", "Fn::GetAtt")); len(version) != 2 || p.Resource(template.Text(version[0])).Type() == "" {
				t.Errorf("%s is of %v, which isn't there", alias.ID, version)
			}
		}
	}
	if v, _ := second.Parameter("Version"); v.Default != "v0.1.1" {
		t.Errorf("the version is %v", v.Default)
	}
}

func TestAPackagedTemplateNeedsAVersion(t *testing.T) {
	if _, err := Packaged(nil, "v0.1.0"); err == nil {
		t.Error("a tag is taken for a version")
	}
}
