package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/proof/slackdouble"
)

// workspace is a double of Slack in which anna does what a page says that she does. It reads the
// app's manifest from the page.
type workspace struct {
	*slackdouble.Slack
	pressed, seen int
}

const anna = "U0ANNA"

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{Slack: slackdouble.New()}
	t.Cleanup(w.Close)
	return w
}

// linked are the flags of the linker for a program that calls this workspace.
func (w *workspace) linked() string {
	return "-X github.com/dormouse-dev/dormouse/internal/local.slackAPI=" + w.API()
}

// joins puts the workspace in the place of the page's.
func (w *workspace) joins(s *session) {
	s.doubles = map[string]string{"xoxb-TOKEN": slackdouble.Token, "SIGNING-SECRET": slackdouble.Key}
	s.flags = " --allow-private-hosts " + strings.TrimPrefix(w.URL, "http://")
	s.told, s.shown = w.acts, w.shows
}

// ends checks that the page showed what its reader needs to see, and that Slack took every call.
func (w *workspace) ends(t *testing.T) {
	t.Helper()
	if faults := w.State().Faults; len(faults) > 0 || w.pressed != 2 || w.seen < 3 {
		t.Errorf("%d presses, %d messages shown; Slack refused %s", w.pressed, w.seen, faults)
	}
}

var (
	presses = regexp.MustCompile(`Anna presses \*\*(\pL+…?)\*\*`)
	enters  = regexp.MustCompile("enters `([^`]+)`")
)

// acts presses the button that the prose names, and enters the reason.
func (w *workspace) acts(t *testing.T, s *session, prose string) {
	t.Helper()
	label := presses.FindStringSubmatch(prose)
	if label == nil {
		return
	}
	w.pressed++
	m := w.awaits(t, func(m slackdouble.Message) bool { return len(m.Buttons()) > 0 })
	i := slices.IndexFunc(m.Buttons(), func(b slackdouble.Button) bool { return b.Text.Text == label[1] })
	if i < 0 {
		t.Fatalf("the message has no button %s: %s", label[1], m.Raw)
	}
	w.sends(t, s, w.Press(anna, m, m.Buttons()[i]))
	if reason := enters.FindStringSubmatch(prose); reason != nil {
		now, ok := w.Await(func(now slackdouble.State) bool { return len(now.Dialogs) > 0 })
		if !ok {
			t.Fatal("no dialog asks for the reason")
		}
		w.sends(t, s, w.Submit(now.Dialogs[0], reason[1]))
	}
}

// shows holds a text of the page to the latest message.
func (w *workspace) shows(t *testing.T, _ *session, text string) {
	t.Helper()
	w.seen++
	want := pattern(text)
	m := w.awaits(t, func(m slackdouble.Message) bool { return want.MatchString(shown(m)) })
	t.Log(shown(m))
}

// awaits returns the latest message once it is as wanted.
func (w *workspace) awaits(t *testing.T, wanted func(slackdouble.Message) bool) slackdouble.Message {
	t.Helper()
	last := func(now slackdouble.State) slackdouble.Message { return now.Messages[len(now.Messages)-1] }
	now, ok := w.Await(func(now slackdouble.State) bool { return len(now.Messages) > 0 && wanted(last(now)) })
	if !ok {
		for _, m := range now.Messages {
			t.Logf("the channel shows\n%s", shown(m))
		}
		t.Fatalf("members see %s; Slack refused %s", now.Whispers, now.Faults)
	}
	return last(now)
}

// sends posts what Slack sends, to the address in the app's manifest.
func (w *workspace) sends(t *testing.T, s *session, body string) {
	t.Helper()
	var app struct {
		Settings struct {
			Interactivity struct {
				Enabled bool   `yaml:"is_enabled"`
				URL     string `yaml:"request_url"`
			}
		}
		OAuth struct {
			Scopes struct{ Bot []string }
		} `yaml:"oauth_config"`
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "slack-app.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &app)
	}
	to, wrong := url.Parse(app.Settings.Interactivity.URL)
	if err != nil || wrong != nil || to.Scheme != "https" || !app.Settings.Interactivity.Enabled || !slices.Contains(app.OAuth.Scopes.Bot, "chat:write") {
		t.Fatalf("%+v, %v, %v", app, err, wrong)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+to.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = slackdouble.Sign(slackdouble.Key, time.Now(), body)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the server answers %s", resp.Status)
	}
}

// shown is a message as its reader sees it: each block on lines of its own.
func shown(m slackdouble.Message) string {
	var post struct {
		Blocks []struct {
			Type     string
			Text     struct{ Text string }
			Elements []struct {
				Type string
				Text json.RawMessage
			}
		}
	}
	_ = json.Unmarshal(m.Raw, &post)
	var lines []string
	for _, b := range post.Blocks {
		line := b.Text.Text
		for _, e := range b.Elements {
			var plain string
			var object struct{ Text string }
			_, _ = json.Unmarshal(e.Text, &plain), json.Unmarshal(e.Text, &object)
			if e.Type == "button" {
				plain, object.Text = "", "["+object.Text+"]"
			}
			line = strings.TrimSpace(line + " " + plain + object.Text)
		}
		lines = append(lines, line)
	}
	return strings.NewReplacer("<@"+anna+">", "@Anna", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(strings.Join(lines, "\n"))
}
