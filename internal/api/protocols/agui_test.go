package protocols_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// between are runs to which something happens between the answers of a request and its message, or
// right after both.
type between struct {
	*frontend.Frontend
	before, after func()
}

func (b between) MessageKept(ctx context.Context, c frontend.Caller, thread, key string, req wire.MessageRequest) (frontend.Started, error) {
	b.before()
	defer b.after()
	return b.Frontend.MessageKept(ctx, c, thread, key, req)
}

// aguiBehind is an API on the store of a desk, which may run or not.
func (d *desk) aguiBehind(before, after func()) string {
	d.Helper()
	db, err := sqlite.Open(d.Context(), filepath.Join(d.data, "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { db.Close() })
	front := frontend.New(frontend.Options{Store: db, Links: db, Catalog: db, Waker: db, Clock: machine.Clock{}, Random: machine.Random{}})
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: machine.Clock{},
		Protocols: protocols.All(protocols.Server{Runs: between{front, before, after}, Reads: query.New(front)})})
	if err != nil {
		d.Fatal(err)
	}
	server := httptest.NewServer(api)
	d.Cleanup(server.Close)
	return server.URL
}

// post posts to an agent's AG-UI.
func (d *desk) agui(url, thread, rest string) string {
	d.Helper()
	at := desk{T: d.T, served: &served{url: url}}
	return at.send("POST", "/ag-ui/desk", fmt.Sprintf(`{"threadId":%q,"runId":"r","protocolVersion":"1.0",%s}`, thread, rest)).text
}

// pending is what the newest run of a conversation waits for, once it waits for this tool.
func (d *desk) pending(thread, tool string) []client.Pending {
	d.Helper()
	t, err := d.api().FindThread(d.Context(), thread)
	if err != nil {
		d.Fatal(err)
	}
	for {
		run, err := d.api().WaitRun(d.Context(), t.RunID)
		if err != nil {
			d.Fatal(err)
		}
		if len(run.Pending) == 1 && run.Pending[0].ToolName == tool {
			return run.Pending
		}
	}
}

// TestAMessageGivesUpNoUnseenQuestion: a page denies the payment that it knows of and says hello,
// while the agent asks for a color.
func TestAMessageGivesUpNoUnseenQuestion(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("asked before the message: %v", first), func(t *testing.T) {
			d, end := lonelyDesk(t, t.TempDir())
			d.agui(d.url, "t", `"messages":[{"id":"u1","role":"user","content":"pay 50 then ask"}]`)
			pay := d.pending("t", "pay")[0]
			before, after := func() { d.pending("t", "ask_color") }, func() {}
			if !first { // the worker takes both at once
				end()
				before, after = after, func() {
					again, _ := lonelyDesk(t, d.data)
					d.served = again.served
				}
			}
			got := d.agui(d.aguiBehind(before, after), "t", `"messages":[{"id":"u1","role":"user","content":"pay 50 then ask"},{"id":"u2","role":"user","content":"hello"}],`+
				`"resume":[{"interruptId":"`+pay.Suspension.ID+`","status":"cancelled"}]`)
			if !first {
				if !strings.Contains(got, "Hello.") || !strings.Contains(got, `"outcome":{"type":"success"}`) {
					t.Errorf("got %s", got)
				}
				return
			}
			if asked := d.pending("t", "ask_color")[0].Suspension.ID; !strings.Contains(got, `"outcome":{"type":"interrupt","interrupts":[{"id":"`+asked) {
				t.Fatalf("got %s", got)
			}
			got = d.agui(d.url, "t", `"messages":[],"resume":[{"interruptId":"`+d.pending("t", "ask_color")[0].Suspension.ID+`","status":"resolved","payload":"green"}]`)
			if !strings.Contains(got, `"outcome":{"type":"success"}`) {
				t.Errorf("got %s", got)
			}
			if paid := d.ledger(); paid != "" {
				t.Errorf("paid %s", paid)
			}
		})
	}
}

// TestAllNewMessagesAreSent: those that a page could not send before come first, once.
func TestAllNewMessagesAreSent(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	post := map[string]func(thread, messages string) string{
		"ag": func(thread, messages string) string { return d.agui(d.url, thread, `"messages":[`+messages+`]`) },
		"ai": func(thread, messages string) string {
			return d.send("POST", "/ai-sdk/desk", `{"id":"`+thread+`","messages":[`+messages+`]}`).text
		},
	}
	message := func(id, role, text string) string {
		return `{"id":"` + id + `","role":"` + role + `","content":"` + text + `","parts":[{"type":"text","text":"` + text + `"}]}`
	}
	for protocol, post := range post {
		post(protocol, message("u1", "user", "hello"))
		all := message("u1", "user", "hello") + "," + message("u2", "user", "hello 2") + "," + message("u3", "user", "hello 3")
		for range 2 {
			if got := post(protocol, all); !strings.Contains(got, "Hello.") && !strings.Contains(got, `"outcome":{"type":"success"}`) {
				t.Errorf("%s: got %s", protocol, got)
			}
		}
		// what a client says of the time before an answer is no message of now
		post(protocol, message("x1", "user", "pay 5")+","+message("a9", "assistant", "no")+","+message("u4", "user", "hello 4"))
		if got := d.said(protocol); got != "hello|hello 2|hello 3|hello 4|" {
			t.Errorf("%s: the conversation has %s", protocol, got)
		}
	}
	if paid := d.ledger(); paid != "" {
		t.Errorf("paid %s", paid)
	}
}

// said are the user's messages of a conversation.
func (d *desk) said(thread string) (all string) {
	d.Helper()
	found, err := d.api().FindThread(d.Context(), thread)
	if err != nil {
		d.Fatal(err)
	}
	for m, err := range d.api().Messages(d.Context(), found.ID, client.MessageOptions{}) {
		if err != nil {
			d.Fatal(err)
		}
		if m.Role == "user" {
			all += m.Text + "|"
		}
	}
	return all
}
