package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
)

// at returns a shop that is open from 8:00 to 18:00, with a clock that always shows the same hour.
func at(hour int) partsdesk.Shop {
	return partsdesk.Shop{Opens: 8, Closes: 18, Now: func() time.Time { return time.Date(2026, 3, 2, hour, 0, 0, 0, time.UTC) }}
}

func TestTheTestsOfTheAgentHold(t *testing.T) {
	// like main.go, which accepts orders day and night
	night := partsdesk.Shop{Now: at(3).Now}
	for name, shop := range map[string]partsdesk.Shop{"by day": at(10), "by night": night} {
		var out, errs bytes.Buffer
		if code := command.Run(t.Context(), partsdesk.Program(shop), []string{"agents", "test"}, strings.NewReader(""), &out, &errs); code != 0 {
			t.Errorf("%s: exit code %d\n%s\n%s", name, code, out.String(), errs.String())
		}
	}
}

// desk is a server of the program, running in this process.
type desk struct {
	program   dormouse.Program
	url, data string
}

func open(t *testing.T, shop partsdesk.Shop) desk {
	t.Helper()
	return serve(t, partsdesk.Program(shop))
}

// serve serves a program until the test ends.
func serve(t *testing.T, p dormouse.Program) desk {
	t.Helper()
	d := desk{program: p, data: t.TempDir()}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, out := io.Pipe()
	var errs bytes.Buffer
	exit := make(chan int, 1)
	go func() {
		code := command.Run(ctx, d.program, []string{"dev", "--addr", "127.0.0.1:0", "--data", d.data, "--json"}, strings.NewReader(""), out, &errs)
		_ = out.Close()
		exit <- code
	}()
	t.Cleanup(func() {
		stop()
		if code := <-exit; code != 0 || t.Failed() {
			t.Logf("the server's exit code: %d\n%s", code, errs.String())
		}
	})
	d.url = address(t, ready)
	return d
}

// address reads where a server listens, from the first line it prints.
func address(t *testing.T, out io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var at struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		t.Fatalf("the server says %q: %v", line, err)
	}
	return at.URL
}

// run is a run as the command prints it.
type run struct {
	ID     string `json:"id"`
	Thread string `json:"thread_id"`
	Status string `json:"status"`
	Reason string `json:"reason"`
	Code   string `json:"code"`
}

// says starts a run and waits until it is suspended or done.
func (d desk) says(t *testing.T, text string, flags ...string) run {
	t.Helper()
	var out, errs bytes.Buffer
	args := append([]string{"run", "parts-desk", text, "--wait", "--json", "--url", d.url}, flags...)
	code := command.Run(t.Context(), d.program, args, strings.NewReader(""), &out, &errs)
	var r run
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: exit code %d, %v\n%s\n%s", args, code, err, out.String(), errs.String())
	}
	return r
}

func TestAfterTwoFailedOrdersAPersonHasTheThread(t *testing.T) {
	d := open(t, at(20))
	first := d.says(t, "Customer 7, 2 seals")
	if first.Status != "done" || first.Reason != "behavior_requested" || first.Code != "handed_over" {
		t.Errorf("the shop is closed, and the run is %+v", first)
	}
	second := d.says(t, "Hello?", "--thread", first.Thread)
	if second.Status != "done" || second.Reason != "blocked" || second.Code != "handed_over" {
		t.Errorf("a person has the thread, and a run of it is %+v", second)
	}
	if lines := d.lines(t, partsdesk.AuditFile); len(lines) != 2 || !strings.Contains(lines[0], first.ID) || !strings.Contains(lines[1], `"blocked"`) {
		t.Errorf("the audit: %q", lines)
	}
	if lines := d.lines(t, partsdesk.OrdersFile); len(lines) != 0 {
		t.Errorf("orders of a closed shop: %q", lines)
	}
}

func TestNothingRunsWhileTheDeskIsSwitchedOff(t *testing.T) {
	shop := at(10)
	shop.Off = func() bool { return true }
	if r := open(t, shop).says(t, "Customer 7, 2 seals"); r.Reason != "blocked" || r.Code != "switched_off" {
		t.Errorf("the run is %+v", r)
	}
}

func TestAnOrderIsRecalledInTheNextThread(t *testing.T) {
	p := partsdesk.Program(at(10))
	opened, recalled := p.Open, make(chan string, 2)
	// the same program, with a memory that the test observes
	p.Open = func(data string) (dormouse.Program, error) {
		parts, err := opened(data)
		recall := parts.Memories[0].Recall
		parts.Memories[0].Recall = func(ctx context.Context, c dormouse.Conversation) (string, error) {
			text, err := recall(ctx, c)
			recalled <- text
			return text, err
		}
		return parts, err
	}
	d := serve(t, p)
	if r := d.says(t, "Customer 7, 2 seals"); r.Status != "waiting" {
		t.Fatalf("the run is %+v", r)
	}
	d.says(t, "Tell me, what did I order?")
	if first, second := <-recalled, <-recalled; first != "" || second != "Recent orders: 2 seal" {
		t.Errorf("recalled at first %q, then %q", first, second)
	}
}

// lines returns the lines of a file in the data directory.
func (d desk) lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.data, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

func TestTheBuiltProgramServes(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "parts")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := exec.Command(bin, "dev", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--json")
	var errs bytes.Buffer
	server.Stderr = &errs
	ready, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Log(errs.String())
		}
	})
	url := address(t, ready)
	out, err := exec.Command(bin, "run", "parts-desk", "Customer 9, 2 motors", "--wait", "--url", url).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "A total of $1800 is above the maximum of $1000") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheFunctionsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the functions; make long does")
	}
	cmd := exec.Command("go", "build", "-tags", "lambda.norpc,nethttpomithttp2", "-o", t.TempDir()+"/", "./lambda/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNothingInternalIsImported: any module outside this repository could contain this directory.
func TestNothingInternalIsImported(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			if strings.Contains(imp.Path.Value, "/internal/") {
				t.Errorf("%s imports %s", path, imp.Path.Value)
			}
		}
		return nil
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
}
