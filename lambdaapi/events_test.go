package lambdaapi

import (
	"flag"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/proof/awsapitest"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

var update = flag.Bool("update", false, "write the answers anew")

// desk is the program whose agent the functions of these tests have.
var desk = refunddesk.Program()

func environment(t *testing.T) map[string]string {
	t.Helper()
	tools := tool.NewRegistry(nil)
	if err := binding.New(desk).Tools(tools, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return awsapitest.Environment(t, tools, "../examples/refund-desk")
}

// part assembles the handler of one function.
type part func(dormouse.Program, awsenv.Settings, io.Writer) (any, error)

// started is the handler of a function with this environment, some of it changed.
func started(t *testing.T, of part, env map[string]string, change ...string) any {
	t.Helper()
	env = maps.Clone(env)
	for i := 0; i < len(change); i += 2 {
		env[change[i]] = change[i+1]
	}
	settings, err := awsenv.Read(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	h, err := of(desk, settings, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Each event is as API Gateway, or a function URL, sends it.
func TestAnswersOfTheAPIToEvents(t *testing.T) {
	env := environment(t)
	handlers := map[string]any{
		"api": started(t, assemble, env),
		"iam": started(t, assemble, env, "DORMOUSE_AUTH", "IAM", "DORMOUSE_TENANT", "acme"),
		"url": started(t, assemble, env, "DORMOUSE_STREAM", "1"),
	}
	for _, file := range awsapitest.Events(t, "testdata/api/*.json") {
		of := "api"
		switch {
		case strings.HasPrefix(file, "testdata/api/url-"):
			of = "url"
		case strings.HasSuffix(file, "-iam.json"):
			of = "iam"
		}
		t.Run(file, func(t *testing.T) { awsapitest.Golden(t, file, handlers[of], *update) })
	}
}

func TestTheFunctionStreamsWhereItIsToldTo(t *testing.T) {
	env := environment(t)
	if _, ok := started(t, assemble, env).(awsapi.Gateway); !ok {
		t.Error("it does not answer the gateway")
	}
	if _, ok := started(t, assemble, env, "DORMOUSE_STREAM", "1").(awsapi.URL); !ok {
		t.Error("it does not stream")
	}
}

func TestAFunctionThatCannotServeDoesNotStart(t *testing.T) {
	env := environment(t)
	for name, change := range map[string][2]string{"no authorizer": {"DORMOUSE_AUTH", ""}, "an origin that is none": {"DORMOUSE_ORIGINS", "desk.example"}} {
		env := maps.Clone(env)
		env[change[0]] = change[1]
		settings, err := awsenv.Read(func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := assemble(desk, settings, io.Discard); err == nil {
			t.Errorf("%s: it starts", name)
		}
	}
}
