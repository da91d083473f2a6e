package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// session does what a page says, in an empty directory in which only the project's examples are
// there already: it writes the files that the page shows and runs its commands. Ids and tokens that
// a page shows stand for the ones that really come.
type session struct {
	dir, bin string // bin: where the programs are
	page     string // where the page says the server is
	url      string // where it is
	ids      map[string]string
	// of the page, by their path in the project: the file they are in
	sources map[string]string
	server  *exec.Cmd

	module bool // the page makes a module of its own, in dir

	outside
}

// outside is what a page needs beside the server. The zero value is nothing.
type outside struct {
	doubles map[string]string // what stands for what is on the page, such as addresses
	flags   string            // of the server, beside those of the page

	// told is called with the prose before each block, and shown with each block of text.
	told, shown func(t *testing.T, s *session, text string)
}

func newSession(t *testing.T, bin string) *session {
	t.Helper()
	s := &session{dir: t.TempDir(), bin: bin, ids: map[string]string{}, sources: map[string]string{}}
	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err == nil {
		err = os.Symlink(examples, filepath.Join(s.dir, "examples"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	idForm  = regexp.MustCompile(`\b(run|thr)_[a-z2-7]{24}(?:[a-z2-7]{2})?(_[a-z0-9]+)?\b|\bsus_\d+_[a-z2-7]{16}(?:[a-z2-7]{10})?\b|\bdmt_[a-z2-7]{52}\b`)
	moment  = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T][0-9:.]+Z?|\b\d\d:\d\d:\d\d\.\d+`)
	blanks  = regexp.MustCompile(` +`)
	address = regexp.MustCompile(`http://[0-9.:]+`)
)

// pattern is what a page shows, as an expression: "..." is anything, an id any id, a time any time,
// and blanks are as many as the columns need.
func pattern(shown string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSuffix(shown, "\n"))
	text = strings.ReplaceAll(text, `\.\.\.`, `(?s:.*)`)
	text = moment.ReplaceAllString(strings.ReplaceAll(text, `\.`, "."), `[0-9T:. -]+Z?`)
	text = idForm.ReplaceAllString(text, `((?:run|thr|sus|dmt)_[a-z0-9_]+)`)
	return regexp.MustCompile(`\A` + blanks.ReplaceAllString(text, ` +`) + `\s*\z`)
}

// here puts the real addresses into a text, and what stands for others' secrets.
func (s *session) here(text string) string {
	if s.page != "" {
		text = strings.ReplaceAll(text, s.page, s.url)
	}
	for there, here := range s.doubles {
		text = strings.ReplaceAll(text, there, here)
	}
	return text
}

// known puts the real ids and the real addresses into a command.
func (s *session) known(t *testing.T, command string) string {
	t.Helper()
	return idForm.ReplaceAllStringFunc(s.here(command), func(id string) string {
		if s.ids[id] == "" {
			t.Fatalf("%s: the page has not shown %s before", command, id)
		}
		return s.ids[id]
	})
}

func (s *session) environ() []string {
	return append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"), "DORMOUSE_URL="+s.url, "DORMOUSE_TOKEN=")
}

// do runs a command and holds what it prints to what the page shows.
func (s *session) do(t *testing.T, command, shown string) {
	t.Helper()
	t.Log(command) // one that hangs is the last of them
	cmd := exec.CommandContext(t.Context(), "sh", "-c", s.known(t, command))
	cmd.WaitDelay, cmd.Dir, cmd.Env = time.Second, s.dir, s.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	out = bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")) // a terminal shows them alike
	found := pattern(s.here(shown)).FindSubmatch(out)
	if found == nil {
		t.Fatalf("%s prints\n%s\nand the page shows\n%s", command, out, shown)
	}
	for i, id := range idForm.FindAllString(shown, -1) {
		s.ids[id] = string(found[i+1])
	}
}

// serve starts a server with the command of the page, on a free port. The one before it is killed,
// as a page may say: nothing that it promised may be lost.
func (s *session) serve(t *testing.T, command, shown string) {
	t.Helper()
	s.kill()
	s.server = exec.Command("sh", "-c", "exec env "+s.known(t, command)+" --addr 127.0.0.1:0"+s.flags)
	s.server.Dir, s.server.Env = s.dir, s.environ()
	var stderr bytes.Buffer
	s.server.Stderr = &stderr
	out, err := s.server.StdoutPipe()
	if err == nil {
		err = s.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.kill()
		t.Fatalf("%s: %v\n%s", command, err, stderr.String())
	}
	s.page, s.url = address.FindString(shown), address.FindString(line)
	if got, _, _ := strings.Cut(line, " at "); s.page == "" || !strings.HasPrefix(shown, got+" at ") {
		t.Errorf("%s prints\n%s\nand the page shows\n%s", command, line, shown)
	}
}

func (s *session) kill() {
	if s.server != nil && s.server.Process != nil {
		_ = s.server.Process.Kill()
		_ = s.server.Wait()
	}
}

// write makes a file that the page shows. Go files go beside the sources of the project, for
// [session.build].
func (s *session) write(t *testing.T, b block) {
	t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(b.file))
	if b.added {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.text = string(text) + b.text
	}
	if b.language == "go" && !s.module {
		path = filepath.Join(t.TempDir(), filepath.Base(b.file))
		s.sources[b.file] = path
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(b.text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get stands for the go get of a page that makes a module of its own: the project in its directory
// is what it would get, and what the project requires is on this machine.
func (s *session) get(t *testing.T) {
	t.Helper()
	project, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?s)\nrequire \(.*`).FindString(read(t, "go.mod"))
	own, err := os.ReadFile(filepath.Join(s.dir, "go.mod"))
	if err == nil {
		text := string(own) + "\nrequire github.com/dormouse-dev/dormouse v0.0.0\n\nreplace github.com/dormouse-dev/dormouse => " + project + "\n" + required
		err = os.WriteFile(filepath.Join(s.dir, "go.mod"), []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, "go.sum"), []byte(read(t, "go.sum")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// build runs a page's go build in the project, as if the page's sources were there, or in the
// page's own module.
func (s *session) build(t *testing.T, command string) {
	t.Helper()
	if s.module {
		s.buildOwn(t, command)
		return
	}
	project, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for name, path := range s.sources {
		replaced[filepath.Join(project, filepath.FromSlash(name))] = path
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.Replace(command, " -o bin/", " -ldflags=-w -overlay "+overlay+" -o "+s.bin+"/", 1))
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func (s *session) buildOwn(t *testing.T, command string) {
	t.Helper()
	args := strings.Fields(strings.Replace(command, " -o bin/", " -mod=mod -ldflags=-w -o "+s.bin+"/", 1))
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

var startsServer = regexp.MustCompile(`^(\w+=\S+ )*\w+ (dev|serve)\b`)

// play goes through a page in order.
func (s *session) play(t *testing.T, page string) {
	t.Helper()
	t.Cleanup(s.kill)
	for _, b := range blocksOf(page) {
		if s.told != nil {
			s.told(t, s, b.prose)
		}
		if s.shown != nil && b.language == "text" {
			s.shown(t, s, b.text)
		}
		if b.file != "" {
			s.write(t, b)
		}
		if b.language != "console" {
			continue
		}
		for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(part, "\n")
			switch {
			case startsServer.MatchString(command):
				s.serve(t, command, shown)
			case strings.HasPrefix(command, "go get github.com/dormouse-dev/dormouse@"):
				s.module = true
				s.get(t)
			case strings.HasPrefix(command, "go build -o bin/"):
				s.build(t, command)
			default:
				s.do(t, command, shown)
			}
		}
	}
}
