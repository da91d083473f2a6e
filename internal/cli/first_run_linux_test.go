package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// firstRun is the picture of a first session, which README.md shows.
const firstRun = root + "/docs/start/first-run.svg"

// elided stands for lines that the picture leaves out.
const elided = "\x1b[2m…\x1b[0m"

// The ids, times and address of the picture stand for the ones that really came.
var depicted = []struct {
	form *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`run_[a-z0-9]{24}_0`), "run_u6w6rqw75743z2sq3xv6btdv_0"},
	{regexp.MustCompile(`sus_[a-z0-9_]+`), "sus_4_ltiucy6ne3hyca3s"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`), "2026-11-25 19:01:23Z"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "19:01:23"},
	{regexp.MustCompile(`\b23h 59m\b`), "1d 0h"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "http://127.0.0.1:8420"},
}

// TestThePictureOfTheFirstRun plays a first session with the program itself, kill -9 included, on a
// terminal of 100 columns, and compares what it prints with the picture.
func TestThePictureOfTheFirstRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	f := film{t: t, program: filepath.Join(buildDormouse(t, ""), "dormouse"), dir: t.TempDir()}
	f.serve()
	id := regexp.MustCompile(`run_[a-z0-9]+_0`).FindString(f.run([]string{`^run `, `approval of send_refund`, `^ +Refunds above`}, "run", "refunds", "Refund order A-2", "--wait"))
	f.kill()
	f.serve()
	f.run([]string{`^run `, `approval of send_refund`, `^ +Refunds above`, `^until `, `^request `, `^model `}, "approvals")
	f.run([]string{`sus_`}, "decide", id, "--approve")
	f.run([]string{`approval of send_refund`, `^ +Refunds above`, `^[^ ]+  `}, "watch", id)
	f.stop()

	for i, line := range f.lines {
		for _, d := range depicted {
			line = d.form.ReplaceAllString(line, d.word)
		}
		f.lines[i] = line
		if shown := len([]rune(sgr.ReplaceAllString(line, ""))); shown > svgColumns {
			t.Errorf("%d columns: %s", shown, line)
		}
	}
	got := svg("A first session: a run waits for approval, the server is killed and restarted, and the approved run finishes", f.lines)
	if *update {
		if err := os.WriteFile(firstRun, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(firstRun)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/start/first-run.svg (-want +got) isn't what the program prints; draw it again and look at it: go test ./internal/cli -run %s -update\n%s", t.Name(), diff)
	}
}

// film is a session in the making.
type film struct {
	t            *testing.T
	program, dir string
	server       *exec.Cmd
	url          string
	lines        []string
}

// serve starts the server; its log isn't in the picture.
func (f *film) serve() {
	f.t.Helper()
	f.server = exec.CommandContext(f.t.Context(), f.program, "dev", "--example", "--addr", "127.0.0.1:0")
	f.server.Dir = f.dir
	out, err := f.server.StdoutPipe()
	if err == nil {
		err = f.server.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(f.stop)
	said := bufio.NewScanner(out)
	if !said.Scan() {
		f.t.Fatal("the server says nothing")
	}
	f.url = address.FindString(said.Text())
	f.lines = append(f.lines, "$ dormouse dev --example 2> log &", said.Text(), elided)
}

func (f *film) kill() {
	f.stop()
	f.lines = append(f.lines, "", "$ kill -9 %1")
}

func (f *film) stop() {
	if f.server != nil {
		_ = f.server.Process.Kill() // it may have ended
		_ = f.server.Wait()
		f.server = nil
	}
}

// run runs a command on a terminal, and returns all that it prints. The picture has the lines that
// one of the expressions fits: each must fit after the one before it, and the last may fit many.
func (f *film) run(show []string, args ...string) string {
	f.t.Helper()
	p := openTerminal(f.t, svgColumns, 50)
	cmd := exec.CommandContext(f.t.Context(), f.program, args...)
	cmd.Dir, cmd.Env = f.dir, []string{"DORMOUSE_URL=" + f.url, "TERM=xterm", "PATH=" + os.Getenv("PATH")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.tty, p.tty, p.tty
	err := cmd.Run()
	_, _ = p.tty.WriteString(endMark)
	<-p.over
	all := strings.ReplaceAll(p.everything(), "\r\n", "\n")
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", args, err, all)
	}
	f.lines = append(f.lines, "", "$ dormouse "+quoted(args))
	f.lines = append(f.lines, f.excerpt(all, show)...)
	return all
}

func (f *film) excerpt(all string, show []string) (lines []string) {
	f.t.Helper()
	next, gap := 0, false
	for line := range strings.Lines(all) {
		line = strings.TrimRight(line, "\n")
		plain := sgr.ReplaceAllString(line, "")
		fits := func(i int) bool { return i < len(show) && regexp.MustCompile(show[i]).MatchString(plain) }
		switch {
		case fits(next):
			next++
		case next == len(show) && fits(next-1):
		default:
			gap = true
			continue
		}
		if gap {
			lines = append(lines, elided)
		}
		lines, gap = append(lines, line), false
	}
	if next < len(show) {
		f.t.Errorf("no line fits %q after the ones before it; adapt what the picture shows:\n%s", show[next], all)
	}
	if gap {
		lines = append(lines, elided)
	}
	return lines
}

// quoted is a command's arguments as a person types them.
func quoted(args []string) string {
	var words []string
	for _, a := range args {
		if strings.Contains(a, " ") {
			a = `"` + a + `"`
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
