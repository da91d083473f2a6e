package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// forgery is a request that answers nothing that was asked of its sender, or claims what isn't so.
// In its body SUS and CALL are of an approval that waits; PICKSUS and PICK of a client's call that
// waits in the same step; OLD is a call of the run before, and OLDRUN that run. MATE... are of
// another conversation of the same caller, and FAR... of another tenant. OVERSUS was denied.
// ...PROPOSAL are states of decisions that a model has proposed.
type forgery struct {
	body string
	want string // the status and the stable code of the answer
	as   string // the caller; "anna", who may do all of it, if empty. "-" has no token
	to   string // the path, or for MCP the method; that of the protocol if empty
}

// fewest is how many forgeries each protocol is tried with.
const fewest = 30

// forger tries the forgeries of a protocol.
type forger struct {
	forgeries map[string]forgery
	send      func(c caller, f forgery, n int) (reply, error)
}

var forgers = map[string]forger{
	"AI SDK": {aisdkForgeries, func(c caller, f forgery, n int) (reply, error) {
		return c.send(cmp.Or(f.to, []string{"/ai-sdk/desk", "/ai-sdk/desk/workflow"}[n%2]), f.body, "Content-Type", "application/json")
	}},
	"AG-UI": {aguiForgeries, sendAGUI},
	"A2A": {a2aForgeries, func(c caller, f forgery, n int) (reply, error) {
		return c.send(cmp.Or(f.to, "/a2a/desk"), f.body, "Content-Type", "application/json", "A2A-Version", "1.0")
	}},
	"MCP":                {mcpForgeries, sendMCP},
	"MCP, confirmations": {proposalForgeries, sendAsking},
}

// sendAsking sends a forgery as a client of MCP that can ask its user.
func sendAsking(c caller, f forgery, _ int) (reply, error) {
	var params map[string]any
	if err := json.Unmarshal([]byte(f.body), &params); err != nil {
		return reply{}, err
	}
	return c.mcp(cmp.Or(f.to, "tools/call"), params)
}

// sendMCP sends a decision as a client that can't ask its user, too. It is answered alike.
func sendMCP(c caller, f forgery, n int) (reply, error) {
	asking, err := sendAsking(c, f, n)
	if !strings.HasPrefix(f.body, `{"name":"decide"`) || err != nil {
		return asking, err
	}
	var params map[string]any
	if err := json.Unmarshal([]byte(f.body), &params); err != nil {
		return reply{}, err
	}
	if silent, err := c.silentMCP("tools/call", params); err != nil || silent.verdict() != asking.verdict() {
		return silent, err
	}
	return asking, nil
}

// TestForgeriesRunNothing tries at least 30 forgeries in each protocol, all on the same questions:
// an approval and a client's call that wait in one step, beside others of the same caller and of
// another tenant. After each, the questions are open as they were, nothing was paid, and the answer
// has the stable code that the table says. Then the right answers count, once.
func TestForgeriesRunNothing(t *testing.T) {
	for name, f := range forgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(f.forgeries) < fewest {
				t.Errorf("%d forgeries; there should be %d", len(f.forgeries), fewest)
			}
			t.Logf("%d forgeries", len(f.forgeries))
			s := serve(t, append(callers(t), "--agents", shared(t))...)
			w := waits(t, s)
			for i, name := range slices.Sorted(maps.Keys(f.forgeries)) {
				forged := f.forgeries[name]
				forged.body = w.names.Replace(forged.body)
				got, err := f.send(caller{s.url, strings.TrimPrefix(cmp.Or(forged.as, "anna"), "-")}, forged, i)
				if verdict := got.verdict(); err != nil || verdict != forged.want {
					t.Errorf("%s: want %s, got %s, %v: %s", name, forged.want, verdict, err, got.text)
				}
				w.same(t, name)
			}
			w.answer(t)
		})
	}
}

var (
	worded   = regexp.MustCompile(`"code":"(\w+)"`)
	numbered = regexp.MustCompile(`"code":(-\d+)`) // where a protocol has no more
)

// verdict is the status of an answer, and its code, if it has one.
func (r reply) verdict() string {
	for _, code := range []*regexp.Regexp{worded, numbered} {
		if found := code.FindStringSubmatch(r.text); found != nil && r.code == "" {
			r.code = found[1]
		}
	}
	return strings.TrimSpace(fmt.Sprint(r.status, " ", r.code))
}

// shared is a directory with the agents, where another tenant has the desk, too.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("agents")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "desk.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "\ntenants: [default, other]\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// waiting is what waits while forgeries are tried.
type waiting struct {
	desk
	runs  map[*client.Client][]client.Run
	asked client.Run // the one that most forgeries are about
	names *strings.Replacer
}

func waits(t *testing.T, s desk) *waiting {
	t.Helper()
	anna, eve := client.New(s.url, client.WithToken("anna")), client.New(s.url, client.WithToken("eve"))
	say := func(c *client.Client, chat, words string) client.Run {
		t.Helper()
		run, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", ThreadKey: chat, Input: client.Text(words)}, "")
		if err == nil {
			run, err = c.WaitRun(t.Context(), run.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	old, done := say(anna, "chat", "weather in Bern"), say(anna, "done", "pay 40")
	asked, mate, far := say(anna, "chat", "pay 53 and pick"), say(anna, "mate", "pay 60"), say(eve, "far", "pay 70")
	pay, pick := asked.Pending[0], asked.Pending[1]
	state := func(input, chat string) string {
		got, err := caller{s.url, "anna"}.mcp("tools/call", map[string]any{"name": "desk", "arguments": map[string]any{"input": input, "thread": chat}})
		var asks struct{ Result struct{ RequestState string } }
		if err != nil || json.Unmarshal([]byte(got.text), &asks) != nil || asks.Result.RequestState == "" {
			t.Fatal(got, err)
		}
		return asks.Result.RequestState
	}
	names := append(proposals(t, s, pay, mate.Pending[0], done.Pending[0]), "PICKSUS", pick.Suspension.ID, "PICK", pick.CallID, "OLDRUN", old.ID, "OLD", "call_1",
		"MATESTATE", state("pay 60", "mate"), "MATESUS", mate.Pending[0].Suspension.ID, "MATECALL", mate.Pending[0].CallID, "MATERUN", mate.ID,
		"FARSUS", far.Pending[0].Suspension.ID, "FARCALL", far.Pending[0].CallID, "FARRUN", far.ID,
		"SUS", pay.Suspension.ID, "CALL", pay.CallID, "RUN", asked.ID, "THREAD", asked.ThreadID, "STATE", state("pay 53 and pick", "chat"))
	return &waiting{s, map[*client.Client][]client.Run{anna: {asked, mate}, eve: {far}}, asked, strings.NewReplacer(names...)}
}

// same says that all still waits as it did.
func (w *waiting) same(t *testing.T, forgery string) {
	t.Helper()
	asks := func(r client.Run) (all []string) {
		for _, p := range r.Pending {
			all = append(all, p.Suspension.ID)
		}
		return all
	}
	for c, runs := range w.runs {
		for _, run := range runs {
			now, err := c.WaitRun(t.Context(), run.ID)
			if err != nil || now.Status != client.StatusWaiting || !slices.Equal(asks(now), asks(run)) {
				t.Fatalf("%s: the run is %+v, %v", forgery, now, err)
			}
		}
	}
	if paid := payments(t, w.desk); paid != "" {
		t.Fatalf("%s: paid: %s", forgery, paid)
	}
}

// answer gives the right answers: what was tried hinders nothing.
func (w *waiting) answer(t *testing.T) {
	t.Helper()
	c := client.New(w.url, client.WithToken("anna"))
	_, err := c.Decide(t.Context(), w.asked.ID, client.Decision{Target: w.asked.Pending[0].Suspension.ID, Action: client.ActionResume})
	if err == nil {
		_, err = c.Decide(t.Context(), w.asked.ID, client.Decision{Target: w.asked.Pending[1].Suspension.ID, Result: json.RawMessage(`{"picked":"red"}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	if run, err := c.WaitRun(t.Context(), w.asked.ID); err != nil || run.Status != client.StatusDone {
		t.Errorf("%+v, %v", run, err)
	}
	if paid := payments(t, w.desk); strings.Count(paid, "\n") != 1 || !strings.Contains(paid, `"amount":53,"to":"Ann"`) {
		t.Errorf("paid: %s", paid)
	}
}
