package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestEnqueueSaysHowFarTheQueueIs(t *testing.T) {
	emptyFolder(t)
	put(t, "agents/other.yaml", strings.Replace(talker, "name: desk", "name: other", 1))
	put(t, "runs.jsonl", message("a")+"\n"+message("b")+"\n")
	queued := offline(t.Context(), "", "enqueue", "runs.jsonl", "--data", "my data", "--tenant", "acme")
	queued.want(t, cmdline.ExitOK, "2 in the intake queue of my data\nstatus: dormouse enqueue --status --data 'my data' --tenant acme\n")
	status := offline(t.Context(), "", "enqueue", "--status", "--data", "my data", "--tenant", "acme")
	if status.exit != cmdline.ExitOK || status.stdout != "waiting  2\ndead     0\n" {
		t.Errorf("%+v", status)
	}

	offline(t.Context(), "", "enqueue", "runs.jsonl").want(t, cmdline.ExitOK, "\nstatus: dormouse enqueue --status\n")
	serveUntil(t, ".dormouse", "agents", func() bool { _, dead := inQueue(t, ".dormouse"); return dead == 2 })
	status = offline(t.Context(), "", "enqueue", "--status")
	if status.exit != cmdline.ExitOK || status.stdout != "waiting  0\ndead     2\ndetails: dormouse enqueue --dead\n" {
		t.Errorf("%+v", status)
	}
	status = offline(t.Context(), "", "enqueue", "--status", "--json")
	if status.exit != cmdline.ExitOK || status.stdout != `{"waiting":0,"given_back":0,"dead":2}`+"\n" {
		t.Errorf("%+v", status)
	}
	dead := offline(t.Context(), "", "enqueue", "--dead", "--json")
	dead.want(t, cmdline.ExitOK, `{"waiting":0,"given_back":0,"dead":2,"waiting_messages":[],"dead_messages":[{`)
	for _, more := range []string{"runs.jsonl", "--dead", "--retry-dead", "--keep-going"} {
		offline(t.Context(), "", "enqueue", "--status", more).want(t, cmdline.ExitUsage)
	}
	offline(t.Context(), "", "enqueue", "--forget-dead").want(t, cmdline.ExitOK, "2 dead letters deleted\n")
}

func TestEnqueueOfAFileWithoutALineWarnsAndMakesNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n"} {
		data := filepath.Join(t.TempDir(), "data")
		file := filepath.Join(t.TempDir(), "empty.jsonl")
		put(t, file, text)
		s := offline(t.Context(), "", "enqueue", file, "--data", data)
		s.want(t, cmdline.ExitOK, "dormouse: warning: "+file+" is empty", "0 in the intake queue")
		if _, err := os.Stat(data); err == nil {
			t.Error("a data directory was made")
		}
		s = offline(t.Context(), text, "enqueue", "-", "--data", data, "--json")
		s.want(t, cmdline.ExitOK, `{"warning":{"code":"no_lines","detail":"standard input is empty`, `"enqueued":0`)
	}
}

func TestEnqueueIntoADirectoryThatWasNotThereSaysSo(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := offline(t.Context(), message("a"), "enqueue", "-", "--data", data, "--json")
	s.want(t, cmdline.ExitOK, `"enqueued":1`)
	if !strings.HasPrefix(s.stderr, `{"warning":{"code":"data_made","detail":"`+data+` did not exist and was created`) || strings.Count(s.stderr, "\n") != 1 {
		t.Errorf("it warns %q", s.stderr)
	}
}
