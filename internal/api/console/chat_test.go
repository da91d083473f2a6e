package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

var keyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

// said is the form of a message, filled in.
func (p shown) said(agent, text string) url.Values {
	form := url.Values{"form": {p.form()}, "text": {text}}
	if m := keyField.FindStringSubmatch(p.text); m != nil {
		form.Set("key", m[1])
	}
	if agent != "" {
		form.Set("agent", agent)
	}
	return form
}

// A form that is sent twice starts one run. What was typed is still there when it is refused.
func TestAConversation(t *testing.T) {
	s := newServer(t)
	olga := s.signedIn("olga")
	page := olga.get("/chat")
	form := page.said("desk", "hello\r\nthere")
	first, second := olga.post("/chat", form), olga.post("/chat", form)
	if first.status != http.StatusSeeOther || !strings.HasPrefix(first.to, "/chat/thr_") || second.to != first.to {
		t.Fatalf("%d to %q, then %d to %q\n%s", first.status, first.to, second.status, second.to, first.text)
	}
	runs, err := s.reads.Runs(t.Context(), frontend.Caller{Tenant: tenant}, query.List{})
	if err != nil || len(runs.Items) != 1 || runs.Items[0].StartedBy.Via != "console" || runs.Items[0].StartedBy.By != "token:olga" {
		t.Fatalf("%+v, %v", runs.Items, err)
	}
	run := runs.Items[0].ID
	s.worker.Finish(run, "hello yourself")
	chat := olga.get(first.to)
	for _, text := range []string{"hello", "hello yourself", "Done"} {
		if !strings.Contains(chat.text, text) {
			t.Errorf("no %q in\n%s", text, chat.text)
		}
	}
	if again := olga.post(first.to, chat.said("", "and more")); again.status != http.StatusSeeOther || again.to != first.to {
		t.Errorf("a message: %d to %q\n%s", again.status, again.to, again.text)
	}
	if refused := olga.post("/chat", olga.get("/chat").said("none", "precious words")); refused.status != http.StatusNotFound || !strings.Contains(refused.text, "precious words") {
		t.Errorf("an agent that isn't there: %d\n%s", refused.status, refused.text)
	}
}

// The page of an answered question leads back to the conversation.
func TestAnAnsweredQuestionLeadsBackToItsConversation(t *testing.T) {
	s := newServer(t)
	run, sus := s.waits(`"go"`, payment("50"))
	thread := strings.TrimSuffix(strings.Replace(run, "run_", "thr_", 1), "_0")
	olga := s.signedIn("olga")
	page := olga.get("/questions/" + sus)
	olga.post("/questions/"+sus, url.Values{"form": {page.form()}, "shown": {page.fingerprint()}, "action": {"cancel"}})
	if outcome := olga.get("/questions/" + sus); !strings.Contains(outcome.text, `href="/chat/`+thread+`"`) || !strings.Contains(outcome.text, `data-run="`+run+`"`) {
		t.Errorf("the outcome:\n%s", outcome.text)
	}
}

// One who only reads sees conversations and can send nothing.
func TestWhoMayTalk(t *testing.T) {
	s := newServer(t)
	run, _ := s.waits(`"go"`, payment("50"))
	thread := strings.TrimSuffix(strings.Replace(run, "run_", "thr_", 1), "_0")
	rita, olga := s.signedIn("rita"), s.signedIn("olga")
	page := rita.get("/chat/" + thread)
	if page.status != http.StatusOK || strings.Contains(page.text, "<textarea") || !strings.Contains(page.text, "Your role lets you send nothing") {
		t.Errorf("%d\n%s", page.status, page.text)
	}
	asked := olga.get("/chat/" + thread)
	if strings.Contains(asked.text, "<textarea") || !strings.Contains(asked.text, "Answer the question first") || !strings.Contains(asked.text, `href="/questions/sus_`) {
		t.Errorf("one that waits:\n%s", asked.text)
	}
	for path, form := range map[string]url.Values{"/chat": page.said("desk", "x"), "/chat/" + thread: page.said("", "x"), "/runs/" + run: {"form": {page.form()}, "action": {"end"}}} {
		if got := rita.post(path, form); got.status != http.StatusForbidden {
			t.Errorf("%s by one who only reads: %d", path, got.status)
		}
	}
	if now := s.pending(run); len(now) != 1 {
		t.Error("the run waits no more")
	}
}

// A run can be ended from its page, and by no other form.
func TestARunIsEnded(t *testing.T) {
	s := newServer(t)
	run, _ := s.waits(`"go"`, payment("50"))
	olga := s.signedIn("olga")
	page := olga.get("/runs/" + run)
	if !strings.Contains(page.text, "End this run") || strings.Contains(page.text, "Try the run again") || strings.Contains(page.text, ">Pause<") {
		t.Errorf("what can be done to a run that waits:\n%s", page.text)
	}
	status := func() string {
		now, err := s.reads.Run(t.Context(), frontend.Caller{Tenant: tenant}, run)
		if err != nil {
			t.Fatal(err)
		}
		return now.Status
	}
	for name, form := range map[string]url.Values{"the enter key": {"form": {page.form()}, "action": {"look"}}, "of another session": {"form": {s.signedIn("olga").get("/").form()}, "action": {"end"}}} {
		if got := olga.post("/runs/"+run, form); got.status == http.StatusSeeOther || status() != "waiting" {
			t.Errorf("%s: %d, %s", name, got.status, status())
		}
	}
	if got := olga.post("/runs/"+run, url.Values{"form": {page.form()}, "action": {"end"}}); got.status != http.StatusSeeOther || got.to != "/runs/"+run {
		t.Fatalf("%d to %q\n%s", got.status, got.to, got.text)
	}
	head, err := s.reads.LoadThread(t.Context(), tenant, strings.TrimSuffix(strings.Replace(run, "run_", "thr_", 1), "_0"))
	if _, asked := head.Inbox[core.KeyCancel]; err != nil || !asked {
		t.Errorf("the run isn't asked to end: %v", err)
	}
}

func TestWhatAgentsMayDo(t *testing.T) {
	s := newServer(t)
	if page := s.signedIn("rita").get("/agents"); page.status != http.StatusOK || !strings.Contains(page.text, "<bdi>desk</bdi>") || strings.Contains(page.text, "Talk to it") {
		t.Errorf("%d\n%s", page.status, page.text)
	}
	if got := s.signedIn("anna").get("/agents"); got.status != http.StatusForbidden {
		t.Errorf("one who only decides gets %d", got.status)
	}
}
