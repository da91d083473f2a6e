package cli_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

const goodToken = "dmt_Zm9vYmFy"

// sentTokens is a server that notes the Authorization of each request.
func sentTokens(t *testing.T) (s *server, sent *[]string) {
	t.Helper()
	sent = new([]string)
	return newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": func(w http.ResponseWriter, r *http.Request) {
		*sent = append(*sent, r.Header.Get("Authorization"))
		answer(200, wire.Page[wire.Run]{Items: []wire.Run{}})(w, r)
	}}), sent
}

func TestWhatIsNoTokenIsRefusedBeforeItIsSent(t *testing.T) {
	const grant = "ci default start,read sha256:00ff\n"
	for name, tt := range map[string]struct {
		env, file string
		wants     []string
	}{
		"the server's file":           {"", "# ours\n" + grant + grant, []string{"is not a token: it has 3 lines (is it the server's tokens file?)"}},
		"the server's file of one":    {"", grant, []string{"is not a token", "is it the server's tokens file?"}},
		"an empty file":               {"", "", []string{"is empty; write the token printed by dormouse tokens add into it"}},
		"a blank file":                {"", " \r\n\n", []string{"is empty"}},
		"a variable of two lines":     {"secret1\nsecret2", "", []string{"$DORMOUSE_TOKEN is not a token: it has 2 lines"}},
		"a variable with a blank":     {"secret1 secret2", "", []string{"$DORMOUSE_TOKEN is not a token"}},
		"a variable with an escape":   {"secret1\x1b[1m", "", []string{"$DORMOUSE_TOKEN is not a token"}},
		"a variable that is no ASCII": {"secret1\u00e9", "", []string{"$DORMOUSE_TOKEN is not a token"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, sent := sentTokens(t)
			args, wants := []string{"runs"}, tt.wants
			if tt.env == "" {
				file := filepath.Join(t.TempDir(), "x.token")
				if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
				args, wants = append(args, "--token-file", file), append(wants, file)
			}
			out := dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": tt.env}, args...)
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, wants...)
			if strings.Contains(out.stderr, "secret") || strings.Contains(out.stderr, "sha256:") || len(*sent) > 0 {
				t.Errorf("sent %q, and said %s", *sent, out.stderr)
			}
		})
	}
}

func TestBlanksAroundATokenAreNotSent(t *testing.T) {
	s, sent := sentTokens(t)
	file := filepath.Join(t.TempDir(), "x.token")
	if err := os.WriteFile(file, []byte(goodToken+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": " " + goodToken + "\n"}, "runs").wantExit(t, cmdline.ExitOK)
	dormouseWith(t, s, "", nil, "runs", "--token-file", file).wantExit(t, cmdline.ExitOK)
	dormouseWith(t, s, "", map[string]string{"DORMOUSE_TOKEN": "\n"}, "runs").wantExit(t, cmdline.ExitOK)
	if got := strings.Join(*sent, "|"); got != "Bearer "+goodToken+"|Bearer "+goodToken+"|" {
		t.Errorf("sent %s", got)
	}
}

func TestAKeyThatCannotBeSentIsWrongUsage(t *testing.T) {
	verbs := [][]string{{"run", "desk", "hi"}, {"messages", "thr_x7", "hi"}, {"interrupt", runID}, {"retry", runID}}
	for _, there := range []bool{true, false} {
		for key, says := range map[string]string{"k\x1b": `control character in it ('\x1b')`, "k\n": `control character in it ('\n')`, " k ": "begins or ends with a blank",
			"k\u00e9": `not ASCII ('\u00e9')`} {
			for _, verb := range verbs {
				var s *server
				if there {
					s = newServer(t, map[string]http.HandlerFunc{})
				}
				out := dormouse(t, s, append(slices.Clone(verb), "--key", key)...)
				out.wantExit(t, cmdline.ExitUsage)
				contains(t, out.stderr, "--key ", says, "such as ticket-4711; nothing was sent")
				if there && len(s.seen) > 0 {
					t.Errorf("%q: sent %+v", key, s.seen)
				}
			}
		}
	}
}

func TestThePasswordOfAnAddressIsNeverShown(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, run("waiting", pending("sus_1_a"))),
		"POST /v1/runs/" + runID + "/interrupt": answer(202, run("running"))})
	with := func(address string) string { return strings.Replace(address, "://", "://anna:secret@", 1) }
	for _, tt := range []struct {
		url  string
		args []string
		exit int
		says string
	}{
		{with(s.url), []string{"runs", runID}, cmdline.ExitOK, "--approve"},
		{with(s.url), []string{"runs", runID}, cmdline.ExitOK, "decide " + runID + " sus_1_a --url " + s.url + " --approve"},
		{with(s.url), []string{"interrupt", runID}, cmdline.ExitOK, "dormouse resume " + runID + " --url " + s.url + "\n"},
		{with("http://127.0.0.1:1"), []string{"runs"}, cmdline.ExitUnreachable, "no server answers at http://127.0.0.1:1;"},
		{with("http://127.0.0.1:1"), []string{"watch", runID}, cmdline.ExitUnreachable, "no server answers at http://127.0.0.1:1;"},
		{with("http://127.0.0.1:1"), []string{"approvals", "-i"}, cmdline.ExitUsage, "use dormouse approvals --url http://127.0.0.1:1 to list calls"},
		{with("http://127.0.0.1:1?x=1"), []string{"runs"}, cmdline.ExitUsage, "a query or a fragment"},
		{with("http://127.0.0.1:wrong"), []string{"runs"}, cmdline.ExitUsage, `"127.0.0.1:wrong" is not a server URL`},
		{with("ftp://127.0.0.1"), []string{"runs"}, cmdline.ExitUsage, `"ftp://127.0.0.1" is not a server URL`},
		{"anna:secret@host", []string{"runs"}, cmdline.ExitUsage, `"host" is not a server URL`},
		{"http://anna:%zzsecret@host", []string{"runs"}, cmdline.ExitUsage, `"host" is not a server URL`},
		{"http://anna:1/secret@host", []string{"runs"}, cmdline.ExitUsage, "has an @ in its path"},
		{"http://anna:1?secret@host", []string{"runs"}, cmdline.ExitUsage, "a query or a fragment"},
		{"http://anna:1#secret@host", []string{"runs"}, cmdline.ExitUsage, "a query or a fragment"},
	} {
		for _, asJSON := range []bool{false, true} {
			args := append(slices.Clone(tt.args), "--url", tt.url)
			says := tt.says
			if asJSON {
				args, says = append(args, "--json"), ""
			}
			out := dormouse(t, nil, args...)
			out.wantExit(t, tt.exit)
			said := out.stdout + out.stderr
			contains(t, said, says)
			if strings.Contains(said, "secret") || strings.Contains(said, "anna") {
				t.Errorf("%v says %s", args, said)
			}
		}
	}
}

func TestAnAddressHasNoQueryAndNoFragment(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{"GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{}})})
	for _, behind := range []string{"?x=1", "?", "/?x=1", "#frag", "#", "/base?x#y"} {
		out := dormouse(t, nil, "runs", "--url", s.url+behind)
		out.wantExit(t, cmdline.ExitUsage)
		contains(t, out.stderr, "has a query or a fragment")
		dormouseWith(t, &server{url: s.url + behind}, "", nil, "runs").wantExit(t, cmdline.ExitUsage)
	}
	if len(s.seen) > 0 {
		t.Errorf("sent %+v", s.seen)
	}
	dormouse(t, nil, "runs", "--url", s.url+"/").wantExit(t, cmdline.ExitOK)
}

func TestNamesInCommandsToCopyAreQuotedForAShell(t *testing.T) {
	emptyFolder(t)
	queued := offline(t.Context(), message("a"), "enqueue", "-", "--data", "my data")
	queued.want(t, cmdline.ExitOK)
	contains(t, queued.stdout, "dormouse dev --data 'my data'\n")

	put(t, "my tokens", "")
	gone := dormouse(t, nil, "tokens", "remove", "ci", "--file", "my tokens")
	gone.wantExit(t, cmdline.ExitUsage)
	contains(t, gone.stderr, "dormouse tokens list --file 'my tokens'\n")

	s := newServer(t, map[string]http.HandlerFunc{"POST /a;b/v1/runs/" + runID + "/interrupt": answer(202, run("running"))})
	paused := dormouse(t, nil, "interrupt", runID, "--url", s.url+"/a;b")
	paused.wantExit(t, cmdline.ExitOK)
	contains(t, paused.stdout, "dormouse resume "+runID+" --url '"+s.url+"/a;b'\n")
}
