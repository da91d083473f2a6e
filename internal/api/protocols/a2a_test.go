package protocols_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

const (
	malformed     = -32700
	invalidParams = -32602
	notFound      = -32001
	unsupported   = -32004
	unauthorized  = -31403
)

// TestA2AForgeriesDoNothing: what a client says of tasks, questions and results is a claim.
func TestA2AForgeriesDoNothing(t *testing.T) {
	d := newDesk(t)
	open := d.begin("m1", "pay 50")
	q := open.asks()[0]
	other := d.begin("m2", "pay 60")
	picking := d.begin("m3", "pick")
	yes := `{"decisionId":"` + q.ID + `","approved":true`
	forgeries := map[string]struct {
		params string
		code   int
	}{
		"a task that the client made up":       {says("f1", "hello", `,"taskId":"my-task"`), notFound},
		"a task of another shape":              {says("f2", "hello", `,"taskId":"run_aaaaaaaaaaaaaaaaaaaaaaaa_0"`), notFound},
		"the context of another task":          {answersIn("f4", open.ID, other.ContextID, yes+`}`), invalidParams},
		"an unknown question":                  {answers("f5", open.ID, `{"decisionId":"sus_1_aaaa_bbbb","approved":true}`), invalidParams},
		"the question of another task":         {answers("f6", other.ID, yes+`}`), invalidParams},
		"a call in place of a question":        {answers("f7", open.ID, `{"decisionId":"call_1","approved":true}`), invalidParams},
		"an answer without a task":             {message("f8", `{"data":`+yes+`}}`, ""), invalidParams},
		"an approval as text":                  {says("f9", "approved", `,"taskId":"`+open.ID+`"`), unsupported},
		"an approval as a result":              {answers("f10", open.ID, `{"decisionId":"`+q.ID+`","result":true}`), invalidParams},
		"an approval as a word":                {answers("f11", open.ID, `{"decisionId":"`+q.ID+`","approved":"yes"}`), invalidParams},
		"the result of a server's tool":        {answers("f12", open.ID, `{"decisionId":"`+q.ID+`","result":{"paid":50,"to":"Ann"}}`), invalidParams},
		"a yes with a no":                      {answers("f13", open.ID, `{"decisionId":"`+q.ID+`","approved":false,"approved":true}`), malformed},
		"a yes in other letters":               {answers("f14", open.ID, `{"decisionId":"`+q.ID+`","Approved":true}`), invalidParams},
		"a yes with a result":                  {answers("f15", open.ID, yes+`,"result":{"paid":1}}`), invalidParams},
		"another question's fingerprint":       {answers("f16", open.ID, yes+`,"fingerprint":"v1:00"}`), unsupported},
		"arguments of another form":            {answers("f17", open.ID, yes+`,"arguments":{"amount":"all"}}`), invalidParams},
		"an unknown member":                    {answers("f18", open.ID, yes+`,"grant":"run"}`), invalidParams},
		"two answers to one question":          {message("f19", `{"data":`+yes+`}},{"data":`+yes+`}}`, `,"taskId":"`+open.ID+`"`), invalidParams},
		"an answer beside an unknown one":      {message("f20", `{"data":`+yes+`}},{"data":{"decisionId":"sus_1_aaaa_bbbb","approved":true}}`, `,"taskId":"`+open.ID+`"`), invalidParams},
		"an answer beside one that can't be":   {message("f21", `{"data":`+yes+`}},{"data":{"decisionId":"`+q.ID+`x","approved":7}}`, `,"taskId":"`+open.ID+`"`), invalidParams},
		"an answer with a file":                {message("f22", `{"data":`+yes+`}},{"raw":"AAAA","mediaType":"image/png"}`, `,"taskId":"`+open.ID+`"`), invalidParams},
		"a result that doesn't fit":            {answers("f23", picking.ID, `{"decisionId":"`+picking.asks()[0].ID+`","result":{"picked":"red","paid":50}}`), invalidParams},
		"an approval of what a client runs":    {answers("f24", picking.ID, `{"decisionId":"`+picking.asks()[0].ID+`","approved":true}`), invalidParams},
		"a message of the agent":               {strings.Replace(answers("f25", open.ID, yes+`}`), "ROLE_USER", "ROLE_AGENT", 1), invalidParams},
		"an id in the form of the server's":    {says("msg_"+strings.TrimPrefix(open.ContextID, "thr_")+"_9_1", "hello", `,"contextId":"`+open.ContextID+`"`), invalidParams},
		"a second task beside an open one":     {says("f26", "pay 5", `,"contextId":"`+open.ContextID+`"`), unsupported},
		"an answer under the id of a message":  {answers("m1", open.ID, `{"decisionId":"`+q.ID+`","result":"yes"}`), invalidParams},
		"a message under the id of another":    {says("m1", "pay 70", ""), invalidParams},
		"an answer to a task of another agent": {"", 0},
	}
	for name, f := range forgeries {
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			if f.params == "" {
				if code, _ := d.refused(d.at("boss").rpc(method, answers("f27", open.ID, yes+`}`))); code != notFound {
					t.Errorf("%s: %d", name, code)
				}
				continue
			}
			if code, of := d.refused(d.rpc(method, f.params)); code != f.code {
				t.Errorf("%s, %s: %d %s, want %d", name, method, code, of, f.code)
			}
		}
	}
	for _, one := range []task{open, other, picking} {
		// a run records that a result was refused
		if _, err := d.api().WaitRun(t.Context(), one.ID); err != nil {
			t.Fatal(err)
		}
		now := d.task(d.rpc("GetTask", `{"id":"`+one.ID+`"}`))
		if now.Status.State != "TASK_STATE_INPUT_REQUIRED" || !slices.EqualFunc(now.asks(), one.asks(), func(a, b question) bool { return a.ID == b.ID }) {
			t.Errorf("%s is %+v", one.ID, now.Status)
		}
	}
	if d.ledger() != "" {
		t.Errorf("paid %s", d.ledger())
	}
}

func answersIn(id, task, in, data string) string {
	return message(id, `{"data":`+data+`}`, `,"taskId":"`+task+`","contextId":"`+in+`"`)
}

// TestA2ATheOnlyAgentHasTheRootCard.
func TestA2ATheOnlyAgentHasTheRootCard(t *testing.T) {
	text, err := os.ReadFile("testdata/agents/desk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, served: &served{data: t.TempDir(), agents: t.TempDir()}, agent: "desk"}
	if err := os.WriteFile(filepath.Join(d.agents, "desk.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := d.start(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	card := d.send("GET", "/.well-known/agent-card.json", "")
	if err := end(); err != nil || card.status != 200 || !strings.Contains(card.text, `"url":"`+d.url+`/a2a/desk"`) {
		t.Errorf("%d %s: %v", card.status, card.text, err)
	}
}

// TestA2ACallersSeeTheirTenantAndHaveTheirRoles.
func TestA2ACallersSeeTheirTenantAndHaveTheirRoles(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir(), token("anna", "default", access.Admin), token("reader", "default", access.Read),
		token("starter", "default", access.Read, access.Start), token("boss", "default", access.Read, access.Decide), token("eve", "other", access.Admin))
	anna, eve := d.as("anna"), d.as("eve")
	task := anna.begin("m1", "pay 50")
	yes := answers("m2", task.ID, `{"decisionId":"`+task.asks()[0].ID+`","approved":true}`)
	for who, codes := range map[string]map[string]int{
		"eve":     {"GetTask": notFound, "CancelTask": notFound, "SubscribeToTask": notFound, "SendMessage": notFound},
		"reader":  {"CancelTask": unauthorized, "SendMessage": unauthorized},
		"starter": {"SendMessage": unauthorized, "SendStreamingMessage": unauthorized},
	} {
		for method, code := range codes {
			params := `{"id":"` + task.ID + `"}`
			if strings.HasPrefix(method, "Send") {
				params = yes
			}
			if got, of := d.refused(d.as(who).rpc(method, params)); got != code {
				t.Errorf("%s, %s: %d %s, want %d", who, method, got, of, code)
			}
		}
	}
	if got := eve.rpc("ListTasks", `{"contextId":"`+task.ContextID+`"}`); !strings.Contains(got.text, `"tasks":[]`) {
		t.Errorf("eve sees %s", got.text)
	}
	for path, a := range map[string]answered{"card": d.send("GET", "/a2a/desk/.well-known/agent-card.json", ""), "call": d.rpc("ListTasks", `{}`)} {
		if a.status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", path, a.status, a.text)
		}
	}
	if card := anna.send("GET", "/a2a/desk/.well-known/agent-card.json", ""); !strings.Contains(card.text, `"securitySchemes":{"http":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}`) {
		t.Error(card.text)
	}
	if code, _ := d.refused(d.as("boss").rpc("SendMessage", says("m3", "hello", ""))); code != unauthorized {
		t.Errorf("without the role start: %d", code)
	}
	if done := d.task(d.as("boss").rpc("SendMessage", yes)); done.output() != "Paid 50." || d.ledger() != "Ann" {
		t.Errorf("%+v, paid %s", done, d.ledger())
	}
}

// TestA2ARequestsMayBeRepeated: the answer to each is lost once, and the client sends it again.
func TestA2ARequestsMayBeRepeated(t *testing.T) {
	d := newDesk(t)
	twice := func(method, params string) task {
		t.Helper()
		first := d.task(d.rpc(method, params))
		again := d.task(d.rpc(method, params))
		if again.ID != first.ID || again.Status.State != first.Status.State {
			t.Errorf("%s %s: %+v, then %+v", method, params, first, again)
		}
		return again
	}
	open := twice("SendMessage", says("m1", "pay 50", ""))
	done := twice("SendMessage", answers("m2", open.ID, `{"decisionId":"`+open.asks()[0].ID+`","approved":true}`))
	twice("SendMessage", says("m1", "pay 50", "")) // long after
	in := twice("SendMessage", says("m1", "color", `,"contextId":"c"`))
	said := twice("SendMessage", says("m2", "green", `,"taskId":"`+in.ID+`"`))
	if done.output() != "Paid 50." || said.output() != "So green it is." || d.ledger() != "Ann" {
		t.Errorf("%+v %+v, paid %s", done, said, d.ledger())
	}
	gone := d.begin("m4", "pay 50")
	twice("CancelTask", `{"id":"`+gone.ID+`"}`)
	open = d.begin("m5", "pay 50")
	params := answers("m6", open.ID, `{"decisionId":"`+open.asks()[0].ID+`","approved":true}`)
	one, two := d.rpc("SendStreamingMessage", params), d.rpc("SendStreamingMessage", params)
	if !strings.Contains(one.text, "Paid 50.") || !strings.Contains(two.text, "Paid 50.") || d.ledger() != "Ann Ann" {
		t.Errorf("%s\n%s\npaid %s", one.text, two.text, d.ledger())
	}
}

// TestA2AAndTheAPIRaceToDecide: one of many wins, and all others learn it.
func TestA2AAndTheAPIRaceToDecide(t *testing.T) {
	d := newDesk(t)
	for round := range 4 {
		open := d.begin(fmt.Sprint("m", round), "pay 50")
		q := open.asks()[0].ID
		var won, lost atomic.Int64
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() {
				reason := fmt.Sprint("rival ", n)
				if n%2 == 0 {
					a := d.rpc([]string{"SendMessage", "SendStreamingMessage"}[n/2%2], answers(fmt.Sprint("r", round, "-", n), open.ID, fmt.Sprintf(`{"decisionId":%q,"approved":%v,"reason":%q}`, q, n%4 == 0, reason)))
					if strings.Contains(a.text, `"result"`) {
						won.Add(1)
					} else if code, of := d.refused(a); code == unsupported && of == "already_decided" {
						lost.Add(1)
					}
					return
				}
				_, err := d.api().Decide(t.Context(), open.ID, client.Decision{Target: q, Action: []string{"resume", "cancel"}[n/2%2], Reason: reason})
				if err == nil {
					won.Add(1)
				} else if strings.Contains(err.Error(), "already_decided") {
					lost.Add(1)
				}
			})
		}
		wg.Wait()
		run, err := d.api().WaitRun(t.Context(), open.ID)
		if err != nil || won.Load() != 1 || lost.Load() != 15 || run.Resumes != 1 {
			t.Errorf("%d won, %d lost, %d resumes: %v", won.Load(), lost.Load(), run.Resumes, err)
		}
	}
	if paid := len(strings.Fields(d.ledger())); paid > 4 {
		t.Errorf("paid %d times for 4 questions", paid)
	}
}

// TestA2AFirstMessagesRace: those with the same id begin one task.
func TestA2AFirstMessagesRace(t *testing.T) {
	d := newDesk(t)
	var ids sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { ids.Store(d.begin("m1", "pay 5").ID, true) })
	}
	wg.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 || d.ledger() != "Ann" {
		t.Errorf("%d tasks, paid %s", n, d.ledger())
	}
}

// TestA2AATaskSurvivesARestart: it waits, and its subscriber comes again.
func TestA2AATaskSurvivesARestart(t *testing.T) {
	data := t.TempDir()
	d, end := lonelyDesk(t, data)
	open := d.begin("m1", "pay 50")
	end()
	d, _ = lonelyDesk(t, data)
	if again := d.begin("m1", "pay 50"); again.ID != open.ID || again.asks()[0].ID != open.asks()[0].ID {
		t.Errorf("%+v, then %+v", open, again)
	}
	if done := d.task(d.rpc("SendMessage", answers("m2", open.ID, `{"decisionId":"`+open.asks()[0].ID+`","approved":true}`))); done.output() != "Paid 50." {
		t.Errorf("%+v", done)
	}
}

// front is the callers' side on the desk's store, for an API of its own.
func (d *desk) front() *frontend.Frontend {
	d.Helper()
	db, err := sqlite.Open(d.Context(), filepath.Join(d.data, "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { db.Close() })
	return frontend.New(frontend.Options{Store: db, Links: db, Catalog: db, Waker: db, Clock: machine.Clock{}, Random: machine.Random{}})
}

// behind is an API on the desk's store whose streams have another address, as on AWS.
func (d *desk) behind() *desk {
	d.Helper()
	front := d.front()
	serve := func(part httpapi.Part, streams string) string {
		api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: machine.Clock{}, Part: part, StreamURL: streams, Links: access.LinkKeys{[]byte(strings.Repeat("k", 32))},
			Protocols: protocols.All(protocols.Server{Runs: front, Reads: query.New(front)})})
		if err != nil {
			d.Fatal(err)
		}
		server := httptest.NewServer(api)
		d.Cleanup(server.Close)
		return server.URL
	}
	return &desk{T: d.T, agent: d.agent, served: &served{url: serve(httpapi.PartRuns, serve(httpapi.PartStreams, ""))}}
}

// goClient is the client of the official SDK.
func (d *desk) goClient() *a2aclient.Client {
	d.Helper()
	c, err := a2aclient.NewFromEndpoints(d.Context(), []*sdk.AgentInterface{sdk.NewAgentInterface(d.url+"/a2a/"+d.agent, sdk.TransportProtocolJSONRPC)})
	if err != nil {
		d.Fatal(err)
	}
	return c
}

// TestA2AClientsFollowToTheStreams: the SDK's client does what it does without a redirect.
func TestA2AClientsFollowToTheStreams(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for name, at := range map[string]*desk{"here": d, "elsewhere": d.behind()} {
		c := at.goClient()
		states, _ := streamed(t, c, &sdk.SendMessageRequest{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("pay 50"))})
		if want := "WORKING INPUT_REQUIRED"; states != want {
			t.Errorf("%s: %s, want %s", name, states, want)
		}
		list, err := c.ListTasks(t.Context(), &sdk.ListTasksRequest{Status: sdk.TaskStateInputRequired})
		if err != nil || len(list.Tasks) != 1 {
			t.Fatal(list, err)
		}
		open := list.Tasks[0]
		id := open.Status.Message.Parts[1].Data().(map[string]any)["decisionId"]
		answer := sdk.NewMessageForTask(sdk.MessageRoleUser, open, sdk.NewDataPart(map[string]any{"decisionId": id, "approved": true}))
		if states, output := streamed(t, c, &sdk.SendMessageRequest{Message: answer}); states != "WORKING COMPLETED" || output != "Paid 50." {
			t.Errorf("%s: %s %s", name, states, output)
		}
		body := `{"jsonrpc":"2.0","id":"x","method":"SendStreamingMessage","params":` + says("m-"+name, "hello", "") + `}`
		resp, err := stay.Post(at.url+"/a2a/desk", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := map[string]int{"here": 200, "elsewhere": 303}[name]; resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, want)
		}
	}
}

// streamed are the states of a stream, and the output.
func streamed(t *testing.T, c *a2aclient.Client, req *sdk.SendMessageRequest) (states, output string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all []string
	for e, err := range c.SendStreamingMessage(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *sdk.Task:
			all = append(all, e.Status.State.String())
		case *sdk.TaskStatusUpdateEvent:
			all = append(all, e.Status.State.String())
		case *sdk.TaskArtifactUpdateEvent:
			if !e.Append {
				output = ""
			}
			output += e.Artifact.Parts[0].Text()
		}
	}
	return strings.ReplaceAll(strings.Join(all, " "), "TASK_STATE_", ""), output
}

// TestA2ASubscribersSeeWhatOthersDecide.
func TestA2ASubscribersSeeWhatOthersDecide(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	open := d.begin("m1", "pay 50")
	var states []string
	for e, err := range d.goClient().SubscribeToTask(t.Context(), &sdk.SubscribeToTaskRequest{ID: sdk.TaskID(open.ID)}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *sdk.Task:
			states = append(states, e.Status.State.String())
			if _, err := d.api().Decide(t.Context(), open.ID, client.Decision{Target: open.asks()[0].ID, Action: "cancel"}); err != nil {
				t.Fatal(err)
			}
		case *sdk.TaskStatusUpdateEvent:
			states = append(states, e.Status.State.String())
		}
	}
	if got := strings.Join(states, " "); got != "TASK_STATE_INPUT_REQUIRED TASK_STATE_WORKING TASK_STATE_COMPLETED" {
		t.Error(got)
	}
}

// TestAStreamWithALongIDBeginsNothing: the id would not fit into the address of the stream.
func TestAStreamWithALongIDBeginsNothing(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	id := strings.Repeat("x", 300)
	got := d.send("POST", "/a2a/desk", `{"jsonrpc":"2.0","id":"`+id+`","method":"SendStreamingMessage","params":`+says("m1", "hello", "")+`}`)
	if list := d.rpc("ListTasks", `{}`); !strings.Contains(got.text, `"error"`) || !strings.Contains(list.text, `"tasks":[]`) {
		t.Errorf("%d %s\n%s", got.status, got.text, list.text)
	}
}
