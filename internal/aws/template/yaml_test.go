package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShortFormsAreTheMapsTheyMean(t *testing.T) {
	for short, long := range map[string]string{
		`!Ref Queue`:                      `{"Ref": "Queue"}`,
		`!Condition Prod`:                 `{"Condition": "Prod"}`,
		`!GetAtt Queue.Arn`:               `{"Fn::GetAtt": ["Queue", "Arn"]}`,
		`!GetAtt Function.Version.Arn`:    `{"Fn::GetAtt": ["Function", "Version.Arn"]}`,
		`!GetAtt [Queue, Arn]`:            `{"Fn::GetAtt": ["Queue", "Arn"]}`,
		`!Sub "${Table}/*"`:               `{"Fn::Sub": "${Table}/*"}`,
		`!If [Prod, !Ref A, {b: !Ref B}]`: `{"Fn::If": ["Prod", {"Ref": "A"}, {"b": {"Ref": "B"}}]}`,
		`!Equals [!Ref A, 2]`:             `{"Fn::Equals": [{"Ref": "A"}, 2]}`,
		`!Join ["", [a, "1", true]]`:      `{"Fn::Join": ["", ["a", "1", true]]}`,
		`{Version: 2012-10-17}`:           `{"Version": "2012-10-17"}`,
		`{60: a}`:                         `{"60": "a"}`,
	} {
		a, b := parsed(t, "At: "+short), parsed(t, `{"At":`+long+`}`)
		if diff := cmp.Diff(b.Get(), a.Get()); diff != "" {
			t.Errorf("%s: - is wanted, + is read\n%s", short, diff)
		}
	}
}

func TestWhatCloudFormationDoesNotReadIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"Resources:\n  Q: {Type: A}\n  Q: {Type: B}":      "line 3: Q occurs twice",
		`{"Resources": {"Q": {"A": 1, "A": 2}}}`:          "A occurs twice",
		"A: !If [C, {x: 1, x: 2}, 3]":                     "x occurs twice",
		"Resources:\n  Q: &q {Type: A}\n  R: *q":          "line 3: CloudFormation does not support aliases; expand *q",
		"Resources:\n  Q: &q {Type: A}\n  R:\n    <<: *q": "line 4: CloudFormation does not support aliases",
		"":      "the template is empty",
		"- a":   "a template is a map of sections",
		"A: [b": "line 1",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v and should say %q", text, err, want)
		}
	}
}

func TestSectionsAreReadByName(t *testing.T) {
	tmpl := parsed(t, `
Parameters:
  Size: {Type: Number, Default: 3, AllowedValues: [3, 5], Description: How many.}
  Name: {Type: String, AllowedPattern: "[a-z]+", MaxLength: 9}
Resources:
  B: {Type: AWS::SQS::Queue, Condition: Big, Properties: {Redrive: {Count: 5}}}
  A: {Type: AWS::SQS::Queue}
  F:
    Type: AWS::Serverless::Function
    Properties: {Events: {Tick: {Type: Schedule}, Take: {Type: SQS, Properties: {BatchSize: 1}}}}
`)
	got := map[string]any{
		"parameters": tmpl.Parameters(),
		"queues":     []string{tmpl.All("AWS::SQS::Queue")[0].ID, tmpl.All("AWS::SQS::Queue")[1].ID},
		"condition":  tmpl.Resource("B").Condition(),
		"property":   tmpl.Resource("B").Get("Redrive", "Count"),
		"no such":    tmpl.Resource("C"),
		"event":      tmpl.Functions()[0].Events("SQS")[0].ID,
		"its batch":  tmpl.Functions()[0].Events("SQS")[0].Get("BatchSize"),
	}
	want := map[string]any{
		"parameters": []Parameter{{Name: "Name", Type: "String", AllowedPattern: "[a-z]+", MaxLength: 9},
			{Name: "Size", Type: "Number", Default: 3, AllowedValues: []any{3, 5}, Description: "How many."}},
		"queues":    []string{"A", "B"},
		"condition": "Big",
		"property":  5,
		"no such":   Resource{ID: "C"},
		"event":     "F.Take",
		"its batch": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- is wanted, + is read\n%s", diff)
	}
}

func parsed(t *testing.T, text string) Template {
	t.Helper()
	tmpl, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tmpl
}
