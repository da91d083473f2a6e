package protocols_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// counting counts how often the heads and the segments of threads are read.
type counting struct {
	*sqlite.DB
	mu              sync.Mutex
	heads, segments int
}

func (c *counting) Load(ctx context.Context, tenant, thread string) (core.Head, error) {
	c.mu.Lock()
	c.heads++
	c.mu.Unlock()
	return c.DB.Load(ctx, tenant, thread)
}

func (c *counting) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	read, err := c.DB.Segments(ctx, tenant, thread, from, to)
	c.mu.Lock()
	c.segments += len(read)
	c.mu.Unlock()
	return read, err
}

// reset starts to count again, and returns what was read.
func (c *counting) reset() (heads, segments int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heads, segments = c.heads, c.segments
	c.heads, c.segments = 0, 0
	return heads, segments
}

// counted is an API on the store of a desk, which counts what is read.
func (d *desk) counted() (*desk, *counting) {
	d.Helper()
	db, err := sqlite.Open(d.Context(), filepath.Join(d.data, "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { db.Close() })
	store := &counting{DB: db}
	front := frontend.New(frontend.Options{Store: store, Links: db, Catalog: db, Waker: db, Clock: machine.Clock{}, Random: machine.Random{}})
	api, err := httpapi.New(httpapi.Options{Frontend: front, Clock: machine.Clock{}, Protocols: protocols.All(protocols.Server{Runs: front, Reads: query.New(front)})})
	if err != nil {
		d.Fatal(err)
	}
	server := httptest.NewServer(api)
	d.Cleanup(server.Close)
	return &desk{T: d.T, served: &served{url: server.URL}, agent: "desk"}, store
}

// TestARequestReadsItsRunOnce: what decides what a request does is read together with what is
// shown.
func TestARequestReadsItsRunOnce(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir())
	counted, store := d.counted()
	const said = `{"id":"u1","role":"user","content":"pay 50 then ask","parts":[{"type":"text","text":"pay 50 then ask"}]}`
	d.agui(d.url, "t", `"messages":[`+said+`]`)
	pay := d.pending("t", "pay")[0]
	resume := `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"` + pay.Suspension.ID + `","status":"resolved","payload":{"approved":true}}]}`
	d.send("POST", "/ag-ui/desk", resume)
	asked := d.pending("t", "ask_color")[0].Suspension.ID
	done := d.begin("m1", "hello")

	answer := `{"id":"a","role":"assistant","parts":[{"type":"tool-pay","toolCallId":"` + pay.CallID + `","state":"approval-responded","approval":{"id":"` + pay.Suspension.ID + `","approved":true}}]}`
	for _, request := range []struct{ name, path, body, thread, shows string }{
		{"ag-ui, a page is opened", "/ag-ui/desk/connect", `{"threadId":"t","runId":"r","messages":[]}`, frontend.KeyedThread(d.tenant, "t"), asked},
		{"ag-ui, an answer once more", "/ag-ui/desk", resume, frontend.KeyedThread(d.tenant, "t"), asked},
		{"ai-sdk, an answer once more", "/ai-sdk/desk", `{"id":"t","messages":[` + said + `,` + answer + `]}`, frontend.KeyedThread(d.tenant, "t"), asked},
		{"a2a, a message once more", "/a2a/desk", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + says("m1", "hello", `,"taskId":"`+done.ID+`"`) + `}`, done.ContextID, "TASK_STATE_COMPLETED"},
	} {
		head, err := store.DB.Load(t.Context(), d.tenant, request.thread)
		if err != nil {
			t.Fatal(err)
		}
		store.reset()
		got := counted.send("POST", request.path, request.body)
		heads, segments := store.reset()
		t.Logf("%s: %d heads and %d segments of %d", request.name, heads, segments, head.Seq)
		if !strings.Contains(got.text, request.shows) {
			t.Errorf("%s: it doesn't show %s: %s", request.name, request.shows, got.text)
		}
		// of a turn's end, and of a task, the segment with what waits or with the output is
		// read, too
		if most := int(head.Seq) + head.Record().Turn + 2; segments > most {
			t.Errorf("%s: %d segments were read, at most %d are needed", request.name, segments, most)
		}
	}
}
