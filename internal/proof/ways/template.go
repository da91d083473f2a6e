// Package ways makes and checks the ways to deploy beside SAM: the construct for the AWS CDK in
// deploy/cdk and the Terraform module in deploy/terraform. Both have what the SAM translator
// makes of template.yaml, so that there is one template.
package ways

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/stack"
)

// versionName is a reference to a version in a resolved value.
var versionName = regexp.MustCompile(`\b(\w+FunctionVersion)[0-9a-f]{10}\b`)

// versionID is the logical id that SAM gives a version: with a hash of the code's address.
var versionID = regexp.MustCompile(`"(\w+FunctionVersion)([0-9a-f]{10})"`)

// Expanded is the template in file as plain CloudFormation, in the form that is deployed in other
// ways: a function's code is the name of its program, versions have ids without hashes, and the
// parameter that SAM reads by itself is a reference again.
func Expanded(ctx context.Context, file string, o stack.Options) (map[string]any, error) {
	cloud, err := stack.Translate(ctx, file, o)
	if err != nil {
		return nil, err
	}
	text := string(cloud)
	for _, found := range versionID.FindAllStringSubmatch(text, -1) {
		text = strings.ReplaceAll(text, found[1]+found[2], found[1])
	}
	var t map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		return nil, err
	}
	delete(t, "Metadata")
	for id, r := range t["Resources"].(map[string]any) {
		if err := expand(r.(map[string]any)); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	digest, err := Digest(file)
	t["Metadata"] = map[string]any{"TemplateDigest": digest}
	return t, err
}

func expand(r map[string]any) error {
	delete(r, "Metadata")
	p, _ := r["Properties"].(map[string]any)
	switch r["Type"] {
	case "AWS::Lambda::Function":
		key, _ := p["Code"].(map[string]any)["S3Key"].(string)
		p["Code"] = map[string]any{"S3Key": path.Base(key)}
	case "AWS::CodeDeploy::DeploymentGroup":
		sub, _ := p["DeploymentConfigName"].(map[string]any)["Fn::Sub"].([]any)
		if len(sub) != 2 {
			return fmt.Errorf("DeploymentConfigName is %v, and should be what SAM makes of Rollout", p["DeploymentConfigName"])
		}
		sub[1] = map[string]any{"ConfigName": map[string]any{"Ref": "Rollout"}}
	}
	return nil
}

// Digest identifies what a template says: comments and layout don't change it.
func Digest(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	t, err := template.Parse(text)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(t.Get())
	return fmt.Sprintf("%x", sha256.Sum256(body))[:16], err
}

// text writes a template for people to compare.
func text(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return b.Bytes(), err
}
