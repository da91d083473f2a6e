package local

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// TestACodeIsNowhereInTheClear looks for a code in everything but the mail: the files of the store,
// the log, and what callers can read.
func TestACodeIsNowhereInTheClear(t *testing.T) {
	a := newArena(t)
	x := a.scene(t, "open")
	link := x.codeLink("anna@example.com")
	code := x.code(link, "anna@example.com")
	has := regexp.MustCompile(`(^|[^0-9])` + code + `([^0-9]|$)`)
	x.sends(request{path: link, body: withCode(code + "0")})
	if got := x.sends(request{path: link, body: withCode(code)}); got != "202 accepted" {
		t.Fatal(got)
	}
	x.as("boss").await(t, x.run, "done")
	for _, path := range []string{"/v1/runs/" + x.run, "/v1/runs/" + x.run + "/events", "/v1/runs/" + x.run + "/links", "/v1/decisions", "/v1/events", link} {
		text := x.reads(path)
		if has.MatchString(text) {
			t.Errorf("%s has the code: %s", path, text)
		}
	}
	y := a.scene(t, "open")
	link = y.codeLink("anna@example.com")
	a.mail.Close()
	if got := y.sends(request{path: link, body: askCode}); got != "503 code_not_sent" {
		t.Error(got)
	}
	log := a.rig.log.text()
	if has.MatchString(log) || !strings.Contains(log, "a one-time code could not be sent") || strings.Contains(log, "anna@example.com") {
		t.Errorf("the log has the code or the address: %s", log)
	}
	a.end(t)
	files := 0
	err := filepath.WalkDir(a.rig.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if files++; has.Match(text) {
			t.Errorf("%s has the code", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// An agent whose links ask for codes is served where codes can be mailed, and nowhere else.
func TestAnAgentThatSendsCodesNeedsMail(t *testing.T) {
	for _, mails := range []bool{false, true} {
		r, _ := countingRig(t)
		r.deploy(asked + "notify:\n  - {name: boss, on: [suspended], mail: [boss@example.com], require: code}\n")
		a, o := &arena{T: t}, r.options()
		if mails {
			a.sendsMail(&o)
		}
		s := r.startWith(o)
		_, err := s.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"pay"`)}, "")
		switch {
		case mails && err != nil:
			t.Error(err)
		case !mails && (err == nil || codeOf(err) != "agent_unavailable" || !strings.Contains(err.Error(), "set --smtp and --mail-from")):
			t.Errorf("without mail: %v", err)
		}
		s.end(t)
	}
}

// reads is what an administrator gets at a path.
func (x *scene) reads(path string) string {
	x.Helper()
	req, err := http.NewRequestWithContext(x.Context(), "GET", "http://"+x.Addr()+path, nil)
	if err != nil {
		x.Fatal(err)
	}
	req.Header = bearer("boss")
	req.Header.Set("Accept", "application/json") // no stream
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		x.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		x.Fatalf("%s: %d %s %v", path, resp.StatusCode, text, err)
	}
	return string(text)
}
