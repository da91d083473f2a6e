package stack_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// needed is the least that every function has.
func needed() map[string]string {
	return map[string]string{"DORMOUSE_TABLE": "table", "DORMOUSE_WAKE_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/wake",
		"DORMOUSE_NOTIFY_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/notify",
		"AWS_REGION":                "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
}

func with(more map[string]string) func(string) string {
	all := needed()
	maps.Copy(all, more)
	return func(name string) string { return all[name] }
}

func TestTheLeastThatAFunctionNeeds(t *testing.T) {
	s, err := stack.Read(with(nil))
	want := stack.Settings{Table: "table", Shards: 16, WakeQueue: "https://sqs.eu-central-1.amazonaws.com/123456789012/wake",
		NotifyQueue: "https://sqs.eu-central-1.amazonaws.com/123456789012/notify", Stack: "dormouse", Version: "devel",
		Function: "dormouse", Region: "eu-central-1", Credentials: stack.Credentials{KeyID: "AKIAEXAMPLE", Secret: "secret"}}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(access.PublicURL{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEverythingThatCanBeSet(t *testing.T) {
	s, err := stack.Read(with(map[string]string{
		"DORMOUSE_INTAKE_QUEUE_URL": "https://h/intake", "DORMOUSE_INTAKE_DEAD_QUEUE_URL": "https://h/dead", "DORMOUSE_INTAKE_TENANT": "acme",
		"DORMOUSE_INTAKE_QUEUE_ARN": "arn:aws:sqs:eu-central-1:123456789012:intake", "DORMOUSE_INTAKE_AGENT": "refund-desk",
		"DORMOUSE_AUTH": "JWT", "DORMOUSE_TENANT_CLAIM": "org", "DORMOUSE_ROLES_CLAIM": "roles", "DORMOUSE_STREAM_URL": "https://h/stream",
		"DORMOUSE_STREAM": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128", "DORMOUSE_ORIGINS": "https://a.example, https://b.example,", "DORMOUSE_STACK": "prod", "DORMOUSE_VERSION": "1.2.3",
		"AWS_LAMBDA_FUNCTION_NAME": "prod-step", "AWS_SESSION_TOKEN": "session", "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:2", "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:3",
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://127.0.0.1:4", "AWS_ENDPOINT_URL_LAMBDA": "http://127.0.0.1:5", "AWS_ENDPOINT_URL_SSM": "http://127.0.0.1:6",
		"AWS_ENDPOINT_URL_EVENTBRIDGE": "http://127.0.0.1:7", "AWS_ENDPOINT_URL_SNS": "http://127.0.0.1:8", "AWS_ENDPOINT_URL_SESV2": "http://127.0.0.1:9",
		"DORMOUSE_NOTICE_MAIL_FROM": "desk@example.com", "DORMOUSE_LIVE_TEXT": "300ms", "DORMOUSE_RATES": "starts=0.5 decisions=20 streams=0 held=100 api=80",
		"DORMOUSE_PUBLIC_URL": "https://desk.example.com", "DORMOUSE_EVENT_BUS": "ops", "DORMOUSE_EVENT_SOURCE": "acme.runs", "DORMOUSE_NOTICE_TOPIC_ARN": "arn:aws:sns:eu-central-1:123456789012:runs", "DORMOUSE_NOTICE_KINDS": "done, failed,done",
		"DORMOUSE_OIDC_ISSUER": "https://accounts.example.com/t", "DORMOUSE_OIDC_CLIENT_ID": "dormouse",
		"DORMOUSE_SECRETS_PATH": "/dormouse/prod", "AWS_LAMBDA_LOG_LEVEL": "DEBUG", "DORMOUSE_PRIVATE_HOSTS": "10.0.0.0/8, desk:9000",
		"DORMOUSE_OIDC_ROLES": "claim:groups=a=b=decide, read", "DORMOUSE_PRODUCT_NAME": "Refund Desk", "DORMOUSE_TENANT_NAMES": "acme=Acme Ltd; zoo=Zoo = Co;",
		"DORMOUSE_UNDO_SECONDS": "8",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if want := (stack.Intake{URL: "https://h/intake", ARN: "arn:aws:sqs:eu-central-1:123456789012:intake", DeadURL: "https://h/dead", Tenant: "acme",
		Agent: "refund-desk"}); s.Intake != want {
		t.Errorf("intake %+v", s.Intake)
	}
	if diff := cmp.Diff([]string{"10.0.0.0/8", "desk:9000"}, s.PrivateHosts); diff != "" || s.LogLevel != slog.LevelDebug {
		t.Errorf("log level %s, hosts (-want +got):\n%s", s.LogLevel, diff)
	}
	access := stack.Access{Auth: stack.JWT, TenantClaim: "org", RolesClaim: "roles", StreamURL: "https://h/stream", Stream: true,
		Origins: []string{"https://a.example", "https://b.example"}, Names: stack.Names{Product: "Refund Desk", Tenants: map[string]string{"acme": "Acme Ltd", "zoo": "Zoo = Co"}},
		Undo: 8 * time.Second}
	if diff := cmp.Diff(access, s.Access); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
	endpoints := stack.Endpoints{All: "http://127.0.0.1:1", DynamoDB: "http://127.0.0.1:2", SQS: "http://127.0.0.1:3", Bedrock: "http://127.0.0.1:4",
		Lambda: "http://127.0.0.1:5", SSM: "http://127.0.0.1:6", EventBridge: "http://127.0.0.1:7", SNS: "http://127.0.0.1:8", SES: "http://127.0.0.1:9"}
	if in := s.SignIn; in.Issuer != "https://accounts.example.com/t" || in.ClientID != "dormouse" || len(in.Roles) != 1 || in.Roles[0].Entry != "claim:groups=a=b" {
		t.Errorf("people sign in at %+v", s.SignIn)
	}
	rates := map[pace.Kind]pace.Rate{pace.Starts: {Every: 2 * time.Second, Burst: 5}, pace.Decisions: {Every: 50 * time.Millisecond, Burst: 200}, pace.Streams: {},
		pace.HeldByAll: {Every: 50 * time.Millisecond, Burst: 200}, pace.Held: {Every: 200 * time.Millisecond, Burst: 50}}
	if diff := cmp.Diff(rates, s.Rates); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	if s.Public.String() != "https://desk.example.com" {
		t.Errorf("people reach it at %s", s.Public)
	}
	sinks := stack.Sinks{EventBus: "ops", Source: "acme.runs", Topic: "arn:aws:sns:eu-central-1:123456789012:runs", On: notice.Set{notice.Done, notice.Failed}}
	if diff := cmp.Diff(sinks, s.Sinks); diff != "" {
		t.Errorf("sinks (-want +got):\n%s", diff)
	}
	if s.Endpoints != endpoints || s.MailFrom != "desk@example.com" || s.LiveText != 300*time.Millisecond || s.SecretsPath != "/dormouse/prod/" || s.Credentials.Session != "session" ||
		s.Stack != "prod" || s.Version != "1.2.3" || s.Function != "prod-step" || s.TraceDaemon != "127.0.0.1:2000" || s.Memory != 128<<20 {
		t.Errorf("settings %+v", s)
	}
}

func TestEveryMistakeIsToldAtOnceWithWhatToWrite(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   map[string]string
		wants []string
	}{
		{"nothing is set", map[string]string{"DORMOUSE_TABLE": "", "DORMOUSE_WAKE_QUEUE_URL": "", "DORMOUSE_NOTIFY_QUEUE_URL": "", "AWS_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
			[]string{"DORMOUSE_TABLE is missing; set it to the name", "DORMOUSE_WAKE_QUEUE_URL is missing", "DORMOUSE_NOTIFY_QUEUE_URL is missing", "AWS_REGION is missing", "AWS_ACCESS_KEY_ID is missing",
				"AWS_SECRET_ACCESS_KEY is missing"}},
		{"what is no URL", map[string]string{"DORMOUSE_WAKE_QUEUE_URL": "wake", "AWS_ENDPOINT_URL": "localhost:8000", "DORMOUSE_STREAM_URL": "ftp://h/x"},
			[]string{`DORMOUSE_WAKE_QUEUE_URL is "wake"`, `AWS_ENDPOINT_URL is "localhost:8000"`, `DORMOUSE_STREAM_URL is "ftp://h/x"`}},
		{"roles of accounts that are none", map[string]string{"DORMOUSE_OIDC_ROLES": "role:decide=admin; claim:groups=a=boss; claim:email=decide; claim:groups=a="},
			[]string{`"role:decide=admin" is not a rule`, `"boss" is not a role`, `"claim:email=decide" is not a rule`, `"claim:groups=a=" gives no role`}},
		{"an address that is none", map[string]string{"DORMOUSE_PUBLIC_URL": "desk"}, []string{`DORMOUSE_PUBLIC_URL: "desk" is not a URL`}},
		{"sinks that are none", map[string]string{"DORMOUSE_NOTICE_TOPIC_ARN": "runs", "DORMOUSE_NOTICE_KINDS": "done,paused"},
			[]string{`DORMOUSE_NOTICE_TOPIC_ARN is "runs", which is not the ARN of a topic`, `DORMOUSE_NOTICE_KINDS contains "paused"; use some of [suspended`}},
		{"a provider that does not know the stack", map[string]string{"DORMOUSE_OIDC_ISSUER": "accounts.example.com"},
			[]string{`DORMOUSE_OIDC_ISSUER (the stack's parameter SignInIssuer): "accounts.example.com" is not an address`, "set the stack's parameter SignInClientId", "DORMOUSE_PUBLIC_URL is missing"}},
		{"a client of no provider", map[string]string{"DORMOUSE_OIDC_CLIENT_ID": "dormouse", "DORMOUSE_PUBLIC_URL": "https://desk.example.com"},
			[]string{"set the stack's parameter SignInIssuer"}},
		{"a sender with a name", map[string]string{"DORMOUSE_NOTICE_MAIL_FROM": "Desk <desk@example.com>"}, []string{`DORMOUSE_NOTICE_MAIL_FROM is "Desk <desk@example.com>", which is not a mail address`}},
		{"a sender without a domain", map[string]string{"DORMOUSE_NOTICE_MAIL_FROM": "desk"}, []string{`DORMOUSE_NOTICE_MAIL_FROM is "desk", which is not a mail address`}},
		{"a hold that is too long", map[string]string{"DORMOUSE_UNDO_SECONDS": "61"}, []string{`DORMOUSE_UNDO_SECONDS is "61"; set it to a number of seconds from 0 to 60`}},
		{"a hold with a unit", map[string]string{"DORMOUSE_UNDO_SECONDS": "8s"}, []string{`DORMOUSE_UNDO_SECONDS is "8s"`}},
		{"live text at no pace", map[string]string{"DORMOUSE_LIVE_TEXT": "On"}, []string{`DORMOUSE_LIVE_TEXT is "On"; set it to Off, or to a duration from 100ms to 5s`}},
		{"live text that never rests", map[string]string{"DORMOUSE_LIVE_TEXT": "1ms"}, []string{`DORMOUSE_LIVE_TEXT is "1ms"`}},
		{"rates of nothing", map[string]string{"DORMOUSE_RATES": "starts=-1 reads=5 decisions streams=NaN"},
			[]string{`DORMOUSE_RATES has "starts=-1"; write KIND=NUMBER`, `DORMOUSE_RATES has "reads=5"`, `DORMOUSE_RATES has "decisions"`, `DORMOUSE_RATES has "streams=NaN"`}},
		{"half an intake queue", map[string]string{"DORMOUSE_INTAKE_QUEUE_ARN": "intake"},
			[]string{`DORMOUSE_INTAKE_QUEUE_ARN is "intake", which is not the ARN`, "DORMOUSE_INTAKE_QUEUE_URL is missing", "DORMOUSE_INTAKE_DEAD_QUEUE_URL is missing",
				"DORMOUSE_INTAKE_TENANT is missing"}},
		{"tokens whose claims nobody knows", map[string]string{"DORMOUSE_AUTH": "JWT"}, []string{"DORMOUSE_TENANT_CLAIM is missing", "DORMOUSE_ROLES_CLAIM is missing"}},
		{"parameters of the whole account", map[string]string{"DORMOUSE_SECRETS_PATH": "/"}, []string{`DORMOUSE_SECRETS_PATH is "/", which does not name parameters`}},
		{"a path that is none", map[string]string{"DORMOUSE_SECRETS_PATH": "dormouse/prod/"}, []string{`DORMOUSE_SECRETS_PATH is "dormouse/prod/"`}},
		{"callers of no tenant", map[string]string{"DORMOUSE_AUTH": "IAM"}, []string{"DORMOUSE_TENANT is missing"}},
		{"roles of IAM that say nothing", map[string]string{"DORMOUSE_AUTH": "IAM", "DORMOUSE_TENANT": "acme", "DORMOUSE_IAM_ROLES": "*=admin;arn:aws:iam::123456789012:user/ann=boss"},
			[]string{`DORMOUSE_IAM_ROLES: "*" is not the ARN`, `"boss" is not a role`}},
		{"names of no tenants", map[string]string{"DORMOUSE_TENANT_NAMES": "Acme=Acme Ltd;zoo"}, []string{`DORMOUSE_TENANT_NAMES: "Acme" is not a valid tenant`, `"zoo" has no tenant`}},
		{"another authorizer", map[string]string{"DORMOUSE_AUTH": "none", "DORMOUSE_STREAM": "yes"}, []string{`DORMOUSE_AUTH is "none"; set it to JWT or IAM`, `DORMOUSE_STREAM is "yes"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := stack.Read(with(tt.set))
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range tt.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(tt.wants) {
				t.Errorf("%d mistakes are told, want %d:\n%v", got, len(tt.wants), err)
			}
		})
	}
}

// The clients must send to the endpoints of the environment, the service's own before that of all,
// signed with its credentials.
func TestClientsReachTheEndpointsOfTheEnvironment(t *testing.T) {
	double := awsdouble.New(awsdouble.Options{})
	server := httptest.NewServer(double)
	defer server.Close()
	for _, set := range []map[string]string{
		{"AWS_ENDPOINT_URL": server.URL},
		{"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_DYNAMODB": server.URL, "AWS_ENDPOINT_URL_SQS": server.URL},
	} {
		s, err := stack.Read(with(set))
		if err != nil {
			t.Fatal(err)
		}
		double.ResetCounts()
		if _, err := s.DynamoDB().ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
			t.Error(err)
		}
		if _, err := s.SQS().ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil {
			t.Error(err)
		}
		if requests := double.Requests(); requests["ListTables"] != 1 || requests["ListQueues"] != 1 {
			t.Errorf("%v: requests %v", set, requests)
		}
	}
}

func TestLinesOfTheLogHaveOneSetOfKeys(t *testing.T) {
	var out bytes.Buffer
	log := stack.Settings{Function: "prod-step", Version: "1"}.Logger(&out)
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "req-1"})
	stack.Requested(ctx, log).With("run", "run_1").Info("hello", "thread", "thr_1", "message", "m1", slog.Group("inside", "run", "other"))
	log.Debug("not written")
	before, after, _ := strings.Cut(out.String(), `"level":`)
	if !strings.HasPrefix(before, `{"timestamp":"`) {
		t.Errorf("the line begins with %s", before)
	}
	want := `"INFO","message":"hello","function":"prod-step","version":"1","request_id":"req-1","run_id":"run_1","thread_id":"thr_1","message_id":"m1","inside":{"run":"other"}}` + "\n"
	if after != want {
		t.Errorf("got  %swant %s", after, want)
	}
	if stack.Requested(t.Context(), log) != log {
		t.Error("without an invocation there is another logger")
	}
}

func TestTimeIsKeptForTheEndOfAnInvocation(t *testing.T) {
	if ctx, cancel := stack.InTime(t.Context()); true {
		defer cancel()
		if _, ok := ctx.Deadline(); ok {
			t.Error("there is a deadline where there was none")
		}
	}
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	short, cancel := stack.InTime(long)
	defer cancel()
	before, _ := long.Deadline()
	after, ok := short.Deadline()
	if kept := before.Sub(after); !ok || kept < time.Second || kept > 10*time.Second {
		t.Errorf("%s is kept", kept)
	}
}
