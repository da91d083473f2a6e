package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// served starts a server with the agents of the conversations and returns a client of it.
func served(t *testing.T, o Options) *client.Client {
	t.Helper()
	agents := filepath.Join(t.TempDir(), "agents")
	if _, _, err := WriteAgents(agents, o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server, err := local.Start(ctx, local.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Agents: agents, Workers: 8,
		Tools: tool.NewRegistry(nil), Hooks: hook.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
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
	return client.New("http://"+server.Addr(), client.WithRetries(0))
}

func against(t *testing.T, c *client.Client, session string, faults float64, o Options) Report {
	t.Helper()
	report, err := RunAgainst(t.Context(), Target{Client: c, Session: session, Faults: faults, Silence: 30 * time.Second}, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func read(t *testing.T, lines ...string) []recording.Conversation {
	t.Helper()
	conversations, err := recording.Read(strings.NewReader(strings.Join(lines, "\n")), "made")
	if err != nil {
		t.Fatal(err)
	}
	return conversations
}

func TestRecordingsPlayedAgainstAServerComeOutAsRecorded(t *testing.T) {
	for seed := range uint64(2) {
		for _, rate := range []float64{0, 0.3} {
			t.Run(fmt.Sprintf("seed %d, faults %v", seed, rate), func(t *testing.T) {
				o := Options{Conversations: recording.Generate(seed, 7, recording.GenerateOptions{JSONOnly: true}), Seed: seed,
					Gate: []string{"search", "refund"}, Edits: 0.3, Denials: 0.3, Parallel: seed == 1}
				report := against(t, served(t, o), "s", rate, o)
				check(t, report, nil)
				if report.Conversations+len(report.Unplayed) != 7 || report.Conversations < 4 || report.Edited == 0 || report.Denied == 0 ||
					(len(report.TargetFaults) > 0) != (rate > 0) {
					t.Errorf("not all was tried: %+v", report)
				}
			})
		}
	}
}

func TestAnotherSessionStartsAnewAndTheSameOneDoesNot(t *testing.T) {
	o := Options{Conversations: recording.Generate(3, 4, recording.GenerateOptions{JSONOnly: true})}
	c := served(t, o)
	for _, session := range []string{"a", "b", "b"} {
		check(t, against(t, c, session, 0, o), nil)
	}
	page, err := c.RunPage(t.Context(), client.RunFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	users := 0
	scripts, _ := scripts(o)
	for _, s := range scripts {
		for _, m := range s.conversation.Messages {
			if m.Role == "user" {
				users++
			}
		}
	}
	if len(page.Items) != 2*users {
		t.Errorf("two sessions of %d runs made %d", users, len(page.Items))
	}
}

// twin are calls and words that only their place tells apart.
const twin = `{"id":"Twins / \"1\"","messages":[{"role":"user","content":"yes"},` +
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"look","arguments":"{\"a\":1}"}},{"id":"c","function":{"name":"look","arguments":"{\"a\":1,\"b\":2}"}}]},` +
	`{"role":"tool","tool_call_id":"c","content":"one"},{"role":"tool","tool_call_id":"c","content":"both"},` +
	`{"role":"assistant","content":"first ${name} and \"${x}\""},{"role":"user","content":"yes"},` +
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"look","arguments":"{\"a\": 1.0}"}}]},{"role":"tool","tool_call_id":"c","content":"one, later"},` +
	`{"role":"assistant","content":""},{"role":"user","content":"yes"},{"role":"user","content":"anybody?"},{"role":"assistant","content":"second"}]}`

func TestWhatIsSaidTwiceIsToldApartByMarksThatAreCounted(t *testing.T) {
	o := Options{Conversations: read(t, twin, `{"id":"plain","messages":[{"role":"user","content":"(hi) \\E [x]"},{"role":"assistant","content":"${nothing}"}]}`)}
	report := against(t, served(t, o), "s", 0, o)
	check(t, report, nil)
	if report.Conversations != 2 || report.Marks != 3 { // twice "yes" again, and one call
		t.Errorf("%d conversations, %d marks, not played %v", report.Conversations, report.Marks, report.Unplayed)
	}
	if o.Conversations[0].Messages[5].Text() != "yes" {
		t.Error("the recording was changed")
	}
}

func TestWhatNoAgentFileCanSayIsNamedAndCounted(t *testing.T) {
	o := Options{Conversations: read(t,
		`{"id":"list","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"t","arguments":"[1]"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`,
		`{"id":"dots","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"no such name","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`,
		`{"id":"fine","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`)}
	report := against(t, served(t, o), "s", 0, o)
	check(t, report, nil)
	if report.Conversations != 1 || len(report.Unplayed) != 2 || !strings.Contains(report.Verdict(), "2 more not played") {
		t.Fatalf("%s: %v", report.Verdict(), report.Unplayed)
	}
	for i, want := range []string{"no JSON object", "a call needs a tool"} {
		if got := report.Unplayed[i].String(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestAServerWithoutTheAgentsIsRefused(t *testing.T) {
	o := Options{Conversations: read(t, `{"id":"fine","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`)}
	_, err := RunAgainst(t.Context(), Target{Client: served(t, Options{})}, o)
	missing, ok := errors.AsType[*MissingError](err)
	if !ok || len(missing.Names) != 1 || !strings.Contains(err.Error(), "--agents-to") {
		t.Errorf("error %v", err)
	}
}

// TestADifferenceOnTheServerIsFound serves agents that are not quite the recording.
func TestADifferenceOnTheServerIsFound(t *testing.T) {
	line := func(said, result, args string) string {
		return `{"id":"x","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"pay","arguments":"` + args +
			`"}}]},{"role":"tool","tool_call_id":"c","content":"` + result + `"},{"role":"assistant","content":"` + said + `"}]}`
	}
	recorded := Options{Conversations: read(t, line("done", "paid", `{\"n\":1}`)), Gate: []string{"pay"}}
	for name, wrong := range map[string]Options{
		"another text":      {Conversations: read(t, line("gone", "paid", `{\"n\":1}`)), Gate: recorded.Gate},
		"another result":    {Conversations: read(t, line("done", "unpaid", `{\"n\":1}`)), Gate: recorded.Gate},
		"another argument":  {Conversations: read(t, line("done", "paid", `{\"n\":2}`)), Gate: recorded.Gate},
		"no gate":           {Conversations: recorded.Conversations},
		"nothing different": recorded,
	} {
		t.Run(name, func(t *testing.T) {
			c := served(t, wrong)
			r := &remote{o: recorded, t: Target{Client: c, Session: "s"}}
			r.report.TargetFaults = map[string]int{}
			want, err := newScript(recorded.Conversations[0], recorded)
			if err != nil {
				t.Fatal(err)
			}
			want.name = scriptName(wrong.Conversations[0])
			r.visit(t.Context(), want)
			if r.report.OK() != (name == "nothing different") {
				t.Errorf("%s: %s\n%v %v", name, r.report.Verdict(), r.report.First, r.report.FirstDeviating)
			}
		})
	}
}

func TestRealRecordingsCanAllBeSaidInAgentFiles(t *testing.T) {
	if _, err := os.Stat(airline); err != nil {
		t.Skip("the recordings are not here; nothing was written")
	}
	conversations, err := readFile(airline)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Conversations: conversations, Gate: changing}
	dir := t.TempDir()
	written, not, err := WriteAgents(dir, o)
	if err != nil || written != len(conversations) {
		t.Fatalf("%d of %d written, %v, %v", written, len(conversations), not, err)
	}
	if defs, err := agentfile.Load(dir); err != nil || len(defs) != written {
		t.Errorf("%d agents, %v", len(defs), err)
	}
	o.Limit = effort.Of(6, 2)
	check(t, against(t, served(t, o), "s", 0.2, o), nil)
}

func TestAnAgentFileIsTheSameEveryTime(t *testing.T) {
	o := Options{Conversations: recording.Generate(9, 10, recording.GenerateOptions{JSONOnly: true}), Gate: []string{"refund"}}
	first, _ := scripts(o)
	for range 5 {
		again, _ := scripts(o)
		for i := range first {
			if string(first[i].text) != string(again[i].text) {
				t.Fatalf("the file of %s differs from time to time", first[i].name)
			}
		}
	}
	names := map[string]bool{}
	for _, s := range first {
		names[s.name] = true
	}
	if len(names) != len(first) || len(first) == 0 {
		t.Errorf("%d names for %d conversations", len(names), len(first))
	}
}
