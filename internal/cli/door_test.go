package cli_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// gatewayAnswer is one of a gateway's own: no problem document.
func gatewayAnswer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestTheRefusalOfAGatewaySaysWhatToDo(t *testing.T) {
	signed := []string{"--aws-iam"}
	token := map[string]string{"DORMOUSE_TOKEN": jwt}
	const forbidden = `{"message":"Forbidden"}`
	for name, tt := range map[string]struct {
		status int
		body   string
		env    map[string]string
		args   []string
		says   []string
	}{
		"no credentials":           {403, forbidden, nil, nil, []string{"HTTP 403: Forbidden; ", "add --aws-iam", "DORMOUSE_TOKEN"}},
		"no credentials nor words": {403, "", nil, nil, []string{"HTTP 403: Forbidden; ", "add --aws-iam"}},
		"a token for IAM":          {403, forbidden, token, nil, []string{"doesn't accept the token", "add --aws-iam"}},
		"other credentials":        {403, `{"message":"User: x is not authorized"}`, nil, signed, []string{"HTTP 403: User: x is not authorized; the AWS credentials have no access", "AWS_ACCESS_KEY_ID in the environment", "signed for us-east-1", "execute-api:Invoke"}},
		"expired credentials":      {403, `{"message":"The security token included in the request is expired"}`, nil, signed, []string{"the AWS credentials have expired; get new ones"}},
		"a clock that is late":     {403, `{"message":"Signature expired: 20260301T120000Z is now earlier than 20260301T121500Z"}`, nil, signed, []string{"the clock of this machine is wrong"}},
		"a clock that is early":    {403, `{"message":"Signature not yet current: 20260301T120000Z"}`, nil, signed, []string{"the clock of this machine is wrong"}},
		"a token of no use":        {401, `{"message":"Unauthorized"}`, token, nil, []string{"HTTP 401: Unauthorized; the token has expired, or has another issuer"}},
		"no token":                 {401, `{"message":"Unauthorized"}`, nil, nil, []string{"set DORMOUSE_TOKEN", "from the issuer"}},
		"signatures for tokens":    {401, `{"message":"Unauthorized"}`, nil, signed, []string{"doesn't accept AWS signatures"}},
		"another path":             {404, `{"message":"Not Found"}`, nil, nil, []string{"HTTP 404: Not Found; http://127.0.0.1:", "has no such path; check the server URL"}},
		"too many":                 {429, `{"message":"Too Many Requests"}`, nil, nil, []string{"HTTP 429: Too Many Requests; ", "try again in a moment"}},
		"a lost function":          {500, `{"message":"Internal Server Error"}`, nil, nil, []string{"HTTP 500: Internal Server Error; ", "may or may not have been executed; try again"}},
		"a late function":          {504, `{"message":"Endpoint request timed out"}`, nil, nil, []string{"HTTP 504: Endpoint request timed out; ", "try again"}},
		"a page":                   {503, "<html>", nil, nil, []string{"HTTP 503: Service Unavailable; ", "try again"}},
		"anything else":            {413, "", nil, nil, []string{"HTTP 413: Request Entity Too Large; the response is not from a Dormouse server"}},
		"an evil tongue":           {403, `{"message":"a\u001b[2J\u202e\nb"}`, nil, nil, []string{`HTTP 403: a\x1b[2J\u202e b; `}},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hushhush", "AWS_REGION": "us-east-1"})
			s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": gatewayAnswer(tt.status, tt.body)})
			out := dormouseWith(t, s, "", tt.env, append([]string{"runs"}, tt.args...)...)
			out.wantExit(t, cmdline.ExitFailed)
			contains(t, out.stderr, tt.says...)
			if strings.Count(out.stderr, "\n") != 1 || strings.Contains(out.stderr, "tokens add") || strings.Contains(out.stderr, "hushhush") || strings.Contains(out.stderr, jwt) {
				t.Errorf("it says %q", out.stderr)
			}
		})
	}
}

func TestWhomNobodyAdmitsIsToldWhoMendsThat(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": problem(403, "not_admitted", "the token has no claim")})
	out := dormouse(t, s, "runs")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, `the token has no claim; ask the operator of the stack`, `docs/guides/deploy-on-aws.md, "Authentication"`)
	contains(t, read(t, "docs/guides/deploy-on-aws.md"), "\n## Authentication\n")
}

func TestATokenAndSignaturesExcludeEachOther(t *testing.T) {
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"})
	file := filepath.Join(t.TempDir(), "x.token")
	if err := os.WriteFile(file, []byte(goodToken), 0o600); err != nil {
		t.Fatal(err)
	}
	token, signs := map[string]string{"DORMOUSE_TOKEN": jwt}, map[string]string{"DORMOUSE_AWS_IAM": "1"}
	both := map[string]string{"DORMOUSE_TOKEN": jwt, "DORMOUSE_AWS_IAM": "1"}
	for name, tt := range map[string]struct {
		env   map[string]string
		args  []string
		names []string // what the refusal names; none if a request is sent
		sent  string   // how its authorization begins
	}{
		"two variables":                   {both, nil, []string{"DORMOUSE_TOKEN ", "DORMOUSE_AWS_IAM=1 "}, ""},
		"a flag and the token's variable": {token, []string{"--aws-iam"}, []string{"DORMOUSE_TOKEN ", "--aws-iam "}, ""},
		"two flags":                       {nil, []string{"--aws-iam", "--token-file", file}, []string{"--token-file ", "--aws-iam "}, ""},
		"a file before the variable":      {signs, []string{"--token-file", file}, nil, "Bearer " + goodToken},
		"a file before two variables":     {both, []string{"--token-file", file}, nil, "Bearer " + goodToken},
		"a no before the variable":        {both, []string{"--aws-iam=false"}, nil, "Bearer " + jwt},
		"a no and a file":                 {nil, []string{"--aws-iam=false", "--token-file", file}, nil, "Bearer " + goodToken},
		"signatures alone":                {signs, nil, nil, "AWS4-HMAC-SHA256 "},
	} {
		t.Run(name, func(t *testing.T) {
			s := listing(t)
			out := dormouseWith(t, s, "", tt.env, append([]string{"runs"}, tt.args...)...)
			if tt.names == nil {
				out.wantExit(t, cmdline.ExitOK)
				if got := s.last("GET").auth; !strings.HasPrefix(got, tt.sent) {
					t.Errorf("authorization %q", got)
				}
				return
			}
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, tt.names...)
			if len(s.seen) > 0 {
				t.Errorf("sent %+v", s.seen)
			}
		})
	}
}

func TestCommandsToCopySignAsThisOneDid(t *testing.T) {
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"})
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("waiting", pending("sus_1_a"))), "GET /v1/threads/thr_x7": answer(200, wire.Thread{})})
	out := dormouse(t, nil, "runs", runID, "--url", s.url, "--aws-iam")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "decide "+runID+" sus_1_a --url "+s.url+" --aws-iam --approve")
	out = dormouseWith(t, s, "", map[string]string{"DORMOUSE_AWS_IAM": "1"}, "runs", runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "decide "+runID+" sus_1_a --approve")
}

func TestEnqueueTakesNoServer(t *testing.T) {
	emptyFolder(t)
	for _, args := range [][]string{{"-", "--url", "https://abc.execute-api.eu-central-1.amazonaws.com"}, {"-", "--aws-iam"}, {"--status", "--aws-iam"}} {
		out := dormouseWith(t, nil, message("a"), nil, append([]string{"enqueue"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "doesn't accept "+args[1], "aws sqs send-message --queue-url INTAKEQUEUEURL --message-body '", "IntakeQueueUrl")
	}
	if _, err := os.Stat(".dormouse"); !os.IsNotExist(err) {
		t.Errorf("a directory was made: %v", err)
	}
}

func TestAServerOfThisMachineThatDoesNotAnswerCanBeStarted(t *testing.T) {
	for _, here := range []string{"http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1", "http://0.0.0.0:1"} {
		out := dormouse(t, nil, "runs", "--url", here)
		out.wantExit(t, cmdline.ExitUnreachable)
		contains(t, out.stderr, "no server answers at "+here+"; start one with: dormouse dev\n")
	}
}
