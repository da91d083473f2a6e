package local

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/hookfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

const issueHook = `
verify: {scheme: github, secret: HOOK_GITHUB}
when:
  - {path: action, equals: opened}
  - {path: issue.number, exists: true}
by: sender.login
start:
  agent: desk
  input: "Issue {issue.number}: {issue.title}"
  metadata: {issue: "{issue.number}", repository: "{repository.full_name}"}
`

const openedIssue = `{"action":"opened","issue":{"number":7,"title":"Refund \"A-2\""},"repository":{"full_name":"acme/shop"},"sender":{"login":"octo"}}`

// hooks writes a hook file.
func (r *rig) hook(name, text string) {
	r.t.Helper()
	folder := filepath.Join(r.agents, hookfile.Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// github posts a body as GitHub signs it.
func (s running) github(t *testing.T, name, key, body string) (status int, answer wire.HookAnswer) {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.Addr()+"/v1/hooks/"+name, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got.StatusCode == 200 {
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return got.StatusCode, answer
}

func TestAGitHubEventStartsARunOnceAlsoAcrossARestart(t *testing.T) {
	t.Setenv(secret.Variable("HOOK_GITHUB"), "the key")
	r := newRig(t, nothing)
	r.deploy(allowed)
	r.hook("issues", issueHook)
	s := r.start()
	if status, _ := s.github(t, "issues", "another key", openedIssue); status != 401 {
		t.Errorf("another key: %d", status)
	}
	status, first := s.github(t, "issues", "the key", openedIssue)
	if status != 200 || first.RunID == "" || first.Replayed {
		t.Fatalf("%d %+v", status, first)
	}
	run := s.await(t, first.RunID, "done")
	if string(run.Metadata) != `{"issue":7,"repository":"acme/shop"}` {
		t.Errorf("metadata %s", run.Metadata)
	}
	if status, answer := s.github(t, "issues", "the key", strings.Replace(openedIssue, "opened", "closed", 1)); status != 200 || answer.Ignored == "" || answer.RunID != "" {
		t.Errorf("a closed issue: %d %+v", status, answer)
	}
	s.end(t)
	s = r.start()
	status, again := s.github(t, "issues", "the key", openedIssue)
	if status != 200 || again.RunID != first.RunID || !again.Replayed {
		t.Errorf("the same delivery: %d %+v, want the run %s", status, again, first.RunID)
	}
	messages, err := s.MessagePage(t.Context(), run.ThreadID, client.MessageOptions{})
	if said, _ := json.Marshal(messages); err != nil || !strings.Contains(string(said), `Issue 7: Refund \"A-2\"`) {
		t.Errorf("messages %s, %v", said, err)
	}
	s.end(t)
	r.hides("the key")
}

func TestAChangedHookFileIsReadAgain(t *testing.T) {
	t.Setenv(secret.Variable("HOOK_GITHUB"), "the key")
	r := newRig(t, nothing)
	r.deploy(allowed)
	r.hook("issues", "verify: {scheme: github}\n")
	o := r.options()
	o.Watch = true
	s := r.startWith(o)
	if status, _ := s.github(t, "issues", "the key", openedIssue); status != 503 {
		t.Errorf("a hook with a mistake: %d", status)
	}
	r.log.await(t, "a hook file has a mistake")
	r.hook("issues", issueHook)
	if status, _ := s.github(t, "issues", "the key", openedIssue); status != 200 {
		t.Errorf("the corrected hook: %d", status)
	}
	if err := os.RemoveAll(filepath.Join(r.agents, hookfile.Folder)); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.github(t, "issues", "the key", openedIssue); status != 404 {
		t.Errorf("a removed hook: %d", status)
	}
	o.Strict, o.Data = true, filepath.Join(t.TempDir(), "data")
	r.hook("issues", "verify: {scheme: github}\n")
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "verify needs secret") {
		t.Errorf("a strict start: %v", err)
	}
}

func TestAHookWithoutItsSecretIsReportedAtTheStart(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed)
	r.hook("issues", issueHook)
	o := r.options()
	r.startWith(o)
	r.log.await(t, "a hook's secret is not set")
	o.Strict, o.Data = true, filepath.Join(t.TempDir(), "data")
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "hook issues: the secret HOOK_GITHUB is not set; set DORMOUSE_SECRET_HOOK_GITHUB") {
		t.Errorf("a strict start: %v", err)
	}
}
