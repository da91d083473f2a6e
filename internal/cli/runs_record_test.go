package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"github.com/dormouse-dev/dormouse/internal/proof/commands"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

const recordedDesk = `
name: desk
instructions: You give money back.
model:
  provider: scripted
  turns:
    - given: {no_result: true, step: 1}
      say: Let me see.
      calls: [{tool: look, arguments: {order: A-17}}, {tool: refund, arguments: {order: A-17, amount: 1.10}}]
    - given: {step: 2}
      say: Done.
tools:
  - name: look
    parameters: {type: object, properties: {order: {type: string}}}
    recorded: [{result: {order: A-17, amount: 120}}]
  - name: refund
    parameters: {type: object, properties: {order: {type: string}, amount: {type: number}}}
    recorded: [{result: refunded}]
permissions: {allow: [look], ask: [refund]}
`

// serveDesk is a real server of an agent, and what a person types against it.
func serveDesk(t *testing.T, agent string) (typed func(args ...string) output, c *client.Client) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "desk.yaml"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Agents: dir, Tools: tool.NewRegistry(nil), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	url := "http://" + server.Addr()
	return func(args ...string) output {
		var stdout, stderr bytes.Buffer
		exit := cli.Main(t.Context(), append(args, "--url", url), strings.NewReader(""), &stdout, &stderr, cmdline.Options{Getenv: func(string) string { return "" }})
		return output{exit, stdout.String(), stderr.String()}
	}, client.New(url, client.WithRetries(0))
}

// A run with tools, an approval, an image and a document is recorded in three ways, and replays
// without a mismatch.
func TestWhatWasRecordedIsReplayed(t *testing.T) {
	dir := t.TempDir()
	image, document, file := filepath.Join(dir, "cup.PNG"), filepath.Join(dir, "order A-17.pdf"), filepath.Join(dir, "made.jsonl")
	for name, text := range map[string]string{image: "\x89PNG" + strings.Repeat("x", 12<<10), document: "%PDF"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	typed, c := serveDesk(t, recordedDesk)
	first := typed("run", "desk", "is this the cup?", "--image", image, "--document", document, "--record", file)
	first.wantExit(t, cmdline.ExitOK)
	contains(t, first.stdout, "waiting")
	contains(t, first.stderr, "the run was not recorded: run run_", "is waiting; record it when it is done", "dormouse runs record run_")
	page, err := c.RunPage(t.Context(), client.RunFilter{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	run := page.Items[0]
	refused := typed("runs", "record", run.ID, file)
	refused.wantExit(t, cmdline.ExitFailed)

	typed("decide", run.ID, run.Pending[0].Suspension.ID, "--approve").wantExit(t, cmdline.ExitOK)
	if run, err = c.PollRun(t.Context(), run.ID, 20*time.Second); err != nil || run.Status != "done" {
		t.Fatalf("%+v, %v", run, err)
	}
	wrote := typed("runs", "record", run.ID, file)
	wrote.wantExit(t, cmdline.ExitOK)
	contains(t, wrote.stdout, "recorded 5 messages in "+file)
	printed := typed("runs", "record", run.ID)
	text, err := os.ReadFile(file)
	if err != nil || string(text) != printed.stdout {
		t.Errorf("the file holds\n%s\nand what was printed is\n%s%v", text, printed.stdout, err)
	}
	contains(t, string(text), `"You give money back."`, `data:image/png;base64,iVBOR`, `"filename":"order A-17"`, `\"amount\":1.10`)

	shown := typed("messages", run.ThreadID)
	contains(t, shown.stdout, "[image image/png, 12 KB]", `[document "order A-17" application/pdf, 4 bytes]`, "is this the cup?")

	for _, how := range [][]string{nil, {"--gate", "refund"}, {"--gate", "refund", "--faults", "0.1", "--seed", "3"}} {
		replayed := replays(t, append([]string{file}, how...)...)
		replayed.wantExit(t, cmdline.ExitOK)
		contains(t, replayed.stdout, "mismatches")
	}
}

func TestARunThatEndsIsRecordedAtOnce(t *testing.T) {
	typed, _ := serveDesk(t, strings.Replace(recordedDesk, "ask: [refund]", "deny: [refund]", 1))
	file := filepath.Join(t.TempDir(), "made.jsonl")
	for range 2 {
		out := typed("run", "desk", "is this the cup?", "--record", file)
		out.wantExit(t, cmdline.ExitOK)
		if out.stderr != "" {
			t.Errorf("it says %s", out.stderr)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("recorded\n%s%v", text, err)
	}
	out := replays(t, file)
	out.wantExit(t, cmdline.ExitOK)

	away := typed("run", "desk", "is this the cup?", "--record", filepath.Join(t.TempDir(), "none", "made.jsonl"))
	away.wantExit(t, cmdline.ExitUsage)
	contains(t, away.stderr, "--record: cannot write the file")
	typed("dev", "--record", t.TempDir()).wantExit(t, cmdline.ExitUsage)
}

func TestFilesOfAnInputAreParts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	image, table, empty := write("a.jpeg", "jpeg"), write("t.CSV", "a,b"), write("e.png", "")
	large, unknown := write("l.png", strings.Repeat("x", 740<<10+1)), write("u.svg", "<svg/>")
	half := write("h.png", strings.Repeat("x", 400<<10))
	s := newServer(t, map[string]http.HandlerFunc{"POST /v1/runs": answer(202, run("created")), "POST /v1/threads/thr_x7/messages": answer(202, run("created"))})
	want := `[{"type":"text","text":"hi"},{"type":"image","media_type":"image/jpeg","data":"anBlZw=="},` +
		`{"type":"document","media_type":"text/csv","name":"t","data":"YSxi"}]`
	for _, verb := range [][]string{{"run", "desk"}, {"messages", "thr_x7"}} {
		dormouse(t, s, append(verb, "hi", "--document", table, "--image", image)...).wantExit(t, cmdline.ExitOK)
		var sent wire.MessageRequest
		if err := json.Unmarshal(s.last("POST").body, &sent); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(sent.Input)); diff != "" {
			t.Errorf("%v sent (-want +got):\n%s", verb, diff)
		}
		for says, files := range map[string][]string{
			"has an unknown extension": {"--image", unknown}, "is empty": {"--image", empty}, "is larger than the maximum of 740 KB": {"--image", large},
			"have 800 KB in total, and the maximum is 740 KB": {"--image", half, "--image", half}, "cannot read the file": {"--document", filepath.Join(dir, "none.pdf")},
			"use one of: csv": {"--document", image},
		} {
			out := dormouse(t, s, append(append(verb, "hi"), files...)...)
			out.wantExit(t, cmdline.ExitUsage)
			contains(t, out.stderr, says)
		}
	}
	dormouse(t, s, "messages", "thr_x7", "--image", image).wantExit(t, cmdline.ExitUsage)
}

// replays runs what was recorded again.
func replays(t *testing.T, args ...string) output {
	t.Helper()
	return proves(t, append([]string{"replay"}, args...)...)
}

// proves runs a command of the program that tests Dormouse.
func proves(t *testing.T, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := commands.Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, cmdline.Options{Getenv: func(string) string { return "" }})
	return output{exit, stdout.String(), stderr.String()}
}
