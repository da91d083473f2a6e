package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sizes has what the expressions of these tests refer to.
const sizes = `
Parameters:
  Stage: {Type: String, Default: dev}
  Count: {Type: Number, Default: 3}
  Names: {Type: CommaDelimitedList, Default: "a, b"}
Mappings:
  Sizes: {dev: {Memory: 256}, prod: {Memory: 1024}}
Conditions:
  Prod: !Equals [!Ref Stage, prod]
  Three: !Equals [!Ref Count, 3]
  Small: !And [!Not [!Condition Prod], !Condition Three]
  Either: !Or [!Condition Prod, !Condition Three]
Resources:
  Queue: {Type: AWS::SQS::Queue}
  Named: {Type: AWS::SQS::Queue, Properties: {QueueName: !If [Prod, !Ref AWS::NoValue, "q-${x}"]}}
  Table: {Type: AWS::DynamoDB::Table}
  Function: {Type: AWS::Lambda::Function}
  Alias: {Type: AWS::Lambda::Alias, Properties: {Name: live, FunctionName: !Ref Function}}
`

func TestExpressionsAreEvaluated(t *testing.T) {
	for expression, want := range map[string]any{
		`!Ref Stage`:              "dev",
		`!Ref Count`:              "3",
		`!Ref Names`:              []any{"a", "b"},
		`!Ref AWS::StackName`:     "s",
		`!Ref AWS::NoValue`:       nil,
		`!Ref Queue`:              "https://sqs.eu-west-1.amazonaws.com/1/s-Queue",
		`!Ref Table`:              "s-Table",
		`!Ref Alias`:              "arn:aws:lambda:eu-west-1:1:function:s-Function:live",
		`!GetAtt Queue.Arn`:       "arn:aws:sqs:eu-west-1:1:s-Queue",
		`!GetAtt Named.QueueName`: "q-${x}",
		`!Sub "${AWS::Region}/${Table.Arn}/${!x}"`:          "eu-west-1/arn:aws:dynamodb:eu-west-1:1:table/s-Table/${x}",
		`!Sub ["${own}-${Stage}", {own: !Ref Count}]`:       "3-dev",
		`!Join ["/", !Ref Names]`:                           "a/b",
		`!Join ["", [a, 1, true, 0.5]]`:                     "a1true0.5",
		`!Split [",", "a,b"]`:                               []any{"a", "b"},
		`!Select [1, !Ref Names]`:                           "b",
		`!FindInMap [Sizes, !Ref Stage, Memory]`:            256,
		`!If [Small, yes, no]`:                              "yes",
		`!If [Prod, 1, !If [Either, 2, 3]]`:                 2,
		`[!Ref AWS::NoValue, {a: !Ref AWS::NoValue, b: 1}]`: []any{map[string]any{"b": 1}},
	} {
		r, err := parsed(t, sizes).Resolver(Deployment{Stack: "s", Region: "eu-west-1", Account: "1"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Resolve(parsed(t, "At: "+expression).Get("At"))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v; - is wanted, + is resolved\n%s", expression, err, diff)
		}
	}
}

func TestAParameterOfTheDeploymentReplacesTheDefault(t *testing.T) {
	r, err := parsed(t, sizes).Resolver(Deployment{Stack: "s", Parameters: map[string]string{"Stage": "prod", "Names": "c"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for name, expression := range map[string]any{"stage": map[string]any{"Ref": "Stage"}, "names": map[string]any{"Ref": "Names"}} {
		if got[name], err = r.Resolve(expression); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"Prod", "Small", "Either", ""} {
		if got[name+"?"], err = r.Holds(name); err != nil {
			t.Error(err)
		}
	}
	if got["named"], err = r.Name("Named"); err != nil {
		t.Error(err)
	}
	want := map[string]any{"stage": "prod", "names": []any{"c"}, "Prod?": true, "Small?": false, "Either?": true, "?": true, "named": "s-Named"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- is wanted, + is resolved\n%s", diff)
	}
}

func TestWhatIsNotKnownIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a function":       {`{P: {"Fn::Cidr": [a, b]}}`, "P: this reader does not know the function Fn::Cidr"},
		"a reference":      {`!Ref Nowhere`, "the reference to Nowhere cannot be resolved"},
		"an attribute":     {`!GetAtt Table.StreamArn`, "the attribute StreamArn of Table"},
		"one of nothing":   {`!GetAtt Nowhere.Arn`, "cannot be resolved"},
		"a size":           {`!FindInMap [Sizes, test, Memory]`, "there is no value at [Sizes test Memory]"},
		"an element":       {`!Select [2, !Ref Names]`, "there is no element 2"},
		"the end of a Sub": {`!Sub "${Stage"`, "a ${ is not closed"},
		"a neighbor":       {`{"Fn::Sub": a, b: c}`, "Fn::Sub has other members beside it"},
		"a condition":      {`!If [Nowhere, 1, 2]`, "there is no condition Nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := parsed(t, sizes).Resolver(Deployment{Stack: "s"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = r.Resolve(parsed(t, "At: "+c.text).Get("At")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v and should say %q", err, c.want)
			}
		})
	}
}

func TestConditionsThatCannotBeEvaluatedAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ condition, want string }{
		"a function": {`!Contains [a, b]`, "the condition Fn::Contains"},
		"a circle":   {`!Not [!Condition C]`, "C refers to itself"},
		"a value":    {`yes`, "a condition is one function, not yes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := parsed(t, "Conditions: {C: "+c.condition+"}").Resolver(Deployment{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = r.Holds("C"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v and should say %q", err, c.want)
			}
		})
	}
}

func TestParametersAreGivenAndKnown(t *testing.T) {
	given := map[string]string{"Q": "x"}
	for name, c := range map[string]struct {
		parameters, want string
		given            map[string]string
	}{
		"without a value":         {`{P: {Type: String}}`, "parameter P has no default", nil},
		"of a kind not known":     {`{P: {Type: "AWS::SSM::Parameter::Value<String>", Default: x}}`, "which this reader does not know", nil},
		"not of the template":     {`{P: {Type: String, Default: x}}`, "the template has no parameter Q", given},
		"without one, but given":  {`{Q: {Type: String}}`, "", given},
		"of the template, a list": {`{Q: {Type: "List<String>"}}`, "", given},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(t, "Parameters: "+c.parameters).Resolver(Deployment{Parameters: c.given})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v and should say %q", err, c.want)
			}
		})
	}
}
