package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// calling writes an agent into the folder agents that calls the private service at the host with a
// secret, and a test of it.
func calling(t *testing.T, host string) {
	t.Helper()
	emptyFolder(t)
	put(t, "agents/shop.yaml", `model:
  provider: scripted
  turns:
    - {given: {no_result: true}, calls: [{tool: top_up, arguments: {amount: 5}}]}
    - {given: {result: '(?s)(?P<all>.*)'}, say: "got ${all}"}
tools:
  - name: top_up
    http: {url: "http://`+host+`/up/{amount}", headers: {Authorization: "Bearer {secret:SHOP}"}, allow_private: true}
    read_only: true
    parameters: {type: object, properties: {amount: {type: integer}}, required: [amount]}
permissions: {allow: [top_up]}
`)
	put(t, "agents/tests/shop.yaml", "tests: [{name: a, steps: [{run: go}, {expect: {output: /shop is open/, calls: [{tool: top_up, ran: {amount: 5}}]}}]}]\n")
}

func withEnv(t *testing.T, env map[string]string, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := cli.Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, cmdline.Options{Getenv: func(name string) string { return env[name] }})
	return output{exit, stdout.String(), stderr.String()}
}

func TestCheckNotesWhatTheServerWillDemand(t *testing.T) {
	calling(t, "localhost:9000")
	const secret = "agent shop: the secret SHOP is not set; set the environment variable DORMOUSE_SECRET_SHOP"
	const host = "agent shop: tool top_up sets allow_private, but the operator does not allow localhost:9000; allow it with --allow-private-hosts localhost:9000"
	for name, tt := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"nothing is set": {nil, []string{secret, host}},
		"the secret is":  {map[string]string{"DORMOUSE_SECRET_SHOP": "s3cret"}, []string{host}},
	} {
		t.Run(name, func(t *testing.T) {
			o := withEnv(t, tt.env, "agents", "check")
			o.wantExit(t, cmdline.ExitOK)
			want := ""
			for _, note := range tt.want {
				want += "agents/shop.yaml: note: " + note + "\n"
			}
			if want += "1 agent and 1 test: OK\n"; o.stdout != want {
				t.Errorf("%s", cmp.Diff(want, o.stdout))
			}
			o = withEnv(t, tt.env, "agents", "check", "--json")
			o.wantExit(t, cmdline.ExitOK)
			var got struct {
				Problems []any
				Notes    []struct{ File, Note string }
			}
			if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || got.Problems == nil || len(got.Problems) > 0 || len(got.Notes) != len(tt.want) {
				t.Fatalf("%v: %s", err, o.stdout)
			}
			for i, n := range got.Notes {
				if n.File != "agents/shop.yaml" || n.Note != tt.want[i] {
					t.Errorf("note %d is %+v", i, n)
				}
			}
		})
	}
	put(t, "agents/bad.yaml", "tools: []\n")
	o := withEnv(t, nil, "agents", "check")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stdout, "agents/bad.yaml:1: ", "agents/shop.yaml: note: "+secret)
	contains(t, o.stderr, "1 problem found")
}

func TestTestsReachThePrivateHostsTheyAreAllowed(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("the request has %q", r.Header)
		}
		_, _ = w.Write([]byte("the shop is open"))
	}))
	defer shop.Close()
	host := strings.TrimPrefix(shop.URL, "http://")
	calling(t, host)
	env := map[string]string{"DORMOUSE_SECRET_SHOP": "s3cret"}

	o := withEnv(t, env, "agents", "test")
	o.wantExit(t, cmdline.ExitFailed)
	contains(t, o.stderr, "the operator does not allow "+host, "--allow-private-hosts "+host)
	o = withEnv(t, env, "agents", "test", "--allow-private-hosts", host)
	if o.exit != cmdline.ExitOK {
		t.Errorf("exit code %d\n%s%s", o.exit, o.stdout, o.stderr)
	}
	o = withEnv(t, env, "agents", "test", "--allow-private-hosts", "http://x")
	o.wantExit(t, cmdline.ExitUsage)
	contains(t, o.stderr, `--allow-private-hosts: "http://x" is not a host`)
}

func TestAgentsCheckNotesWhatNoRuleIsAskedAbout(t *testing.T) {
	const open = `model: {provider: scripted, turns: [{say: x}]}
permissions: {ask: [{tool: pay, when: {argument: amountCents, above: 10000}}], allow: [pay]}
tools: [{name: pay, lambda: {function: pay}, parameters: {type: object, additionalProperties: true, properties: {amountCents: {type: integer}}}}]
`
	for text, want := range map[string]bool{open: true, strings.Replace(open, "additionalProperties: true, ", "", 1): false} {
		o := dormouse(t, nil, "agents", "check", agentsDir(t, map[string]string{"shop": text}))
		o.wantExit(t, cmdline.ExitOK)
		if strings.Contains(o.stdout, `shop.yaml: note: tool "pay" sends its service members that its parameters don't name (additionalProperties, at the top)`) != want {
			t.Errorf("with the note %v:\n%s", want, o.stdout)
		}
	}
}
