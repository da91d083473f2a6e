package main

import (
	"flag"
	"io"
	"maps"
	"strings"
	"testing"

	refunddesk "github.com/dormouse-dev/dormouse/examples/refund-desk"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/proof/awsapitest"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

var update = flag.Bool("update", false, "write the answers anew")

// started is the handler of a function with this environment, some of it changed.
func started(t *testing.T, env map[string]string, change ...string) awsapi.Gateway {
	t.Helper()
	env = maps.Clone(env)
	for i := 0; i < len(change); i += 2 {
		env[change[i]] = change[i+1]
	}
	settings, err := awsenv.Read(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHandler(settings, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Each event is as API Gateway sends it.
func TestAnswersToEvents(t *testing.T) {
	tools := tool.NewRegistry(nil)
	if err := refunddesk.Register(tools, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	env := awsapitest.Environment(t, tools, "../../examples/refund-desk")
	byJWT, byIAM := started(t, env), started(t, env, "DORMOUSE_AUTH", "IAM", "DORMOUSE_TENANT", "acme")
	for _, file := range awsapitest.Events(t, "testdata/*.json") {
		handler := byJWT
		if strings.HasSuffix(file, "-iam.json") {
			handler = byIAM
		}
		t.Run(file, func(t *testing.T) { awsapitest.Golden(t, file, handler, *update) })
	}
}

func TestAFunctionThatCannotServeDoesNotStart(t *testing.T) {
	settings, _ := awsenv.Read(func(string) string { return "" })
	if _, err := newHandler(settings, io.Discard); err == nil {
		t.Error("it starts without an authorizer")
	}
}
