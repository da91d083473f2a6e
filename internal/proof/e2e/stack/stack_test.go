package stack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// small is what the SAM translator made of testdata/small.yaml.
func small(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/small.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var options = Options{Name: "try", Region: "us-east-1", Account: "123456789012"}

func resolved(t *testing.T, cloud string, o Options) *Stack {
	t.Helper()
	s, err := Resolve([]byte(cloud), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: - is wanted, + is read\n%s", what, diff)
	}
}

func TestTheTableIsReadWithItsIndexes(t *testing.T) {
	same(t, "table", resolved(t, small(t), options).Table, Table{Name: "try-Table", Attributes: map[string]string{"pk": "S", "sk": "S", "dsh": "S", "due": "N"},
		Key: Key{"pk", "sk"}, Indexes: []Index{{"due", Key{"dsh", "due"}, "KEYS_ONLY"}}, TTL: "ttl"})
}

func TestQueuesKnowTheirDeadLetters(t *testing.T) {
	s := resolved(t, small(t), options)
	dead := "arn:aws:sqs:us-east-1:123456789012:try-WakeDeadQueue"
	same(t, "queue", s.Queues["WakeQueue"], Queue{Name: "try-WakeQueue", URL: "https://sqs.us-east-1.amazonaws.com/123456789012/try-WakeQueue",
		ARN: "arn:aws:sqs:us-east-1:123456789012:try-WakeQueue", DeadARN: dead,
		Attributes: map[string]string{"VisibilityTimeout": "180", "RedrivePolicy": `{"deadLetterTargetArn":"` + dead + `","maxReceiveCount":5}`}})
	same(t, "dead letters", s.Queues["WakeDeadQueue"].Attributes, map[string]string{"MessageRetentionPeriod": "1209600"})
}

func TestAFunctionHasTheEnvironmentThatItsReferencesLeadTo(t *testing.T) {
	f := resolved(t, small(t), options).Functions["StepFunction"]
	same(t, "environment", f.Environment, map[string]string{"DORMOUSE_TABLE": "try-Table", "DORMOUSE_STACK": "try", "DORMOUSE_DEBUG": "1",
		"DORMOUSE_WAKE_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/try-WakeQueue", "DORMOUSE_ORIGINS": "https://a.example,https://b.example",
		"DORMOUSE_STREAM_URL": "https://streamfunctionurl.lambda-url.us-east-1.on.aws/", "DORMOUSE_MARK": "try/try-Table/${literal}"})
	same(t, "timeout", f.Timeout, 30*time.Second)
	same(t, "memory", f.Memory, 256)
	same(t, "code", f.Code, "functions/step")
}

func TestConditionsAndMappingsFollowParameters(t *testing.T) {
	o := options
	o.Parameters = map[string]string{"Stage": "prod"}
	s := resolved(t, small(t), o)
	if _, there := s.Functions["StepFunction"].Environment["DORMOUSE_DEBUG"]; there {
		t.Error("a variable without a value is there")
	}
	same(t, "memory", s.Functions["StepFunction"].Memory, 1024)
	same(t, "routes", s.API.Routes[1], Route{Method: "GET", Path: "/prod", Function: "ApiFunction", Authorizer: IAM, Timeout: 30 * time.Second})
}

func TestWhatCallsFunctionsIsRead(t *testing.T) {
	s := resolved(t, small(t), options)
	same(t, "mappings", s.Mappings, []Mapping{{ID: "StepFunctionWake", Queue: "WakeQueue", Function: "StepFunction", BatchSize: 1, ReportItemFailures: true,
		MaximumConcurrency: 8, Enabled: true}})
	same(t, "schedules", s.Schedules, []Schedule{{ID: "SweepFunctionMinute", Function: "SweepFunction", Every: time.Minute}})
	same(t, "urls", s.URLs, []FunctionURL{{ID: "StreamFunctionUrl", Function: "StreamFunction", Stream: true,
		URL: "https://streamfunctionurl.lambda-url.us-east-1.on.aws/"}})
	same(t, "routes", s.API.Routes, []Route{{Method: "GET", Path: "/healthz", Function: "ApiFunction", Timeout: 30 * time.Second},
		{Method: "POST", Path: "/v1/runs", Function: "ApiFunction", Authorizer: "try-Jwt", Timeout: 30 * time.Second}})
	same(t, "authorizers", s.API.Authorizers, map[string]Authorizer{"try-Jwt": {Issuer: "https://issuer.example", Audience: []string{"dormouse"}}})
	same(t, "cors", s.API.CORS, &CORS{AllowOrigins: []string{"https://a.example", "https://b.example"}, MaxAge: 600})
}

func TestWhatIsNotKnownIsNamed(t *testing.T) {
	table := `"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t"}}`
	for name, c := range map[string]struct{ cloud, want string }{
		"a function":     {`{"Resources": {` + table + `, "X": {"Type": "A", "Properties": {"P": {"Fn::Cidr": ["a", "b"]}}}}}`, "X: P: this reader does not know the function Fn::Cidr"},
		"no table":       {`{"Resources": {}}`, "no table"},
		"a second table": {`{"Resources": {` + table + `, "U": {"Type": "AWS::DynamoDB::Table", "Properties": {}}}}`, "a second table"},
		"a FIFO queue":   {`{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": true}}}}`, "a FIFO queue"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Resolve([]byte(c.cloud), options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v and should say %q", err, c.want)
			}
		})
	}
}

// python is that of the SAM translator, if .ci/servers has installed it. It is not installed here:
// tests need Go alone.
func python(t *testing.T) string {
	tools := os.Getenv("DORMOUSE_TOOLS")
	if tools == "" {
		home, _ := os.UserHomeDir()
		tools = filepath.Join(home, ".cache", "dormouse-tools")
	}
	found, _ := filepath.Glob(filepath.Join(tools, "translator-*", "bin", "python"))
	if len(found) == 0 {
		t.Skip("the SAM translator is not installed; .ci/servers translator installs it")
	}
	return found[len(found)-1]
}

func TestTheTranslatorStillMakesWhatIsTested(t *testing.T) {
	o := options
	o.Python = python(t)
	s, err := Read(t.Context(), "testdata/small.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stack", s, resolved(t, small(t), options))
}

func TestTheRealTemplateIsReadForEitherKindOfCallers(t *testing.T) {
	jwt := map[string]string{"Auth": "JWT", "JwtIssuer": "https://issuer.example", "JwtAudience": "dormouse"}
	console := map[string]string{"Auth": "IAM", "SignInIssuer": "https://issuer.example", "SignInClientId": "desk", "SecretsPath": "/desk/"}
	for _, c := range []struct {
		name            string
		parameters      map[string]string
		functions, urls int
	}{
		{"JWT", jwt, 9, 1}, {"IAM", map[string]string{"Auth": "IAM"}, 9, 1}, {"a console", console, 10, 1}, {"no streams", map[string]string{"Streams": "Off"}, 8, 0},
	} {
		o := options
		o.Python = python(t)
		o.Parameters = c.parameters
		s, err := Read(t.Context(), "../../../../template.yaml", o)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Functions) != c.functions || len(s.Mappings) != 3 || len(s.URLs) != c.urls || len(s.Schedules) != 1 || len(s.API.Routes) < 10 || len(s.Table.Indexes) != 3 {
			t.Errorf("%s: %d functions, %d mappings, %d URLs, %d schedules, %d routes, %d indexes", c.name, len(s.Functions), len(s.Mappings), len(s.URLs),
				len(s.Schedules), len(s.API.Routes), len(s.Table.Indexes))
		}
	}
}

func TestAGivenTableIsNotMade(t *testing.T) {
	o := options
	o.Python = python(t)
	o.Parameters = map[string]string{"ExistingTable": "restored"}
	s, err := Read(t.Context(), "../../../../template.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "table", s.Table, Table{Name: "restored", Given: true})
	for id, f := range s.Functions {
		same(t, id, f.Environment["DORMOUSE_TABLE"], "restored")
	}
}

func TestATemplateThatSAMRefusesIsSaidWithItsReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "template.yaml")
	text := "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties: {Runtime: provided.al2023}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options
	o.Python = python(t)
	_, err := Read(t.Context(), file, o)
	if exit, is := errors.AsType[*exec.ExitError](err); err == nil || is || !strings.Contains(err.Error(), "[F]") {
		t.Errorf("the error is %v (%v) and should name F", err, exit)
	}
}
