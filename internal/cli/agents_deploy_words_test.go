package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// another creates a table that is not a stack's: it has the keys, and none of the indexes.
func another(t *testing.T, name string) {
	t.Helper()
	client := dynamodb.New(dynamodb.Options{Region: "eu-central-1", BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	schema := dynamo.Schema(name)
	schema.GlobalSecondaryIndexes, schema.AttributeDefinitions = nil, schema.AttributeDefinitions[:2]
	if _, err := client.CreateTable(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
}

// refusing is an environment whose DynamoDB answers everything with this code.
func refusing(t *testing.T, status int, code, message string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazon.coral.service#" + code, "message": message})
	}))
	t.Cleanup(web.Close)
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": web.URL})
}

func TestWhatAWSRefusesADeploymentWithIsToldInWordsForPeople(t *testing.T) {
	dir := agentsDir(t, map[string]string{"a": speaker})
	for _, tt := range []struct {
		code, message string
		exit          int
		kind, says    string
	}{
		{"ThrottlingException", "Rate exceeded", cmdline.ExitFailed, "throttled", "the table stack in eu-central-1 is throttled; run the same command again"},
		{"ProvisionedThroughputExceededException", "too much", cmdline.ExitFailed, "throttled", "is throttled"},
		{"ValidationException", "the index: list", cmdline.ExitUsage, "no_table", "is not the table of a stack"},
		{"InvalidSignatureException", "Signature expired: 20260301T120000Z is now earlier than 20260301T121500Z", cmdline.ExitFailed, "wrong_clock", "the clock of this machine is wrong"},
		{"InvalidSignatureException", "The request signature we calculated does not match", cmdline.ExitUsage, "no_credentials", "the secret may not belong to the key id"},
		{"UnrecognizedClientException", "invalid", cmdline.ExitUsage, "no_credentials", "get new ones, and look at AWS_ACCESS_KEY_ID in the environment"},
		{"LimitExceededException", "so many", cmdline.ExitFailed, "aws", "AWS did not write agents in table stack of eu-central-1; run the same command again later (AWS says: LimitExceededException: so many)"},
	} {
		t.Run(tt.code, func(t *testing.T) {
			refusing(t, http.StatusBadRequest, tt.code, tt.message)
			out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack", "--json")
			out.wantExit(t, tt.exit)
			contains(t, out.stderr, `"code":"`+tt.kind+`"`, tt.says)
			for _, internal := range []string{"engine:", "dynamo:", "operation error", "store did not answer"} {
				if strings.Contains(out.stderr, internal) {
					t.Errorf("%q is said to people: %s", internal, out.stderr)
				}
			}
		})
	}
}

func TestHowFarADeploymentCameIsSaid(t *testing.T) {
	double, store := onAWS(t)
	dir := agentsDir(t, map[string]string{"a": speaker, "b": speaker})
	moves := 0
	double.Fail(func(c awsdouble.Call) awsdouble.Fault {
		if c.Operation == "UpdateItem" {
			if moves++; moves > 1 {
				return awsdouble.Throttle()
			}
		}
		return awsdouble.Fault{}
	})
	out := dormouse(t, nil, "agents", "deploy", dir, "--table", "stack")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "1 of 2 agents were deployed, b failed; run the same command again: the table stack in eu-central-1 is throttled")
	if there := current(t, store, "default"); len(there) != 1 {
		t.Errorf("deployed %v", there)
	}
}

func TestOneFileIsNoDirectoryOfAllAgents(t *testing.T) {
	_, store := onAWS(t)
	deployed(t, agentsDir(t, map[string]string{"a": speaker, "b": speaker}))
	file := filepath.Join(agentsDir(t, map[string]string{"c": speaker}), "c.yaml")
	for _, args := range [][]string{{file}, {file, "--dry-run"}} {
		out := dormouse(t, nil, append([]string{"agents", "deploy", "--table", "stack"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "is a single file", "pass --keep to keep them, or pass the directory")
	}
	if there := current(t, store, "default"); len(there) != 2 {
		t.Errorf("deployed %v", there)
	}
	wantChanges(t, deployed(t, file, "--keep"), `{"a":"same","b":"same","c":"new"}`)
}

// TestDocsKeepTheOtherAgents: what pages say of agents that are made for a test takes no others off
// a stack.
func TestDocsKeepTheOtherAgents(t *testing.T) {
	for page, dir := range map[string]string{"docs/contributing/replay.md": "played", "docs/contributing/torture.md": "tortured"} {
		contains(t, strings.Join(strings.Fields(read(t, page)), " "), "`dormouse agents deploy "+dir+" --keep --table NAME`")
	}
}
