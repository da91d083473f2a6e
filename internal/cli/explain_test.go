package cli_test

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestAWordThatIsNoVerbLeadsToTheOneThatDoesWhatItMeans(t *testing.T) {
	for word, says := range map[string]string{
		"deny":    "dormouse decide RUN --deny",
		"approve": "dormouse decide RUN --approve",
		"start":   "dormouse run AGENT INPUT, or dormouse dev",
		"logs":    "dormouse watch RUN",
		"stop":    "dormouse runs cancel RUN, or dormouse interrupt RUN",
		"cancel":  "dormouse runs cancel RUN",
		"status":  "dormouse runs",
		"list":    "dormouse runs",
		"Server":  "dormouse dev, or dormouse serve",
	} {
		want := "dormouse: unknown command \"" + word + "\" for \"dormouse\"; did you mean: " + says + "; see: dormouse help\n"
		for _, rest := range [][]string{nil, {runID}, {"--json=false", runID}} {
			if out := dormouse(t, nil, append([]string{word}, rest...)...); out.exit != cmdline.ExitUsage || out.stderr != want {
				t.Errorf("%s %q says %d %q, want %q", word, rest, out.exit, out.stderr, want)
			}
		}
		help := dormouse(t, nil, "help", word)
		help.wantExit(t, cmdline.ExitUsage)
		contains(t, help.stderr, "did you mean: "+says+"; see: dormouse help\n")
	}
	out := dormouse(t, nil, `x"y`)
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, `unknown command "x\"y" for "dormouse"; see: dormouse help`)
}

// Every word of the table leads to a verb that is there, and none of them is a verb.
func TestTheVerbsThatWordsLeadToAreThere(t *testing.T) {
	for _, word := range strings.Fields("approve accept allow yes deny reject refuse no answer inbox pending waiting start exec server up daemon log logs events tail follow " +
		"attach cancel abort kill stop pause suspend continue unpause status show get describe list ls ps send say chat message thread threads history init create scaffold " +
		"check validate lint test tests diff plan queue import load batch submit login auth token") {
		out := dormouse(t, nil, word)
		out.wantExit(t, cmdline.ExitUsage)
		_, said, found := strings.Cut(strings.TrimSuffix(out.stderr, "; see: dormouse help\n"), "; did you mean: ")
		if !found {
			t.Errorf("%s leads nowhere: %s", word, out.stderr)
			continue
		}
		for command := range strings.SplitSeq(said, ", or ") {
			args := []string{"help"}
			for _, w := range strings.Fields(command)[1:] {
				if w == strings.ToLower(w) && w[0] != '-' {
					args = append(args, w)
				}
			}
			dormouse(t, nil, args...).wantExit(t, cmdline.ExitOK)
		}
	}
}

func TestATextWithoutQuotesIsToldHowToBeWritten(t *testing.T) {
	for want, args := range map[string][]string{
		"the input must be one argument; put it in quotes: 'Pay Ann 20'; usage: dormouse run AGENT INPUT": {"run", "payments", "Pay", "Ann", "20"},
		`the input must be one argument; put it in quotes: 'Pay Ann'\''s 20'`:                             {"run", "payments", "Pay", "Ann's", "20"},
		"the message must be one argument; put it in quotes: 'hello there'":                               {"messages", "thr_x7", "hello", "there"},
		"wrong number of arguments; usage: dormouse run AGENT INPUT":                                      {"run", "payments"},
		"wrong number of arguments; usage: dormouse messages THREAD":                                      {"messages"},
	} {
		out := dormouse(t, nil, args...)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, want)
	}
}

func TestAnIDThatIsNotThereIsNamedWithWhatToDo(t *testing.T) {
	page := wire.Page[wire.Run]{Items: []wire.Run{run("done"), run("done", func(r *wire.Run) { r.ID = "run_x7_1" })}}
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/threads/thr_x7/runs": answer(200, page),
		"GET /v1/threads/thr_nope/messages": problem(404, "thread_not_found", "the thread doesn't exist; check its id")})
	runs := "dormouse runs --url " + s.url
	const its = ": " + runID + ", run_x7_1"
	for _, verb := range []string{"watch", "decide --approve", "resume", "interrupt", "retry", "runs cancel", "runs"} {
		for id, says := range map[string]string{
			"list":       `"list" is not a run id (run_...); to list runs: ` + runs,
			"run_nope_0": `run "run_nope_0" doesn't exist; to list runs: ` + runs,
			"run_nope":   `run "run_nope" doesn't exist; to list runs: ` + runs,
			"thr_x7":     "thr_x7 is a thread; use one of its runs" + its,
			"run_x7":     "run_x7 is not a complete run id; the runs of its thread are" + its,
			"thr_nope":   `"thr_nope" is not a run id`,
		} {
			out := dormouse(t, nil, append(strings.Fields(verb), id, "--url", s.url)...)
			out.wantExit(t, cmdline.ExitFailed)
			if !strings.HasPrefix(out.stderr, "dormouse: "+says) || strings.Count(out.stderr, "\n") != 1 {
				t.Errorf("%s %s says %q, want %q", verb, id, out.stderr, says)
			}
		}
	}
	for _, args := range [][]string{{"messages", "thr_nope"}, {"messages", "run_nope_0"}, {"messages", "run_nope_0", "hello"}} {
		out := dormouse(t, s, args...)
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, `thread or run "`+args[1]+`" doesn't exist; list the runs with dormouse runs`)
	}
	out := dormouse(t, s, "watch", "run_nope_0", "--json")
	contains(t, out.stderr, `{"error":{"code":"run_not_found","detail":"run \"run_nope_0\" doesn't exist;`)
}

func TestMembersOfTheAPIAreToldAsFlags(t *testing.T) {
	const open = "the thread's run waits for a decision; submit one, cancel the run, or set on_pending to abandon or queue"
	s := newServer(t, map[string]http.HandlerFunc{
		"POST /v1/threads/thr_x7/messages": problem(409, "run_open", open),
		"POST /v1/runs":                    problem(400, "invalid_request", "the idempotency key is longer than 255 bytes"),
		decisions:                          problem(400, "invalid_request", "decision_id is longer than 255 bytes"),
	})
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"messages", "thr_x7", "hello"}, "set on_pending to abandon or queue; set on_pending with --on-pending: abandon or queue\n"},
		{[]string{"decide", runID, "sus_1_a", "--approve", "--id", "k"}, "longer than 255 bytes; set decision_id with --id\n"},
		{[]string{"run", "desk", "go", "--key", "k"}, "longer than 255 bytes; set the idempotency key with --key\n"},
	} {
		out := dormouse(t, s, tt.args...)
		contains(t, out.stderr, tt.says)
		if out.exit == cmdline.ExitOK {
			t.Errorf("%q: exit 0", tt.args)
		}
	}
	unclear := newServer(t, map[string]http.HandlerFunc{decisions: problem(400, "unclear_decision", "an approval is answered with the action resume or cancel")})
	contains(t, dormouse(t, unclear, "decide", runID, "sus_1_a", "--result", `{"ok":1}`).stderr, "; use --approve or --deny;")
}

func TestDecideNamesTheAnswersThatContradictEachOther(t *testing.T) {
	for says, args := range map[string][]string{
		"use only one of --approve and --deny\n":                      {"--approve", "--deny"},
		"use only one of --deny and --result and --error\n":           {"--deny", "--result", "1", "--error", "x"},
		"use one of --approve, --deny, --result JSON and --error TEX": {},
	} {
		out := dormouse(t, nil, append([]string{"decide", runID, "sus_1_a"}, args...)...)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, says)
	}
}

func TestJSONThatIsNoneIsToldWithThePlaceAndWhatItLooksLike(t *testing.T) {
	out := dormouse(t, nil, "decide", runID, "sus_1_a", "--approve", "--arguments", "{amount:80}")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "--arguments is not JSON: {amount:80}: invalid character 'a'", "at character 2", `in a shell, write it like '{"amount":80}'`)
	out = dormouse(t, nil, "decide", runID, "sus_1_a", "--result", "sunny")
	contains(t, out.stderr, "--result is not JSON: sunny", `'"sunny"'`)
	file := filepath.Join(t.TempDir(), "edited.json")
	put(t, file, "{\n\"ä\": }")
	out = dormouse(t, nil, "decide", runID, "sus_1_a", "--approve", "--arguments", "@"+file)
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "the file "+file+": invalid character '}'", "at character 8")
}

func TestAPathInTheAddressIsDoubtedIfNothingIsThere(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/v1/runs": problem(404, "not_found", "this path doesn't exist; /openapi.json lists the paths of the API"),
		"GET /v1/runs": problem(404, "not_found", "this path doesn't exist; /openapi.json lists the paths of the API")})
	out := dormouse(t, nil, "runs", "--url", strings.Replace(s.url, "://", "://anna:secret@", 1)+"/v1")
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "this path doesn't exist; /openapi.json lists the paths of the API; check the path /v1 in the server URL. A server without a proxy is at "+s.url+"\n")
	if out := dormouse(t, s, "runs"); strings.Contains(out.stderr, "is the") {
		t.Error("an address without a path is doubted:", out.stderr)
	}
}

func TestRetryOfARunThatIsNotDoneSaysWhatItDoes(t *testing.T) {
	paused := run("waiting", func(r *wire.Run) { r.Pending = []wire.Pending{{CallID: "interrupt:1", Kind: "interrupt"}} })
	for says, at := range map[string]wire.Run{
		"it waits for a decision; list waiting calls with: dormouse approvals": run("waiting", pending("sus_1_a")),
		"is paused, not done; to continue it: dormouse resume " + runID:        paused,
		"is still running; to see what it does: dormouse watch " + runID:       run("running"),
		// it was done a moment later
		"only a run that is done can be retried; the run is " + runID: run("done"),
	} {
		open := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(409)
			w.Write([]byte(`{"status":409,"code":"run_open","detail":"the run is still open; only a run that is done can be retried","run_id":"` + runID + `"}`))
		}
		s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, at), "POST /v1/runs/" + runID + "/retry": open})
		out := dormouse(t, s, "retry", runID)
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, says)
	}
}

func TestDevSaysWhichFlagIsAboutWhatIsMissing(t *testing.T) {
	emptyFolder(t)
	put(t, "there/desk.yaml", talker)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for says, args := range map[string][]string{
		"the directory agents doesn't exist here; try a built-in agent with: dormouse dev --example, create your own with: dormouse new NAME": nil,
		"the directory my agents doesn't exist; create it with: dormouse new NAME --dir 'my agents', or set --agents to another one":          {"--agents", "my agents"},
		"the tokens file none doesn't exist; create it with: dormouse tokens add NAME --roles ROLES --file none":                              {"--agents", "there", "--tokens", "none"},
		"the policy file no.yaml doesn't exist; set --policy":                                                                                 {"--agents", "there", "--policy", "no.yaml"},
		"address " + taken.Addr().String() + " is already in use, perhaps by another Dormouse server; stop that program or choose another address with --addr": {"--agents", "there",
			"--addr", taken.Addr().String()},
	} {
		out := dormouse(t, nil, append([]string{"dev", "--data", "data", "--addr", "127.0.0.1:0"}, args...)...)
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, says)
		if strings.Contains(out.stderr, "no such file") {
			t.Errorf("%q says %s", args, out.stderr)
		}
	}
}

func TestAPageIsNotAskedForLargerThanItCanBe(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": answer(200, wire.Page[wire.Run]{}), "GET /v1/approvals": answer(200, wire.Page[wire.Approval]{})})
	for _, tt := range []struct{ verb, most, more string }{{"runs", "100", "101"}, {"approvals", "200", "201"}} {
		dormouse(t, s, tt.verb, "--limit", tt.most).wantExit(t, cmdline.ExitOK)
		out := dormouse(t, s, tt.verb, "--limit", tt.more)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "--limit is "+tt.more+"; the maximum is "+tt.most)
	}
	if len(s.seen) != 2 {
		t.Errorf("sent %+v", s.seen)
	}
}
