package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// jwt has the form of a token that an issuer makes; nobody reads it here.
const jwt = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiJhbm5hIiwiaXNzIjoiaHR0cHM6Ly9pc3N1ZXIuZXhhbXBsZSJ9.c2ln-bmF0_dXJl"

func listing(t *testing.T) *server {
	return newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{}})})
}

func TestAJWTIsAToken(t *testing.T) {
	s := listing(t)
	environment(t, nil) // it needs no credentials
	dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": jwt}, "runs").wantExit(t, cmdline.ExitOK)
	if got := s.last("GET").auth; got != "Bearer "+jwt {
		t.Errorf("authorization %q", got)
	}
}

func TestRequestsAreSignedWhereThatIsAskedFor(t *testing.T) {
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"})
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		want string // in the authorization
	}{
		"not unless asked":           {nil, nil, ""},
		"by a flag":                  {nil, []string{"--aws-iam"}, "/us-east-1/execute-api/aws4_request"},
		"by the environment":         {map[string]string{"DORMOUSE_AWS_IAM": "1"}, nil, "/us-east-1/execute-api/aws4_request"},
		"for the region that is set": {map[string]string{"DORMOUSE_AWS_REGION": "eu-north-1"}, []string{"--aws-iam"}, "/eu-north-1/execute-api/aws4_request"},
	} {
		t.Run(name, func(t *testing.T) {
			s := listing(t)
			dormouseWith(t, s, "", tt.env, append([]string{"runs"}, tt.args...)...).wantExit(t, cmdline.ExitOK)
			if got := s.last("GET").auth; !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("authorization %q", got)
			}
		})
	}
	t.Run("without credentials it is said what to do", func(t *testing.T) {
		environment(t, nil)
		out := dormouse(t, listing(t), "runs", "--aws-iam")
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "there are no AWS credentials", "AWS_PROFILE")
	})
}

// TestAStreamElsewhereIsReadWithoutCredentials: the API of a stack sends readers of events on to an
// address that has a ticket in it.
func TestAStreamElsewhereIsReadWithoutCredentials(t *testing.T) {
	environment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"})
	for name, args := range map[string][]string{"signatures": {"--aws-iam"}, "a token": nil} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{}
			if args == nil {
				env["DORMOUSE_TOKEN"] = jwt
			}
			var got []*http.Request
			stream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte(`data: {"seq":1,"run_id":"run_a_0","type":"run.status","data":{"status":"done"},"cursor":"c1"}` + "\n\n"))
			}))
			t.Cleanup(stream.Close)
			s := newServer(t, map[string]http.HandlerFunc{
				"GET /v1/runs/run_a_0": answer(200, wire.Run{ID: "run_a_0", Status: "done"}),
				"GET /v1/runs/run_a_0/events": func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.Header.Get("Accept"), "event-stream") {
						http.Redirect(w, r, stream.URL+"/v1/runs/run_a_0/events?ticket=t1", http.StatusTemporaryRedirect)
						return
					}
					answer(200, wire.EventPage{Next: "c1", Done: true})(w, r)
				},
			})
			dormouseWith(t, s, "", env, append([]string{"watch", "run_a_0"}, args...)...).wantExit(t, cmdline.ExitOK)
			if len(got) == 0 || got[0].URL.Query().Get("ticket") != "t1" {
				t.Fatalf("the stream was not read: %v", got)
			}
			for header := range got[0].Header {
				if h := strings.ToLower(header); h == "authorization" || strings.HasPrefix(h, "x-amz") || h == "referer" {
					t.Errorf("the stream's server was sent %s: %s", header, got[0].Header.Get(header))
				}
			}
			if s.last("GET").auth == "" {
				t.Error("the API itself was sent no credentials")
			}
		})
	}
}
