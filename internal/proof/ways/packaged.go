package ways

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Packaged is the template of a release for CloudFormation alone: the programs are the zips of that
// release in a bucket of the account. From is what Expanded made, as it is committed.
func Packaged(from []byte, release string) ([]byte, error) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(release) {
		return nil, fmt.Errorf("%q is not a version without v, such as 0.1.0", release)
	}
	// A release publishes new versions of the functions: their resources have new ids.
	id := regexp.MustCompile(`[^0-9A-Za-z]`).ReplaceAllString(release, "x")
	body := regexp.MustCompile(`"(\w+FunctionVersion)"`).ReplaceAllString(string(from), `"${1}`+id+`"`)
	var t map[string]any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		return nil, err
	}
	delete(t, "Metadata")
	parameters := t["Parameters"].(map[string]any)
	parameters["CodeBucket"] = map[string]any{"Type": "String", "Description": "The bucket, in the region of the stack, with the zips of the release."}
	parameters["CodePrefix"] = map[string]any{"Type": "String", "Default": "", "Description": "What the keys of the zips begin with, such as dormouse/. Empty for none."}
	parameters["Version"].(map[string]any)["Default"] = "v" + release
	for _, r := range t["Resources"].(map[string]any) {
		r := r.(map[string]any)
		if r["Type"] != "AWS::Lambda::Function" {
			continue
		}
		p := r["Properties"].(map[string]any)
		program := p["Code"].(map[string]any)["S3Key"]
		p["Code"] = map[string]any{"S3Bucket": map[string]any{"Ref": "CodeBucket"},
			"S3Key": map[string]any{"Fn::Sub": fmt.Sprintf("${CodePrefix}dormouse_%s_lambda_%s_arm64.zip", release, program)}}
	}
	return text(t)
}
