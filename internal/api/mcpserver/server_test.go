package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// fakeDesk has one run, and notes what is done.
type fakeDesk struct {
	run     wire.Run
	err     error // of everything
	panics  bool
	trial   error // of decisions
	waited  time.Duration
	started []Input
	decided []wire.Decision
}

func (f *fakeDesk) do() error {
	if f.panics {
		panic("a bug")
	}
	return f.err
}

func (f *fakeDesk) Agents(context.Context) ([]wire.Agent, error) {
	return []wire.Agent{{Name: "desk"}}, f.do()
}

func (f *fakeDesk) Start(_ context.Context, in Input) (string, error) {
	f.started = append(f.started, in)
	return f.run.ID, f.do()
}

func (f *fakeDesk) Await(_ context.Context, _ string, longest time.Duration) (wire.Run, error) {
	f.waited = longest
	return f.run, f.do()
}

func (f *fakeDesk) Decide(_ context.Context, _ string, d wire.Decision) (wire.DecisionAnswer, error) {
	f.decided = append(f.decided, d)
	return wire.DecisionAnswer{Code: "accepted"}, cmp.Or(f.trial, f.do())
}

func (f *fakeDesk) Cancel(context.Context, string) (wire.Run, error) { return f.run, f.do() }

func (f *fakeDesk) Approvals(context.Context, Filter) (wire.Page[wire.Approval], error) {
	return wire.Page[wire.Approval]{}, f.do()
}

func (f *fakeDesk) Question(context.Context, string) (*wire.Approval, error) {
	if len(f.run.Pending) == 0 {
		return nil, f.do()
	}
	return &wire.Approval{RunID: f.run.ID, Agent: f.run.Agent, Pending: f.run.Pending[0]}, f.do()
}

func (f *fakeDesk) Run(_ context.Context, run string) (string, error) {
	return "sealed " + run, f.do()
}

func (f *fakeDesk) OpenRun(_ context.Context, state string) (string, error) {
	run, ok := strings.CutPrefix(state, "sealed ")
	if !ok {
		return "", invalid("no state")
	}
	return run, f.do()
}

func (f *fakeDesk) Proposal(_ context.Context, p Proposal) (string, error) {
	return "proposed " + string(core.Encode(p)), f.do()
}

func (f *fakeDesk) OpenProposal(_ context.Context, state string) (p Proposal, err error) {
	raw, ok := strings.CutPrefix(state, "proposed ")
	if !ok || json.Unmarshal([]byte(raw), &p) != nil {
		return p, invalid("no state")
	}
	return p, f.do()
}

var everyone = frontend.Caller{By: "token:anna", Roles: []access.Role{access.Admin}}

const waits = `{"id":"run_a_0","thread_id":"thr_a","agent":"desk","status":"waiting","output":null,"pending":[{"call_id":"c","tool":"pay","tool_name":"pay","arguments":{"amount":50},"kind":"approval","resume_mode":"replay_tool_call","suspension":{"id":"sus_1_x_a","action":"approve"}}]}`

func runOf(t testing.TB, text string) (run wire.Run) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		t.Fatal(err)
	}
	return run
}

// answered sends one message of revision 2026-07-28.
func answered(t testing.TB, f *fakeDesk, method, params string) (Answer, error) {
	t.Helper()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	params = strings.TrimSuffix("{"+meta+","+strings.TrimPrefix(params, "{"), ",}") + map[bool]string{true: "}", false: ""}[params == "{}"]
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	var named struct{ Name string }
	_ = json.Unmarshal([]byte(params), &named)
	r.Header.Set("Mcp-Name", named.Name)
	return Server{Desk: f, Seals: f, Caller: everyone}.Answer(r, []byte(body))
}

func TestFaultsOfTheServerAreErrors(t *testing.T) {
	broken, away := errors.New("a bug"), errors.Join(engine.ErrUnavailable)
	for name, f := range map[string]*fakeDesk{
		"an error": {err: broken}, "a panic": {panics: true}, "a store that is away": {err: away},
		"a refusal for lack of a store": {err: refusal.New(refusal.CodeStorageFailing, "the disk fails")},
	} {
		for method, params := range map[string]string{"tools/list": "{}", "tools/call": `{"name":"desk","arguments":{"input":"x"}}`, "tasks/get": `{"taskId":"run_a_0"}`} {
			if a, err := answered(t, f, method, params); err == nil {
				t.Errorf("%s, %s: %d %s", name, method, a.Status, a.Body)
			}
		}
	}
}

func TestRefusalsAreShown(t *testing.T) {
	refused := refusal.New(refusal.CodeRunOpen, "the run is open")
	refused.RunID, refused.RetryAfter = "run_a_0", 1500*time.Millisecond
	a, err := answered(t, &fakeDesk{err: refused}, "tools/call", `{"name":"desk","arguments":{"input":"x"}}`)
	for _, want := range []string{`"isError":true`, `"code":"run_open"`, `"run_id":"run_a_0"`, `"retry_after":2`, `get_run`} {
		if err != nil || !strings.Contains(string(a.Body), want) {
			t.Errorf("%v: %s lacks %s", err, a.Body, want)
		}
	}
	unavailable := refusal.New(refusal.CodeAgentUnavailable, "a secret isn't set")
	a, err = answered(t, &fakeDesk{err: unavailable}, "tools/call", `{"name":"desk","arguments":{"input":"x"}}`)
	if err != nil || !strings.Contains(string(a.Body), `"isError":true`) {
		t.Errorf("%v, %s", err, a.Body)
	}
	limited := refusal.New("rate_limited", "slower")
	a, err = answered(t, &fakeDesk{err: limited}, "tasks/cancel", `{"taskId":"run_a_0"}`)
	if err != nil || !strings.Contains(string(a.Body), `"code":429`) {
		t.Errorf("%v, %s", err, a.Body)
	}
}

func TestACallWaitsNoLongerThanTheAPI(t *testing.T) {
	f := &fakeDesk{run: runOf(t, waits)}
	for arguments, want := range map[string]time.Duration{`{"run_id":"r"}`: 0, `{"run_id":"r","wait":3}`: 3 * time.Second, `{"run_id":"r","wait":1000000000000}`: longest} {
		if _, err := answered(t, f, "tools/call", `{"name":"get_run","arguments":`+arguments+`}`); err != nil || f.waited != want {
			t.Errorf("%s: waited %s, %v", arguments, f.waited, err)
		}
	}
	if _, err := answered(t, f, "tools/call", `{"name":"desk","arguments":{"input":"x"}}`); err != nil || f.waited != longest {
		t.Errorf("waited %s, %v", f.waited, err)
	}
}

// Answers keep their digits.
func TestNumbersStayAsTheyAre(t *testing.T) {
	f := &fakeDesk{run: runOf(t, `{"id":"run_a_0","agent":"desk","status":"waiting","pending":[{"kind":"input","suspension":{"id":"sus_1_x_a","response_schema":{"type":"object","properties":{"n":{"type":"integer"}}}}}]}`)}
	_, err := answered(t, f, "tools/call", `{"name":"desk","arguments":{},"requestState":"sealed run_a_0","inputResponses":{"sus_1_x_a":{"action":"accept","content":{"n":12345678901234567890}}}}`)
	if err != nil || len(f.decided) != 1 || string(f.decided[0].Result) != `{"n":12345678901234567890}` {
		t.Errorf("%v, %+v", err, f.decided)
	}
}

// Line breaks between the members of a model's JSON begin no line of what the user is shown.
func TestAProposalHasNoLinesOfTheModel(t *testing.T) {
	f := &fakeDesk{run: runOf(t, `{"id":"run_a_0","agent":"desk","status":"waiting","pending":[{"kind":"input","tool":"ask","arguments":{},"fingerprint":"v1:0","suspension":{"id":"sus_1_x_a"}}]}`),
		trial: refusal.New(refusal.CodeChanged, "it would be stored")}
	a, err := answered(t, f, "tools/call", `{"name":"decide","arguments":{"target":"sus_1_x_a","result":[`+"\n"+`"Approvals: 2 of 2"`+"\n"+`]}}`)
	if err != nil || !strings.Contains(string(a.Body), `Answer: [\"Approvals: 2 of 2\"]\n`) {
		t.Errorf("%v, %s", err, a.Body)
	}
}

func TestAMessageThatIsNone(t *testing.T) {
	for _, body := range []string{``, `{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk","inputResponses":{"a":null}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`} {
		for _, version := range []string{"", "2025-11-25", "2026-07-28", "2999-01-01"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
			r.Header.Set("Content-Type", "application/json")
			if version != "" {
				r.Header.Set("Mcp-Protocol-Version", version)
			}
			f := &fakeDesk{}
			if a, err := (Server{Desk: f, Seals: f, Caller: everyone}).Answer(r, []byte(body)); err != nil && !refusal.Is(err, problems.CodeMalformed) || len(f.started)+len(f.decided) > 0 {
				t.Errorf("%s %s: %v, %d", version, body, err, a.Status)
			}
		}
	}
}

// Whatever is sent, the server goes on, and decides only about the questions that are named.
func FuzzAnswer(f *testing.F) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{` + meta + `,"name":"desk","arguments":{"input":"x","thread":"t"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"desk","requestState":"sealed r","inputResponses":{"sus_1_x_a":{"action":"accept","content":{"approved":true}}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"decide","arguments":{"target":"sus_1_x_a","action":"resume"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"decide","arguments":{"target":"sus_1_x_a","action":"resume"},"requestState":"proposed {}","inputResponses":{"sus_1_x_a":{"action":"accept","content":{"confirmed":true}}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{` + meta + `,"taskId":"r","inputResponses":{"sus_1_x_a":{"action":"decline"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + meta + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `[]`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, body string, modern bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", nil)
		r.Header.Set("Content-Type", "application/json")
		var m struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal([]byte(body), &m)
		if modern {
			r.Header.Set("Mcp-Protocol-Version", latest)
			r.Header["Mcp-Method"], r.Header["Mcp-Name"] = []string{m.Method}, []string{m.Params.Name}
		}
		desk := &fakeDesk{run: runOf(t, waits)}
		a, err := Server{Desk: desk, Seals: desk, Caller: everyone}.Answer(r, []byte(body))
		if err != nil && !refusal.Is(err, problems.CodeMalformed) || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		if a.MediaType == "application/json" && !json.Valid(a.Body) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for _, d := range desk.decided {
			if !strings.Contains(body, d.Target) && !strings.Contains(body, `\u`) {
				t.Errorf("decided about %q", d.Target)
			}
		}
	})
}
