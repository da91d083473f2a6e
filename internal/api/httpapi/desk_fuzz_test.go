package httpapi_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

// desk is a store with runs in every state that callers can find one in. Each execution finds it as
// it was made: a copy that something was stored in is thrown away after it.
type desk struct {
	dir  string
	file []byte
	// what seeds and inputs write for ids: {waiting}, {thread of waiting}, {approval}, ...
	names  *strings.Replacer
	copies int
	db     *sqlite.DB
	look   *sql.DB // at the same file
	fresh  string  // what is stored in a new copy
}

func newDesk(f *testing.F) *desk {
	f.Helper()
	clock, random := frontendtest.NewClock(), &frontendtest.Random{}
	path := filepath.Join(f.TempDir(), "desk.db")
	db, err := sqlite.Open(f.Context(), path, sqlite.Options{Clock: clock, Random: random, Sync: dbfile.SyncOff})
	if err != nil {
		f.Fatal(err)
	}
	front := frontend.New(frontend.Options{Store: db, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{},
		Clock: clock, Random: random})
	worker := frontendtest.Worker{Test: f, Store: db, Clock: clock, Random: random, Tenant: access.Tenant}
	caller := frontend.Caller{Tenant: access.Tenant}
	var pairs []string
	runs := map[string]string{}
	for _, name := range []string{"created", "waiting", "paused", "done", "failed"} {
		s, err := front.Start(f.Context(), caller, "", wire.StartRequest{Agent: "desk", Input: json.RawMessage(`"hi"`)})
		if err != nil {
			f.Fatal(err)
		}
		runs[name] = s.Run.ID
		pairs = append(pairs, "{"+name+"}", s.Run.ID, "{thread of "+name+"}", s.Run.ThreadID)
	}
	schema := json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}}}`)
	for call, sus := range worker.Suspend(runs["waiting"], frontendtest.Call{ID: "approval", Tool: "refund", Kind: core.KindApproval, Schema: schema},
		frontendtest.Call{ID: "client", Tool: "locate", Kind: core.KindClient},
		frontendtest.Call{ID: "input", Tool: "ask", Kind: core.KindInput, Schema: schema},
		frontendtest.Call{ID: "unknown", Tool: "pay", Kind: core.KindUnknownOutcome},
		frontendtest.Call{ID: "late", Tool: "pay", Kind: core.KindApproval, Deadline: 1}) {
		pairs = append(pairs, "{"+call+"}", sus)
	}
	worker.TimeOut(runs["waiting"], "late")
	if _, err := front.Interrupt(f.Context(), caller, runs["paused"], "i1"); err != nil {
		f.Fatal(err)
	}
	worker.Drain(runs["paused"])
	worker.Finish(runs["done"], "bye")
	worker.End(runs["failed"], core.Reason{Kind: core.Failed, Code: "crash_loop"}, "")
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	d := &desk{dir: f.TempDir(), file: file, names: strings.NewReplacer(pairs...)}
	f.Cleanup(d.drop)
	return d
}

// copy opens a new copy.
func (d *desk) copy(t *testing.T) {
	t.Helper()
	d.copies++
	path := filepath.Join(d.dir, fmt.Sprint(d.copies, ".db"))
	err := os.WriteFile(path, d.file, 0o600)
	if err == nil {
		d.db, err = sqlite.Open(context.Background(), path, sqlite.Options{Clock: frontendtest.NewClock(), Random: &laterRandom{}, Sync: dbfile.SyncOff})
	}
	if err == nil {
		d.look, err = sql.Open("sqlite", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.fresh = stored(t, d.look)
}

func (d *desk) drop() {
	if d.db != nil {
		d.look.Close()
		d.db.Close()
		d.db = nil
	}
}

// opened is the desk during one execution.
type opened struct {
	*desk
	t       *testing.T
	handler http.Handler
}

func (d *desk) open(t *testing.T) opened {
	t.Helper()
	if d.db == nil {
		d.copy(t)
	}
	t.Cleanup(func() {
		if stored(t, d.look) != d.fresh {
			d.drop()
		}
	})
	front := frontend.New(frontend.Options{Store: d.db, Catalog: frontendtest.NewCatalog("desk"), Waker: &frontendtest.Waker{},
		Clock: frontendtest.NewClock(), Random: &laterRandom{}, Narrow: func(raw json.RawMessage) error { _, err := agentfile.ParseNarrow(raw); return err }})
	handler, err := httpapi.New(httpapi.Options{Frontend: front, Clock: frontendtest.NewClock(), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return opened{desk: d, t: t, handler: handler}
}

// laterRandom gives other texts than the desk was made with.
type laterRandom struct{ n int }

func (r *laterRandom) Text(n int) string {
	r.n++
	return core.Digest(fmt.Append(nil, "later ", r.n))[:n]
}

// read reads a request as a server does; false if a server would not have it.
func (o opened) read(head, body string) (*http.Request, bool) {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n")))
	if err != nil {
		return nil, false
	}
	r.Body, r.ContentLength, r.RemoteAddr = io.NopCloser(strings.NewReader(body)), int64(len(body)), "127.0.0.1:9"
	r.Host = "localhost"
	r.Header.Set("Accept", "application/json") // streams have tests of their own
	return r.WithContext(o.t.Context()), true
}

var knownCodes = func() map[string]bool {
	known := map[string]bool{"not_found": true, "method_not_allowed": true, "forbidden": true, "malformed_body": true, "unknown_field": true,
		"too_large": true, "unsupported_media_type": true}
	for _, code := range refusal.Codes() {
		known[string(code)] = true
	}
	return known
}()

// serve sends the request and checks what holds for every answer: no fault of ours, JSON, and of a
// refusal a problem with a known code.
func (o opened) serve(r *http.Request) *httptest.ResponseRecorder {
	o.t.Helper()
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	media, body := w.Header().Get("Content-Type"), w.Body.Bytes()
	if w.Code >= 500 || !json.Valid(body) {
		o.t.Fatalf("%s %s: %d %s %q", r.Method, r.URL, w.Code, media, body)
	}
	if w.Code < 400 {
		if media != "application/json" {
			o.t.Fatalf("%s %s: %d %s", r.Method, r.URL, w.Code, media)
		}
		return w
	}
	var p wire.Problem
	err := json.Unmarshal(body, &p)
	if err != nil || media != "application/problem+json" || p.Status != w.Code || !knownCodes[p.Code] || len(p.Detail) > 2000 {
		o.t.Fatalf("%s %s: %d %s %q (%v)", r.Method, r.URL, w.Code, media, body, err)
	}
	return w
}

// stored is all that is in the file now.
func (o opened) stored() string { return stored(o.t, o.look) }

func stored(t *testing.T, db *sql.DB) string {
	t.Helper()
	var all strings.Builder
	for _, table := range []string{"heads", "inbox", "segments", "archive", "keys", "payloads", "queue", "dead"} {
		rows, err := db.QueryContext(context.Background(), "SELECT * FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		dump(t, &all, table, rows)
	}
	return all.String()
}

func dump(t *testing.T, to io.Writer, table string, rows *sql.Rows) {
	t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	row, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		places[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(to, "%s %q\n", table, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
