package cli_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func agentsThere(names ...string) http.HandlerFunc {
	page := wire.Page[wire.Agent]{Items: []wire.Agent{}}
	for _, name := range names {
		page.Items = append(page.Items, wire.Agent{Name: name})
	}
	return answer(200, page)
}

func TestMistakesAreToldInWordsThatHelp(t *testing.T) {
	noAgent := problem(404, "agent_not_found", "there is no agent dsk")
	many := []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b1", "b2", "b3", "b4", "b5"}
	for name, tt := range map[string]struct {
		answers map[string]http.HandlerFunc
		args    []string
		exit    int
		says    string
	}{
		"a verb that is misspelt":         {nil, []string{"wacth", "run_1"}, cmdline.ExitUsage, `unknown command "wacth" for "dormouse"; did you mean: watch; see: dormouse help`},
		"a verb below one":                {nil, []string{"runs", "cancl", runID}, cmdline.ExitUsage, "did you mean: dormouse runs cancel"},
		"no verb of a group":              {nil, []string{"agents", "nope"}, cmdline.ExitUsage, `unknown command "nope" for "dormouse agents"; use one of: check, deploy, diff, list, schema, test`},
		"a verb of a group, misspelt":     {nil, []string{"agents", "chek", "x"}, cmdline.ExitUsage, "did you mean: dormouse agents check"},
		"no verb of tokens":               {nil, []string{"tokens", "nope"}, cmdline.ExitUsage, `unknown command "nope" for "dormouse tokens"; use one of: add, list, remove`},
		"a verb of tokens, misspelt":      {nil, []string{"tokens", "lst"}, cmdline.ExitUsage, "did you mean: dormouse tokens list"},
		"help for a verb misspelt":        {nil, []string{"help", "decde"}, cmdline.ExitUsage, "did you mean: dormouse decide"},
		"a verb of the tests of Dormouse": {nil, []string{"replay", "x.jsonl"}, cmdline.ExitUsage, `unknown command "replay" for "dormouse"; did you mean: dormouse-proof replay FILE.jsonl`},
		"a duration that is none":         {nil, []string{"doctor", "--for", "soon"}, cmdline.ExitUsage, `--for takes a duration such as 500ms, 30s or 10m, not "soon"`},
		"a number that is none":           {nil, []string{"runs", "--limit", "many"}, cmdline.ExitUsage, `--limit takes a whole number, not "many"`},
		"a flag that is not there":        {nil, []string{"runs", "--colour"}, cmdline.ExitUsage, "unknown flag: --colour; see: dormouse runs --help"},
		"an agent that is not there":      {map[string]http.HandlerFunc{"POST /v1/runs": noAgent, "GET /v1/agents": agentsThere("desk", "shop")}, []string{"run", "dsk", "hi"}, cmdline.ExitUsage, `agent "dsk" doesn't exist; the server has: desk, shop`},
		"where there are many":            {map[string]http.HandlerFunc{"POST /v1/runs": noAgent, "GET /v1/agents": agentsThere(many...)}, []string{"run", "dsk", "hi"}, cmdline.ExitUsage, "b2, b3, and 2 more"},
		"where none is":                   {map[string]http.HandlerFunc{"POST /v1/runs": noAgent}, []string{"run", "dsk", "hi"}, cmdline.ExitUsage, `agent "dsk" doesn't exist; the server shows no agents`},
		"no token":                        {map[string]http.HandlerFunc{"GET /v1/runs": problem(401, "unauthorized", "the request has no bearer token; send it as Authorization: Bearer TOKEN")}, []string{"runs"}, cmdline.ExitFailed, "$DORMOUSE_TOKEN or --token-file to a token created on the server with: dormouse tokens add"},
		"a role that is missing":          {map[string]http.HandlerFunc{"GET /v1/runs": problem(403, "role_required", "it needs read or admin")}, []string{"runs"}, cmdline.ExitFailed, "it needs read or admin; use a token with this role, created on the server with: dormouse tokens add"},
		"words that are not the shell":    {nil, []string{"completion", "ksh"}, cmdline.ExitUsage, `unknown shell "ksh"; use bash, zsh or fish`},
		"a server with an evil tongue":    {map[string]http.HandlerFunc{"GET /v1/runs": problem(500, "internal", "a\x1b[2J\u202eb")}, []string{"runs"}, cmdline.ExitFailed, `a\x1b[2J\u202eb`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, tt.answers)
			out := dormouse(t, s, tt.args...)
			out.wantExit(t, tt.exit)
			contains(t, out.stderr, tt.says)
			if strings.Count(out.stderr, "\n") != 1 || strings.Contains(out.stderr, "strconv") {
				t.Errorf("it says %q", out.stderr)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	evil := run("waiting")
	evil.ID, evil.Agent = "run_b_0", "desk\x1b[2J\nx"
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/agents": agentsThere("desk", "shop"),
		"GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{run("done", done("natural_end")), evil}})})
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"verbs":           {[]string{"wat"}, []string{"watch\tFollow one run, or the suspensions, decisions and ends of all runs"}},
		"agents":          {[]string{"run", ""}, []string{"desk", "shop"}},
		"the input":       {[]string{"run", "desk", ""}, nil},
		"runs":            {[]string{"watch", ""}, []string{runID + "\trefund-desk done (natural_end)", `run_b_0` + "\t" + `desk\x1b[2J x waiting`}},
		"agents of flags": {[]string{"runs", "--agent", ""}, []string{"desk", "shop"}},
		"shells":          {[]string{"completion", ""}, []string{"bash", "zsh", "fish"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := dormouse(t, s, append([]string{"__complete"}, tt.args...)...)
			var got []string
			for line := range strings.Lines(out.stdout) {
				if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, ":") {
					got = append(got, line)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	out := dormouse(t, nil, "__complete", "watch", "")
	if strings.Contains(out.stdout, "run_") || strings.Contains(out.stderr+out.stdout, "no server") {
		t.Errorf("without a server it says %q, %q", out.stdout, out.stderr)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out := dormouse(t, nil, "completion", shell)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "dormouse")
	}
}

func TestDecideShowsWhatEditedArgumentsChange(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"by its only call":   {[]string{runID}, "issue_refund will run with edited arguments:\n- amount: 120\n+ amount: 80\naccepted: sus_1_a\n"},
		"by its suspension":  {[]string{runID, "sus_1_a"}, "issue_refund will run with edited arguments:\n- amount: 120\n+ amount: 80\naccepted: sus_1_a\n"},
		"of what is unknown": {[]string{runID, "sus_1_b"}, "accepted: sus_1_a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{decisions: accepted(), readRun: answer(200, run("waiting", pending("sus_1_a")))})
			out := dormouse(t, s, append([]string{"decide", "--approve", "--arguments", `{"order":"A-17","amount":80}`}, tt.args...)...)
			out.wantExit(t, cmdline.ExitOK)
			if out.stdout != tt.want {
				t.Errorf("it says\n%s\nwant\n%s", out.stdout, tt.want)
			}
		})
	}
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("waiting", pending("sus_1_a")))})
	out := dormouse(t, s, "decide", "--approve", "--dry-run", "--arguments", `{"order":"A-17","amount":120}`, runID)
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "the arguments are the same as those requested for issue_refund", `dry run, not sent to the server: {"target":"sus_1_a","action":"resume"`)
	for _, sent := range s.seen {
		if sent.method != "GET" {
			t.Errorf("%s %s was sent", sent.method, sent.path)
		}
	}
}

func TestAWordBelowAGroupThatIsNoVerbIsWrongUsage(t *testing.T) {
	for _, group := range []string{"agents", "tokens", "completion"} {
		for _, args := range [][]string{{group, "nope"}, {group, "nope", "--json"}, {"--json", group, "nope"}} {
			out := dormouse(t, nil, args...)
			out.wantExit(t, cmdline.ExitUsage)
			if out.stdout != "" || out.stderr == "" {
				t.Errorf("%v prints %q, says %q", args, out.stdout, out.stderr)
			}
		}
	}
	for _, group := range []string{"agents", "tokens"} {
		out := dormouse(t, nil, group)
		out.wantExit(t, cmdline.ExitOK)
		contains(t, out.stdout, "dormouse "+group+" [command]")
	}
}
