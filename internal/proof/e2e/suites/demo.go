package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

const (
	deskAgent = "refund-desk"
	request   = `"Refund order A-17, it arrived broken"`
	patience  = 90 * time.Second // within which a run must have moved, lost processes included
	held      = 20 * time.Second // the longest the API holds a read
)

// demo: a run starts, waits for a person, outlives every process of the stack, is approved by a
// link, and pays once.
func demo(ctx context.Context, t *Target, b *book) {
	dir := filepath.Join(t.Dir, "demo-agents")
	if !b.check("the agent of the example is deployed, with other tools", errors.Join(t.writeDesk(dir), t.deploy(ctx, dir))) {
		return
	}
	s := &story{t: t, b: b, api: t.client(t.Token)}
	for _, step := range []func(context.Context) bool{s.start, s.waits, s.listed, s.killed, s.approved, s.told, s.streamed, s.once} {
		if !step(ctx) {
			return
		}
	}
}

type story struct {
	t   *Target
	b   *book
	api *client.Client
	run wire.Run
}

func (s *story) start(ctx context.Context) bool {
	var err error
	key := fmt.Sprintf("demo-%d", s.t.Seed)
	s.run, err = s.api.StartRun(ctx, wire.StartRequest{Agent: deskAgent, Input: json.RawMessage(request)}, key)
	if !s.b.check("a run is started", err) {
		return false
	}
	again, err := s.api.StartRun(ctx, wire.StartRequest{Agent: deskAgent, Input: json.RawMessage(request)}, key)
	if err == nil && again.ID != s.run.ID {
		err = fmt.Errorf("it was %s and is %s", s.run.ID, again.ID)
	}
	return s.b.check("the same key is the same run", err)
}

// settled waits until the run waits for somebody or is done.
func settled(ctx context.Context, api *client.Client, id string) (run wire.Run, err error) {
	err = until(ctx, patience, func() error {
		run, err = api.PollRun(ctx, id, held)
		if err == nil && run.Status != "waiting" && run.Status != "done" {
			err = fmt.Errorf("run %s is %s after %d steps", id, run.Status, run.Steps)
		}
		return err
	})
	return run, err
}

func (s *story) waits(ctx context.Context) bool {
	var err error
	s.run, err = settled(ctx, s.api, s.run.ID)
	return s.b.check("it waits for one answer", errors.Join(err, waiting(s.run, 1)))
}

func waiting(run wire.Run, pending int) error {
	if run.Status != "waiting" || len(run.Pending) != pending {
		return fmt.Errorf("the run is %s with %d calls that wait, and should be waiting with %d", run.Status, len(run.Pending), pending)
	}
	return nil
}

// listed looks for the call in the inbox: lists come from an index, which may lag.
func (s *story) listed(ctx context.Context) bool {
	err := until(ctx, patience, func() error {
		page, err := s.api.ApprovalPage(ctx, client.ApprovalFilter{Limit: 100})
		if err == nil && !slices.ContainsFunc(page.Items, func(a wire.Approval) bool { return a.RunID == s.run.ID }) {
			err = fmt.Errorf("run %s is not among %d approvals", s.run.ID, len(page.Items))
		}
		return err
	})
	return s.b.check("the call is listed", err)
}

func (s *story) killed(ctx context.Context) bool {
	if s.t.Platform == nil {
		return true
	}
	n := 0
	for _, f := range s.t.Platform.Stack.Functions {
		n += s.t.Platform.Lambda.Kill(f.Name)
	}
	s.b.say("killed every process of the stack: %d", n)
	before := s.run.Pending[0].Suspension.ID
	run, err := s.api.Run(ctx, s.run.ID)
	if err = errors.Join(err, waiting(run, 1)); err == nil && run.Pending[0].Suspension.ID != before {
		err = fmt.Errorf("it waits on %s, and waited on %s before", run.Pending[0].Suspension.ID, before)
	}
	return s.b.check("after every process was killed it waits for the same answer", err)
}

func (s *story) approved(ctx context.Context) bool {
	made, err := s.api.MakeLink(ctx, s.run.ID, wire.LinkRequest{Target: s.run.Pending[0].Suspension.ID, For: "anna@example.com"})
	if !s.b.check("a link to answer it is made for one person", err) {
		return false
	}
	link := pathOf(made.Link)
	code, page, err := s.t.status(ctx, http.MethodGet, link, "", "")
	if err == nil && (code != http.StatusOK || !strings.Contains(page, "issue_refund")) {
		err = fmt.Errorf("it was answered with %d: %s", code, page)
	}
	if !s.b.check("whoever has the link sees the call, and answers nothing by looking", err) {
		return false
	}
	code, answer, err := s.t.status(ctx, http.MethodPost, link, "", `{"action":"resume","reason":"the photos show the damage"}`)
	if err == nil && code/100 != 2 {
		err = fmt.Errorf("it was answered with %d: %s", code, answer)
	}
	return s.b.check("it is approved by the link", err)
}

// pathOf is the path of a link, whose host is the one that AWS would have for the API.
func pathOf(link string) string {
	_, path, _ := strings.Cut(link, "/v1/")
	return "/v1/" + path
}

func (s *story) told(ctx context.Context) bool {
	var err error
	s.run, err = settled(ctx, s.api, s.run.ID)
	if err == nil && (s.run.Status != "done" || s.run.Reason == nil || *s.run.Reason != "natural_end") {
		err = fmt.Errorf("the run is %s", s.run.Status)
	}
	if !s.b.check("it comes to its natural end", err) {
		return false
	}
	messages, err := client.Collect(s.api.Messages(ctx, s.run.ThreadID, client.MessageOptions{}))
	if err == nil && len(messages) < 5 {
		err = fmt.Errorf("it has %d messages", len(messages))
	}
	return s.b.check("the conversation can be read", err)
}

// streamed follows the events over the stream, which another function sends, and compares them with
// what a page of them says.
func (s *story) streamed(ctx context.Context) bool {
	// A stream has no end of its own time; the client that follows it must not have one either.
	api := client.New(s.t.API, client.WithToken(s.t.Token), client.WithRetries(0))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := client.Collect(api.Events(ctx, s.run.ID, client.EventOptions{}))
	var seen []string
	for _, e := range events {
		seen = append(seen, e.Cursor+" "+e.Type)
	}
	if !s.b.check("its events can be followed over a stream", err) {
		return false
	}
	page, err := s.api.EventPage(ctx, s.run.ID, client.EventQuery{Limit: 100})
	var listed []string
	for _, e := range page.Items {
		listed = append(listed, e.Cursor+" "+e.Type)
	}
	if err == nil && !slices.Equal(seen, listed) {
		err = fmt.Errorf("the stream has %v\nthe page has %v", seen, listed)
	}
	return s.b.check("the stream and the page have the same events", err)
}

func (s *story) once(context.Context) bool {
	if s.t.Service == nil {
		return true
	}
	effects, err := torture.ReadLedger(s.t.Service.Ledger)
	n := 0
	for _, e := range effects {
		if run, _ := e.Of(); run == s.run.ID {
			n++
		}
	}
	if err == nil && n != 1 {
		_, missing := os.Stat(s.t.Service.Ledger)
		err = errors.Join(fmt.Errorf("the ledger holds %d refunds of the run", n), missing)
	}
	return s.b.check("the money went out once", err)
}
