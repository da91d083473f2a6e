package lambdaapi

import (
	"io"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsdecision"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/proof/awsapitest"
)

// decisions assembles the function of package lambdadecision, which has the rest of the API.
func decisions(p dormouse.Program, s awsenv.Settings, out io.Writer) (any, error) {
	return awsdecision.Open(s, binding.New(p).Lambda, out)
}

// Each event is as API Gateway sends it.
func TestAnswersOfDecisionsToEvents(t *testing.T) {
	env := environment(t)
	byJWT, byIAM := started(t, decisions, env), started(t, decisions, env, "DORMOUSE_AUTH", "IAM", "DORMOUSE_TENANT", "acme")
	for _, file := range awsapitest.Events(t, "testdata/decision/*.json") {
		handler := byJWT
		if strings.HasSuffix(file, "-iam.json") {
			handler = byIAM
		}
		t.Run(file, func(t *testing.T) { awsapitest.Golden(t, file, handler, *update) })
	}
}

func TestAFunctionForDecisionsThatCannotServeDoesNotStart(t *testing.T) {
	settings, _ := awsenv.Read(func(string) string { return "" })
	if _, err := decisions(desk, settings, io.Discard); err == nil {
		t.Error("it starts without an authorizer")
	}
}
