package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// exampleServer is a server that dev --example started in the current directory.
type exampleServer struct {
	url, token string
	said       string // everything it prints before it is used
	stop       func()
}

var (
	saidAddress = regexp.MustCompile(`export DORMOUSE_URL=(\S+)`)
	saidToken   = regexp.MustCompile(`export DORMOUSE_TOKEN=(\S+)`)
)

// serveExample runs dev --example until the test or stop ends it.
func serveExample(t *testing.T, env map[string]string, args ...string) *exampleServer {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	read, write := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := cli.Main(ctx, append([]string{"dev", "--example", "--addr", "127.0.0.1:0"}, args...), strings.NewReader(""), write, &stderr,
			cmdline.Options{Getenv: func(name string) string { return env[name] }})
		write.Close()
		ended <- code
	}()
	s := &exampleServer{stop: func() {
		if stop == nil {
			return
		}
		stop()
		stop = nil
		if code := <-ended; code != cmdline.ExitOK {
			t.Errorf("dev --example ended with %d: %s", code, stderr.String())
		}
	}}
	t.Cleanup(s.stop)
	lines := bufio.NewScanner(read)
	for !strings.HasPrefix(lines.Text(), "Edit ") {
		if !lines.Scan() {
			t.Fatalf("dev --example says %q", s.said)
		}
		s.said += lines.Text() + "\n"
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if m := saidAddress.FindStringSubmatch(s.said); m != nil {
		s.url = m[1]
	}
	if m := saidToken.FindStringSubmatch(s.said); m != nil {
		s.token = m[1]
	}
	return s
}

// says runs a command that the server printed, with words in place of RUN.
func (s *exampleServer) says(t *testing.T, what, run string) output {
	t.Helper()
	_, command, found := strings.Cut(s.said, what)
	command, _, _ = strings.Cut(command, "\n")
	command, program := strings.CutPrefix(strings.TrimSpace(command), "dormouse ")
	if !found || !program {
		t.Fatalf("there is no command to %s in:\n%s", what, s.said)
	}
	before, quoted, _ := strings.Cut(command, `"`)
	args := strings.Fields(strings.ReplaceAll(before, "RUN", run))
	if input, after, found := strings.Cut(quoted, `"`); found {
		args = append(append(args, input), strings.Fields(after)...)
	}
	var stdout, stderr bytes.Buffer
	env := map[string]string{"DORMOUSE_URL": s.url, "DORMOUSE_TOKEN": s.token}
	exit := cli.Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, cmdline.Options{Getenv: func(name string) string { return env[name] }})
	return output{exit, stdout.String(), stderr.String()}
}

var runIDForm = regexp.MustCompile(`run_[a-z0-9]+_\d+`)

func TestTheExampleNeedsNoFilesAndItsRunsSurviveARestart(t *testing.T) {
	emptyFolder(t)
	s := serveExample(t, nil)
	if s.token != "" {
		t.Errorf("a token on a loopback address:\n%s", s.said)
	}
	out := s.says(t, "start a run", "")
	out.wantExit(t, cmdline.ExitOK)
	contains(t, out.stdout, "waiting", "send_refund")
	id := runIDForm.FindString(out.stdout)
	s.stop()
	s = serveExample(t, nil)
	contains(t, s.says(t, "list approvals", "").stdout, id)
	s.says(t, "approve", id).wantExit(t, cmdline.ExitOK)
	contains(t, s.says(t, "follow the run", id).stdout, "call.succeeded", "done  natural_end")
}

func TestTheExampleAtANetworkAddressAsksForItsToken(t *testing.T) {
	emptyFolder(t)
	s := serveExample(t, nil, "--addr", "0.0.0.0:0")
	if !strings.HasPrefix(s.token, "dmt_") {
		t.Fatalf("no token:\n%s", s.said)
	}
	for _, tt := range []struct {
		token string
		want  int
	}{{"", http.StatusUnauthorized}, {"dmt_wrong", http.StatusUnauthorized}, {s.token, http.StatusOK}} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/v1/approvals", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.token != "" {
			req.Header.Set("Authorization", "Bearer "+tt.token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("with the token %q: %d, want %d", tt.token, resp.StatusCode, tt.want)
		}
	}
	s.says(t, "start a run", "").wantExit(t, cmdline.ExitOK)
	s.stop()
	if again := serveExample(t, nil, "--addr", "0.0.0.0:0"); again.token != s.token {
		t.Error("a restart has another token")
	}
}

func TestTheExamplesTokenIsForItsOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes here")
	}
	for _, name := range []string{"token", "tokens"} {
		emptyFolder(t)
		serveExample(t, nil, "--addr", "0.0.0.0:0").stop()
		file := filepath.Join(".dormouse", "example", name)
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", file, info.Mode(), err)
		}
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		out := here(t, "", "dev", "--example", "--addr", "0.0.0.0:0")
		out.wantExit(t, cmdline.ExitFailed)
		contains(t, out.stderr, file+" is not a file that only its owner can read", "rm "+file)
	}
}

func TestTheExampleKeepsWhatWasEdited(t *testing.T) {
	dir := t.TempDir()
	serveExample(t, nil, "--data", dir).stop()
	file := filepath.Join(dir, "agents", "refunds.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.ReplaceAll(string(text), "above: 100", "above: 1000")
	put(t, file, edited)
	s := serveExample(t, nil, "--data", dir)
	contains(t, s.says(t, "start a run", "").stdout, "done")
	if now, err := os.ReadFile(file); err != nil || string(now) != edited {
		t.Errorf("the file was replaced: %v", err)
	}
}

func TestTheExampleInAContainerPrintsAnAlias(t *testing.T) {
	emptyFolder(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := serveExample(t, map[string]string{"container": "oci"}, "--addr", "0.0.0.0:0")
	contains(t, s.said, "alias dormouse='docker exec -it -e DORMOUSE_TOKEN -e DORMOUSE_URL=http://127.0.0.1:", " "+host+" dormouse'")
	s.stop()
	if s = serveExample(t, map[string]string{"container": "systemd-nspawn"}); strings.Contains(s.said, "alias") {
		t.Errorf("an alias for no container engine:\n%s", s.said)
	}
}

func TestTheExampleFillsAnEmptyDirectoryOfAgents(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveExample(t, nil, "--data", dir)
	s.says(t, "start a run", "").wantExit(t, cmdline.ExitOK)
}

func TestTheExampleNamesTheRemedyForADirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "agents"), "no directory")
	out := here(t, "", "dev", "--example", "--addr", "127.0.0.1:0", "--data", dir)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "writing the example agent to the data directory: ", "--data DIR")
}

func TestTheExampleServesNoOtherAgents(t *testing.T) {
	out := here(t, "", "dev", "--example", "--agents", "mine")
	out.wantExit(t, cmdline.ExitUsage)
	contains(t, out.stderr, "--example and --agents can't be combined; remove one of them")
	here(t, "", "serve", "--example").wantExit(t, cmdline.ExitUsage)
}

func TestTheExampleTakesTheTokensAndTheTenantOfItsOperator(t *testing.T) {
	emptyFolder(t)
	here(t, "", "tokens", "add", "anna", "--roles", "admin").wantExit(t, cmdline.ExitOK)
	s := serveExample(t, nil, "--addr", "0.0.0.0:0", "--tokens", "tokens")
	contains(t, s.said, "use a token     export DORMOUSE_TOKEN=TOKEN\n")
	if _, err := os.Stat(filepath.Join(".dormouse", "example", "token")); err == nil {
		t.Error("a token was created beside those of the operator")
	}
	s.stop()
	first := serveExample(t, nil, "--addr", "0.0.0.0:0")
	first.stop()
	s = serveExample(t, nil, "--addr", "0.0.0.0:0", "--tenant", "acme")
	if s.token == first.token {
		t.Error("the token of one tenant is printed for another")
	}
	contains(t, s.says(t, "start a run", "").stdout, "approval of send_refund")
}
