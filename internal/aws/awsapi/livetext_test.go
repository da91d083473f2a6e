package awsapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/livetext"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// talker is an agent that says n words in its answer, with pauses between them.
func talker(n int, pause time.Duration) string {
	return fmt.Sprintf("name: talker\nmodel:\n  provider: scripted\n  pace: %v\n  turns:\n    - say: %q\n", pause, said(n))
}

func said(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "wört%d ", i)
	}
	return strings.TrimSpace(b.String())
}

const livePause = 300 * time.Millisecond

// network is the connection of one process to the table. Once it is cut, the process may as well be
// dead.
type network struct {
	dynamo.API
	mu  sync.Mutex
	cut bool
}

func (n *network) sever() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
}

func (n *network) up() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		return errors.New("the process is dead")
	}
	return nil
}

func (n *network) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := n.up(); err != nil {
		return nil, err
	}
	return n.API.UpdateItem(ctx, in, o...)
}

func (n *network) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := n.up(); err != nil {
		return nil, err
	}
	return n.API.PutItem(ctx, in, o...)
}

// talking is a stack whose functions are processes of their own, with a clock that passes at once.
type talking struct {
	*deployed
	double *awsdouble.Double
	on     bool // live text
	lease  time.Duration
	agents *program.Agents
}

func newTalking(t *testing.T, agentText string, on bool) *talking {
	t.Helper()
	s := &talking{deployed: &deployed{t: t, wake: &wakeups{}, log: &safeBuffer{}}, double: awsdouble.New(awsdouble.Options{}), on: on, lease: 15 * time.Minute}
	if _, err := s.double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("stack")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "talker.yaml"), []byte(agentText), 0o600); err != nil {
		t.Fatal(err)
	}
	store, _, _ := s.process()
	s.agents = program.NewAgents(store, program.Program{Tools: tool.NewRegistry(nil), Dir: dir, Clock: machine.Clock{}})
	for _, tenant := range []string{"acme", "other"} {
		if _, err := s.agents.Deploy(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	_, s.runs = s.functions(nil)
	s.streams, _ = s.functions(&livetext.Text{})
	s.double.ResetCounts()
	return s
}

// process returns what a new process has: a store and its live text.
func (s *talking) process() (*dynamo.Store, *livetext.Text, *network) {
	s.t.Helper()
	net := &network{API: dynamodb.NewFromConfig(s.double.Config(), dynamo.Retries())}
	o := dynamo.Options{Table: "stack", Clock: machine.Clock{}, Random: machine.Random{}}
	var live *livetext.Text
	if s.on {
		live = livetext.New(livetext.Options{API: net, Table: "stack", Clock: machine.Clock{}, Pause: livePause})
		o.Seen = live.Seen
	}
	return dynamo.New(net, o), live, net
}

// functions are those of the API in a new process; reads is nil in the function that answers with
// the address of streams.
func (s *talking) functions(reads *livetext.Text) (awsapi.URL, awsapi.Gateway) {
	s.t.Helper()
	store, live, _ := s.process()
	front := frontend.Options{Store: store, Links: store, Catalog: s.agents.Catalog(), Waker: s.wake, Clock: machine.Clock{}, Random: machine.Random{},
		Describe: s.agents.Describe, Check: s.agents.Check, Narrow: s.agents.Narrow}
	if reads != nil && live != nil {
		front.Live = live
	}
	o := awsapi.Options{Clock: machine.Clock{}, Access: withJWT, Links: store.LinkKeys, Version: "v1", Logger: slog.New(slog.NewJSONHandler(s.log, nil)), Frontend: frontend.New(front)}
	if live != nil {
		o.Watched = live.Marker(store.MarkWatched)
	}
	o.Protocols = func(keys access.LinkSource) []httpapi.Protocol {
		r := query.New(o.Frontend)
		return protocols.All(protocols.Server{Runs: o.Frontend, Reads: r, Inbox: r, Clock: o.Clock, Version: o.Version, Keys: keys, Auth: protocols.Bearer})
	}
	gateway, err1 := awsapi.Runs(o)
	streams, err2 := awsapi.Streams(o)
	if err1 != nil || err2 != nil {
		s.t.Fatal(err1, err2)
	}
	return streams, gateway
}

// step begins the next step in a process of its own; kill ends that process.
func (s *talking) step() (kill func(), done <-chan error) {
	s.t.Helper()
	store, live, net := s.process()
	o := engine.Options{Store: store, Waker: s.wake, Agents: s.agents, Clock: machine.Clock{}, Random: machine.Random{}, Logger: slog.New(slog.DiscardHandler), Lease: s.lease, Watch: 2 * time.Second}
	if live != nil {
		o.Live = live
	}
	w, ok := s.wake.take()
	if !ok {
		s.t.Fatal("there is no wake-up")
	}
	over := make(chan error, 1)
	go func() {
		_, err := engine.New(o).Step(context.Background(), w)
		over <- err
	}()
	return net.sever, over
}

func (s *talking) begin(as ...func(*asked)) wire.Run {
	s.t.Helper()
	return decoded[wire.Run](s.t, s.ask(s.runs, "POST", "/v1/runs", `{"agent":"talker","input":"Talk"}`, as...), 202)
}

func ofTenant(name string) func(*asked) {
	return func(e *asked) { e.RequestContext.Authorizer.JWT.Claims["custom:tenant"] = name }
}

// page is a page in a browser that shows a run as docs/reference/api.md says.
type page struct {
	s      *talking
	path   string
	last   string // event id
	text   string // of the part that is shown
	ended  bool
	done   bool
	live   []time.Time // when live text came
	ends   time.Time   // when the whole text came
	events []string
	resets int
}

func (s *talking) open(id string) *page {
	return &page{s: s, path: "/v1/runs/" + id + "/events?follow=true"}
}

// follow reads until the run is done, or for so long, and opens the stream again when it ends.
func (p *page) follow(d time.Duration) {
	end := time.Now().Add(d)
	for !p.done && time.Now().Before(end) {
		change := []func(*asked){header("accept", "text/event-stream")}
		if p.last != "" {
			change = append(change, header("last-event-id", p.last))
		}
		sent := p.s.ask(p.s.runs, "GET", p.path, "", change...)
		if sent.StatusCode != 307 {
			return
		}
		p.read(sent.Headers["Location"], time.Until(end))
		time.Sleep(time.Second) // as browsers do
	}
}

// read reads one stream. A browser that leaves is not noticed by the function.
func (p *page) read(location string, d time.Duration) {
	p.s.lines(location, d, func(line []byte) {
		if data, is := bytes.CutPrefix(line, []byte("data: ")); is {
			p.event(data)
		} else if id, is := bytes.CutPrefix(line, []byte("id: ")); is {
			p.last = string(id)
		}
	})
}

// lines are those of a stream that is open for at most so long.
func (s *talking) lines(location string, d time.Duration, each func([]byte)) {
	u, err := url.Parse(location)
	if err != nil {
		s.t.Error(err)
		return
	}
	e := read[events.LambdaFunctionURLRequest](s.t, "stream-url.json")
	e.RawPath, e.RawQueryString = u.EscapedPath(), u.RawQuery
	ctx, leave := context.WithTimeout(context.Background(), d)
	defer leave()
	got, err := s.streams(ctx, e)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer got.Close()
	lines := bufio.NewScanner(got)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		each(bytes.TrimLeft(lines.Bytes(), "\x00"))
	}
}

func (p *page) event(raw []byte) {
	var e wire.Event
	var data struct {
		Offset int
		Text   string
		Status string
	}
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e.Data, &data) != nil && len(e.Data) > 0 {
		if !json.Valid(raw) {
			p.s.t.Errorf("%s", raw)
		}
	}
	if e.Type != "text.delta" {
		p.events = append(p.events, e.Type)
	}
	switch e.Type {
	case "text.delta":
		if data.Offset != len(p.text) || p.ended {
			p.s.t.Errorf("a delta at %d; %d bytes are shown, ended: %v", data.Offset, len(p.text), p.ended)
		}
		p.text += data.Text
		p.live = append(p.live, time.Now())
	case "text.ended":
		if !strings.HasPrefix(data.Text, p.text) {
			p.s.t.Errorf("%q was shown of %q", p.text, data.Text)
		}
		p.text, p.ended, p.ends = data.Text, true, time.Now()
	case "step.reset":
		p.text = ""
		p.resets++
	case "run.status":
		p.done = data.Status == "done"
	}
}
