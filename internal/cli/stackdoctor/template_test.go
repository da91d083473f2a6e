package stackdoctor

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestTheTemplateHasTheseNames: a resource, a parameter or an output that is renamed there would
// silently not be checked here.
func TestTheTemplateHasTheseNames(t *testing.T) {
	text, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"StepFunction:\n    Type: AWS::Serverless::Function", "StreamFunction:\n    Type: AWS::Serverless::Function", "Table:\n    Type: " + typeTable,
		"Streams:\n    Type: String", "Policy:\n    Type: String", "BedrockModels:\n    Type: CommaDelimitedList", "Version:\n    Type: String",
		"TableName:\n    Description", "ApiUrl:\n    Description", "    AutoPublishAlias: " + liveAlias, "        " + policyVariable + ": !Ref Policy"} {
		if !regexp.MustCompile("(?m)^  " + regexp.QuoteMeta(line)).Match(text) {
			t.Errorf("the template has no line\n  %s", line)
		}
	}
	dead := map[string]bool{}
	for _, found := range regexp.MustCompile(`deadLetterTargetArn: !GetAtt ([A-Za-z]+)\.Arn|(?m)^  ([A-Za-z]*DeadQueue):$`).FindAllStringSubmatch(string(text), -1) {
		dead[found[1]+found[2]] = true
	}
	if have, want := slices.Sorted(maps.Keys(deadLetterAdvice)), slices.Sorted(maps.Keys(dead)); !slices.Equal(have, want) {
		t.Errorf("there is advice for the dead letters of %v; the template has %v", have, want)
	}
}
