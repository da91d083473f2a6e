package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

// life is a server that a person started, line by line.
type life struct {
	*client.Client
	url   string
	lines *bufio.Scanner
	first map[string]any
}

// serves starts dev or serve on a free port, and ends it with the test.
func serves(t *testing.T, verb, agents string, flags ...string) *life {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	args := append([]string{verb, "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents, "--json"}, flags...)
	go func() {
		ended <- cli.Main(ctx, args, strings.NewReader(""), in, &stderr, cmdline.Options{Version: "v1.2.3", Getenv: func(string) string { return "" }})
		in.Close()
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if code := <-ended; code != cmdline.ExitOK {
			t.Errorf("%s ended with %d\n%s", verb, code, stderr.String())
		}
	})
	l := &life{lines: bufio.NewScanner(out)}
	l.first = l.line(t)
	l.url, _ = l.first["url"].(string)
	l.Client = client.New(l.url, client.WithRetries(0))
	return l
}

// line is the next line that the server prints.
func (l *life) line(t *testing.T) (said map[string]any) {
	t.Helper()
	if !l.lines.Scan() {
		t.Fatal("the server says nothing more")
	}
	if err := json.Unmarshal(l.lines.Bytes(), &said); err != nil {
		t.Fatalf("%v: %s", err, l.lines.Text())
	}
	return said
}

func TestDevReloadsAgentsAndSaysSoOnTheTerminal(t *testing.T) {
	dir := agentsDir(t, map[string]string{"talker": talker})
	file := filepath.Join(dir, "talker.yaml")
	s := serves(t, "dev", dir)
	before, err := s.Agent(t.Context(), "talker")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, change string }{{talker + "tolls: []\n", "refused"}, {talker + "instructions: Be brief.\n", "reloaded"}} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		said := s.line(t)
		now, err := s.Agent(t.Context(), "talker")
		if said["agent"] != "talker" || said["change"] != tt.change || said["version"] != now.Version || err != nil {
			t.Errorf("said %v, the agent is in version %s, %v", said, now.Version, err)
		}
		if changed := now.Version != before.Version; changed != (tt.change == "reloaded") {
			t.Errorf("%s: version %s after %s", tt.change, now.Version, before.Version)
		}
	}
}

func TestServeIsTheServerAndIsStrict(t *testing.T) {
	s := serves(t, "serve", agentsDir(t, map[string]string{"talker": talker}))
	if _, err := s.StartRun(t.Context(), wire.StartRequest{Agent: "talker", Input: []byte(`"hi"`)}, ""); err != nil {
		t.Error(err)
	}
	broken := agentsDir(t, map[string]string{"talker": talker, "needy": needy})
	out := dormouse(t, nil, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", broken)
	out.wantExit(t, cmdline.ExitFailed)
	contains(t, out.stderr, "the secret SHOP is not set", "dormouse serve starts only if every agent can be served; to serve the others, pass --strict=false")
	out = dormouse(t, nil, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", broken, "--strict")
	out.wantExit(t, cmdline.ExitFailed)
	if strings.Contains(out.stderr, "--strict=false") {
		t.Errorf("advises a flag that was given: %s", out.stderr)
	}
	lenient := serves(t, "serve", broken, "--strict=false")
	if unavailable, _ := lenient.first["unavailable"].(map[string]any); unavailable["needy"] == nil {
		t.Errorf("said %v", lenient.first)
	}
}

func TestAPublicURLIsHeldToTheForm(t *testing.T) {
	for _, verb := range [][]string{{"dev"}, {"serve"}, {"approvals", "link", runID, "--for", "anna"}} {
		for url, says := range map[string]string{
			"desk.example.com":                  `--public-url: "desk.example.com" is not a URL; write it as https://desk.example.com`,
			"ftp://desk.example.com":            "is not a URL",
			"https://desk.example.com/?a=b":     "query",
			"https://kim:pass@desk.example.com": "password",
		} {
			out := dormouse(t, nil, append(verb, "--public-url", url)...)
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, says)
		}
	}
}

// A mailer makes a link and sends it as it is. Whether the proxy passes the path on or takes it
// away is the proxy's choice.
func TestALinkOfAServerWithAPublicURLLeadsToThePage(t *testing.T) {
	tokens, kim := filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "kim")
	here(t, "", "tokens", "add", "kim", "--roles", "start,read,link", "--file", tokens, "--out", kim).wantExit(t, cmdline.ExitOK)
	s := serves(t, "serve", agentsDir(t, map[string]string{"desk": asks}), "--tokens", tokens, "--public-url", "https://desk.example.com/ops/")
	if s.first["public_url"] != "https://desk.example.com/ops" {
		t.Errorf("said %v", s.first)
	}
	typed := func(args ...string) map[string]any {
		t.Helper()
		out := here(t, s.url, append(args, "--token-file", kim, "--json")...)
		out.wantExit(t, cmdline.ExitOK)
		var said map[string]any
		if err := json.Unmarshal([]byte(out.stdout), &said); err != nil {
			t.Fatal(err)
		}
		return said
	}
	run := typed("run", "desk", "go", "--wait")
	waits := run["pending"].([]any)[0].(map[string]any)["suspension"].(map[string]any)["id"].(string)
	link, _ := typed("approvals", "link", run["id"].(string), waits, "--for", "anna")["link"].(string)
	path, found := strings.CutPrefix(link, "https://desk.example.com/ops/v1/approvals/")
	if !found {
		t.Fatalf("the link is %q", link)
	}
	for _, prefix := range []string{"/ops", ""} {
		resp, err := http.Get(s.url + prefix + "/v1/approvals/" + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("below %q the link answers %d", prefix, resp.StatusCode)
		}
	}
}

func TestAPublicURLWithoutTokensIsWarnedOf(t *testing.T) {
	for url, warns := range map[string]bool{"https://desk.example.com": true, "http://localhost:9000/a": false, "http://127.0.0.1": false, "": false} {
		out := dormouse(t, nil, "dev", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", "none", "--public-url", url)
		out.wantExit(t, cmdline.ExitFailed) // there are no agents
		if strings.Contains(out.stderr, "links point to desk.example.com; add --tokens FILE") != warns {
			t.Errorf("%q: %s", url, out.stderr)
		}
	}
}

func TestLinksBeginWithThePublicURL(t *testing.T) {
	const server, path = "https://desk.example.com/ops", "/v1/approvals/s3cret"
	for name, tt := range map[string]struct {
		link  string // as the server answers it
		flag  string
		shown string // "" is the address of the server, and the path
		json  string
	}{
		"neither":          {path, "", "", path},
		"the server's own": {server + path, "", server + path, server + path},
		"the flag":         {path, "https://other.example.com/", "https://other.example.com" + path, "https://other.example.com" + path},
		"both":             {server + path, "https://other.example.com/a", "https://other.example.com/a" + path, "https://other.example.com/a" + path},
		"a path like it":   {"https://desk.example.com/v1/approvals/v1" + path, "https://other.example.com", "https://other.example.com" + path, "https://other.example.com" + path},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{"POST /v1/runs/" + runID + "/links": answer(201, wire.Link{ID: "lnk_1", RunID: runID, Link: tt.link})})
			args := []string{"approvals", "link", runID, "sus_1_a", "--for", "anna"}
			if tt.flag != "" {
				args = append(args, "--public-url", tt.flag)
			}
			shown := tt.shown
			if shown == "" {
				shown = s.url + path
			}
			out := dormouse(t, s, args...)
			out.wantExit(t, cmdline.ExitOK)
			if first, _, _ := strings.Cut(out.stdout, "\n"); strings.Fields(first)[1] != shown {
				t.Errorf("shown %q, want %q", first, shown)
			}
			var made wire.Link
			out = dormouse(t, s, append(args, "--json")...)
			if err := json.Unmarshal([]byte(out.stdout), &made); err != nil || made.Link != tt.json {
				t.Errorf("as JSON %q, want %q, %v", made.Link, tt.json, err)
			}
		})
	}
}
