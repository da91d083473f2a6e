package local

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// calling is an agent that gives a task to a remote one.
const calling = `
name: desk
model:
  provider: scripted
  turns:
    - given: {no_result: true}
      calls:
        - {tool: review, arguments: {document: D-4}}
    - given: {tool: review}
      say: Reviewed.
tools:
  - {name: review, description: Reviews a document., a2a: {url: "https://reviews.example.com"}, input: "Review {document}."}
permissions: {allow: [review]}
`

// outpost is a remote agent that works until it is told to be done.
type outpost struct {
	task   peer.Task
	done   atomic.Bool
	stuck  atomic.Bool // stops are not confirmed
	looked chan engine.PeerRequest
	sent   chan engine.PeerRequest
}

func newOutpost() *outpost {
	return &outpost{task: peer.Task{ID: "task-4", Context: "ctx-4", Endpoint: "https://reviews.example.com/a2a"},
		looked: make(chan engine.PeerRequest, 2000), sent: make(chan engine.PeerRequest, 10)}
}

func (o *outpost) Send(_ context.Context, req engine.PeerRequest) (peer.Report, error) {
	o.sent <- req
	return peer.Report{State: peer.Working, Task: o.task}, nil
}

func (o *outpost) Look(_ context.Context, req engine.PeerRequest) (peer.Report, error) {
	o.looked <- req
	if o.done.Load() {
		return peer.Report{State: peer.Done, Task: o.task, Text: "Clause 7 names no deadline."}, nil
	}
	return peer.Report{State: peer.Working, Task: o.task}, nil
}

func (o *outpost) Stop(context.Context, engine.PeerRequest) error {
	if o.stuck.Load() {
		return errors.New("nothing listens there")
	}
	return nil
}

func (o *outpost) options(r *rig) Options {
	opts := r.options()
	opts.Peers = func(agent.Definition, agent.Tool) (engine.Peer, error) { return o, nil }
	return opts
}

// delegates starts a run that waits for the outpost, and returns the run that asks it.
func (s running) delegates(t *testing.T, o *outpost) (root, child wire.Run) {
	t.Helper()
	root = s.begin(t)
	id := (<-o.sent).Run
	s.hears(t, id, client.EventActivationEnded)
	s.hears(t, root.ID, client.EventTurnEnded)
	return s.read(t, root.ID), s.read(t, id)
}

// hears returns once the run has had an event of this type.
func (s running) hears(t *testing.T, run, of string) {
	t.Helper()
	for e, err := range s.Events(t.Context(), run, client.EventOptions{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == of {
			return
		}
	}
	t.Fatalf("%s ended without %s", run, of)
}

func (s running) read(t *testing.T, id string) wire.Run {
	t.Helper()
	run, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestARunShowsTheTaskOfItsRemoteAgent(t *testing.T) {
	r, o := newRig(t, nothing), newOutpost()
	r.deploy(calling)
	s := r.startWith(o.options(r))
	root, child := s.delegates(t, o)
	if c := root.Children[0]; c.Agent != "review" || root.Remote != nil {
		t.Errorf("the parent: %+v, children %+v", root.Remote, root.Children)
	}
	task := *child.Remote
	if want := (wire.RemoteTask{Tool: "review", TaskID: "task-4", ContextID: "ctx-4", URL: "https://reviews.example.com/a2a"}); task.NextLookAt == nil || withoutNext(task) != want {
		t.Errorf("the child: %+v", task)
	}
	list, err := client.Collect(s.Runs(t.Context(), client.RunFilter{}))
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, run := range list {
		if (run.Remote != nil) != (run.ID == child.ID) {
			t.Errorf("in the list: %+v", run)
		}
	}
	o.done.Store(true)
	s.await(t, root.ID, "done")
	if child = s.await(t, child.ID, "done"); child.Remote.NextLookAt != nil || child.Remote.TaskID != "task-4" {
		t.Errorf("at the end: %+v", child.Remote)
	}
}

func withoutNext(task wire.RemoteTask) wire.RemoteTask {
	task.NextLookAt = nil
	return task
}

// A stop that the remote agent does not confirm holds neither the parent nor those who follow it.
func TestAStopThatIsOwedHoldsNoOneAbove(t *testing.T) {
	r, o := newRig(t, nothing), newOutpost()
	o.stuck.Store(true)
	r.deploy(calling)
	s := r.startWith(o.options(r))
	root, child := s.delegates(t, o)
	if _, err := s.Cancel(t.Context(), root.ID); err != nil {
		t.Fatal(err)
	}
	s.await(t, root.ID, "done")
	ends := 0
	for page := (wire.EventPage{}); !page.Done; {
		var err error
		if page, err = s.EventPage(t.Context(), root.ID, client.EventQuery{After: page.Next, Tree: true, Wait: 20 * time.Second}); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			if e.Type == client.EventTurnEnded {
				ends++
			}
		}
	}
	if ends != 2 { // the parent began to wait, and ended
		t.Errorf("%d turns ended", ends)
	}
	for child.Remote.StopAttempts == 0 {
		child = s.read(t, child.ID)
	}
	if child.Status != "running" || child.Remote.NextLookAt == nil {
		t.Errorf("the child: %+v, %+v", child, child.Remote)
	}
	o.stuck.Store(false)
	if child = s.await(t, child.ID, "done"); child.Reason == nil || *child.Reason != "cancelled" || child.Remote.StopAttempts == 0 {
		t.Errorf("at the end: %+v, %+v", child, child.Remote)
	}
}

const desksURL = "https://desk.example.com"

// pushing is a server that remote agents can send to, and the address that came with the task.
func (r *rig) pushing(t *testing.T, o *outpost) (s running, root, child wire.Run, address string) {
	t.Helper()
	o.task.Pushes = true
	r.deploy(calling)
	opts := o.options(r)
	var err error
	if opts.PublicURL, err = access.ParsePublicURL(desksURL); err != nil {
		t.Fatal(err)
	}
	s = r.startWith(opts)
	root = s.begin(t)
	req := <-o.sent
	s.hears(t, req.Run, client.EventActivationEnded)
	address, ours := strings.CutPrefix(req.Push, desksURL)
	if !ours {
		t.Fatalf("the address is %s", req.Push)
	}
	return s, root, s.read(t, req.Run), address
}

// push sends a notification without a token, and returns the status.
func (s running) push(t *testing.T, address string) int {
	t.Helper()
	resp, err := http.Post("http://"+s.Addr()+address, "application/a2a+json", strings.NewReader(`{"statusUpdate":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestAPushMakesTheNextLookHappen(t *testing.T) {
	r, o := newRig(t, nothing), newOutpost()
	s, root, child, address := r.pushing(t, o)
	sooner := false
	for range 5 { // the machine may be so slow that a look is due anyway
		due := s.read(t, child.ID).Remote.NextLookAt
		if status := s.push(t, address); status != http.StatusNoContent {
			t.Fatalf("status %d", status)
		}
		<-o.looked
		if sooner = due != nil && time.Now().Before(due.Time); sooner {
			break
		}
	}
	if !sooner {
		t.Error("no look came sooner than it was due")
	}
	o.done.Store(true)
	s.push(t, address)
	s.await(t, root.ID, "done")
	if status := s.push(t, address); status != http.StatusNoContent {
		t.Errorf("after the end: %d", status)
	}
}

func TestAPushToAnotherRunIsRefused(t *testing.T) {
	r, o := newRig(t, nothing), newOutpost()
	s, root, child, address := r.pushing(t, o)
	at, ok := access.ReadPush(strings.TrimPrefix(address, access.PushPath))
	if !ok || at.Run != child.ID || at.Tenant != access.Tenant {
		t.Fatalf("%+v", at)
	}
	for name, change := range map[string]func(*access.Push){
		"the token": func(p *access.Push) { p.Token = strings.ToUpper(p.Token) }, "the tenant": func(p *access.Push) { p.Tenant = "zoo" },
		"the run": func(p *access.Push) { p.Run = root.ID }, "an unknown run": func(p *access.Push) { p.Run = "run_nobody_0" },
	} {
		wrong := at
		change(&wrong)
		if status := s.push(t, access.PushPath+wrong.Text()); status != http.StatusNotFound {
			t.Errorf("%s changed: %d", name, status)
		}
	}
	o.done.Store(true)
	s.await(t, root.ID, "done")
}

// A flood of notifications costs a look now and then.
func TestAFloodOfPushesCostsLittle(t *testing.T) {
	r, o := newRig(t, nothing), newOutpost()
	s, root, child, address := r.pushing(t, o)
	began := time.Now()
	var all sync.WaitGroup
	var taken, refused atomic.Int64
	for range 8 {
		all.Go(func() {
			for range 125 {
				switch status := s.push(t, address); status {
				case http.StatusNoContent:
					taken.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("status %d", status)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if taken.Load() < 100 || refused.Load() == 0 && took < 10*time.Second {
		t.Errorf("%d taken, %d refused in %v", taken.Load(), refused.Load(), took)
	}
	// each look waits twice as long for the next, of which a notification leaves a quarter
	if n := len(o.looked); n > 4+int(took/time.Second) {
		t.Errorf("%d looks in %v", n, took)
	}
	if n := s.read(t, child.ID).Activations; n > 12+3*int(took/time.Second) {
		t.Errorf("%d activations in %v", n, took)
	}
	o.done.Store(true)
	s.await(t, root.ID, "done")
}

// Without HTTPS the token would be sent in the clear.
func TestAServerWithoutAnAddressOnlyLooks(t *testing.T) {
	for _, public := range []string{"", "http://desk.example.com"} {
		r, o := newRig(t, nothing), newOutpost()
		r.deploy(calling)
		opts := o.options(r)
		opts.PublicURL, _ = access.ParsePublicURL(public)
		o.done.Store(true)
		s := r.startWith(opts)
		root := s.begin(t)
		if req := <-o.sent; req.Push != "" {
			t.Errorf("%q: the address is %s", public, req.Push)
		}
		s.await(t, root.ID, "done")
	}
}
