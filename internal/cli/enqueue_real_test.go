package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// soon waits until something holds that other processes bring about. It says what for: if it never
// does, the test hangs here.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	t.Logf("waiting until %s", what)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ; !holds(); <-look.C {
	}
}

// serveUntil runs dev in this process until something holds.
func serveUntil(t *testing.T, data, agents string, holds func() bool) spoken {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan spoken, 1)
	go func() {
		ended <- offline(ctx, "", "dev", "--agents", agents, "--data", data, "--addr", "127.0.0.1:0")
	}()
	soon(t, "the server did what it should", holds)
	stop()
	return <-ended
}

// built is the program of a package of this repository, as a person has it.
func built(t *testing.T, pkg string) string {
	t.Helper()
	effort.Long(t, "it builds and runs whole processes")
	program := filepath.Join(t.TempDir(), "bin", filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", program, "../../"+pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return program
}

// child is a server in a process of its own.
type child struct {
	cmd *exec.Cmd
	url string
}

func spawn(t *testing.T, program, dir string, args ...string) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"dev", "--addr", "127.0.0.1:0", "--json"}, args...)...)
	var log bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var at struct{ URL string }
	if err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("the server does not say where it is: %s %v\n%s", line, err, log.String())
	}
	return child{cmd, at.URL}
}

// kill ends the process as a power cut would.
func (c child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c child) runs(t *testing.T) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for cursor := ""; ; {
		page, err := client.New(c.url, client.WithRetries(0)).RunPage(t.Context(), client.RunFilter{Limit: 100, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range page.Items {
			ids[run.ID] = true
		}
		if cursor = page.Next; cursor == "" {
			return ids
		}
	}
}

func TestTheRealProgram(t *testing.T) {
	program := built(t, "cmd/dormouse")
	t.Run("killed while it takes from the intake queue, it starts each key once", func(t *testing.T) {
		killedAmidIntake(t, built(t, "examples/refund-desk"))
	})
	for _, example := range []string{"invoice-check", "field-visit", "parcel-desk"} {
		t.Run("the page of "+example+" shows what happens", func(t *testing.T) { playExample(t, program, example) })
	}
}

func killedAmidIntake(t *testing.T, program string) {
	const keys = 400
	dir := t.TempDir()
	data, agents := filepath.Join(dir, "data"), filepath.Join(dir, "agents")
	if err := os.CopyFS(agents, os.DirFS(filepath.Join("..", "..", "examples", "refund-desk"))); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range keys {
		lines = append(lines, fmt.Sprintf(`{"idempotency_key":"k%d","agent":"refund-desk","input":"Please refund B-02"}`, i))
	}
	file := written(t, lines...)
	offline(t.Context(), "", "enqueue", file, "--data", data).want(t, cmdline.ExitOK)
	for kills := range 3 {
		waiting, _ := inQueue(t, data)
		s := spawn(t, program, dir, "--agents", agents, "--data", data)
		soon(t, "some of it was started", func() bool {
			now, _ := inQueue(t, data)
			return now < waiting || now == 0
		})
		s.kill()
		if left, _ := inQueue(t, data); kills == 0 && left == 0 {
			t.Log("the first kill came after everything was started")
		}
	}
	s := spawn(t, program, dir, "--agents", agents, "--data", data)
	// and again, while it runs
	offline(t.Context(), "", "enqueue", file, "--data", data).want(t, cmdline.ExitOK)
	soon(t, "the queue is empty", func() bool { waiting, _ := inQueue(t, data); return waiting == 0 })
	if _, dead := inQueue(t, data); dead != 0 {
		t.Errorf("%d dead letters", dead)
	}
	if got := len(s.runs(t)); got != keys {
		t.Errorf("%d runs for %d keys", got, keys)
	}
}
