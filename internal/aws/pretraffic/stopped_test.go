package pretraffic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/dormouse-dev/dormouse/internal/aws/restore"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

const (
	stepName = "stack-step"
	hookName = "stack-pretraffic"
)

// fleet is the part of Lambda that lists, stops and throttles functions, as its API says it.
type fleet struct {
	reserved map[string]int // by function; nil: no reservation can be read
	table    string
}

// serves answers what is asked of the functions themselves, and refuses to invoke those that have
// no concurrency.
func (f *fleet) serves(w http.ResponseWriter, r *http.Request) bool {
	name := strings.TrimPrefix(r.URL.Path[strings.LastIndex(r.URL.Path, "/functions")+1:], "functions/")
	name, concurrency := strings.CutSuffix(name, "/concurrency")
	if _, short, is := strings.Cut(name, ":function:"); is {
		name = short
	}
	short, _, _ := strings.Cut(strings.TrimSuffix(name, "/invocations"), ":")
	n, has := f.reserved[short]
	switch {
	case concurrency && f.reserved == nil:
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
	case concurrency && r.Method == http.MethodGet && r.URL.Path[:11] == "/2019-09-30" && has:
		_, _ = fmt.Fprintf(w, `{"ReservedConcurrentExecutions":%d}`, n)
	case concurrency && r.Method == http.MethodGet && short == name:
		_, _ = io.WriteString(w, `{}`)
	case concurrency && r.Method == http.MethodPut:
		var in struct{ ReservedConcurrentExecutions int }
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		f.reserved[short] = in.ReservedConcurrentExecutions
		_, _ = io.WriteString(w, `{}`)
	case concurrency && r.Method == http.MethodDelete:
		delete(f.reserved, short)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(name, "/invocations") && has && n == 0:
		w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}`)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/functions") || strings.HasSuffix(r.URL.Path, "/functions/"):
		_, _ = fmt.Fprintf(w, `{"Functions":[{"FunctionName":%q,"Timeout":300,"Environment":{"Variables":{"DORMOUSE_STACK":"stack","DORMOUSE_TABLE":%q}}},
			{"FunctionName":%q,"Timeout":55,"Environment":{"Variables":{"DORMOUSE_STACK":"stack","DORMOUSE_TABLE":%q,"DORMOUSE_STEP_VERSION":%q}}}]}`,
			stepName, f.table, hookName, f.table, version)
	case strings.Contains(r.URL.Path, "/event-source-mappings"):
		_, _ = io.WriteString(w, `{"EventSourceMappings":[]}`)
	case strings.HasSuffix(r.URL.Path, "/configuration"):
		_, _ = fmt.Fprintf(w, `{"Environment":{"Variables":{"DORMOUSE_TABLE":%q}}}`, f.table)
	default:
		return false
	}
	return true
}

// A stack is stopped, gets its restored table by a deployment, and is started: CodeDeploy's hook
// lets the version pass, and nothing was written to a table until the start.
func TestAStoppedStackGetsItsRestoredTable(t *testing.T) {
	a := newAccount(t, "")
	a.fleet = fleet{reserved: map[string]int{}, table: "table"}
	client := lambda.New(lambda.Options{Region: "eu-central-1", BaseEndpoint: aws.String(a.env["AWS_ENDPOINT_URL"]), RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
		})})
	drill := restore.Drill{Lambda: client, Now: time.Now, Wait: func(context.Context, time.Duration) error { return nil },
		Save: func(restore.Stopped) error { return nil }, Say: func(string, ...any) {}}
	stopped, err := drill.Stop(t.Context(), "stack", nil)
	a.must(err)
	if n, has := a.reserved[stepName]; !has || n != 0 {
		t.Fatalf("the step function isn't stopped: %v", a.reserved)
	}
	if _, err := client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(version)}); err == nil {
		t.Fatal("the step function runs")
	}
	if _, has := a.reserved[hookName]; has {
		t.Fatal("CodeDeploy's hook is stopped, so the deployment is rolled back")
	}
	restored, err := a.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("restored"))
	a.must(err)
	a.fleet.table, a.env["DORMOUSE_TABLE"] = *restored.TableDescription.TableName, *restored.TableDescription.TableName
	a.test("Succeeded")
	if len(a.invoked) != 0 || !strings.Contains(a.out.String(), "passes without a test") {
		t.Errorf("invoked %v; the log:\n%s", a.invoked, a.out.String())
	}
	for _, table := range []string{"table", a.fleet.table} {
		if found, err := a.double.DynamoDB().Scan(t.Context(), &dynamodb.ScanInput{TableName: &table}); err != nil || len(found.Items) > 0 {
			t.Errorf("%s has %v, %v", table, found, err)
		}
	}
	a.must(drill.Start(t.Context(), stopped, a.fleet.table))
	a.reported, a.step = nil, a.good()
	a.test("Succeeded")
	if len(a.invoked) != 2 {
		t.Errorf("after the start, the version performed %d steps", len(a.invoked))
	}
}

// A concurrency that can't be read, or that others share, hides no broken version.
func TestOnlyAStoppedStackPassesWithoutATest(t *testing.T) {
	for name, reserved := range map[string]map[string]int{"not allowed to read": nil, "none": {}, "one": {stepName: 1}, "the hook has none": {hookName: 0}} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t, "")
			a.fleet = fleet{reserved: reserved, table: "table"}
			a.step = func([]byte) ([]byte, bool) { return nil, true }
			a.test("Failed")
		})
	}
}
