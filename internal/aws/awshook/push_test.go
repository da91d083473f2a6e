package awshook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/aws/awstest"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// reviewer is a remote agent that works on one task until it is done, and sends notifications.
type reviewer struct {
	*httptest.Server
	done   atomic.Bool
	pushes chan string // the addresses that came with tasks
}

func newReviewer(t *testing.T) *reviewer {
	t.Helper()
	r := &reviewer{pushes: make(chan string, 10)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		_, _ = fmt.Fprintf(w, `{"name":"reviewer","capabilities":{"pushNotifications":true},"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.URL+"/a2a")
		return
	}
	var asked struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Configuration struct {
				Push struct{ URL string } `json:"taskPushNotificationConfig"`
			}
		}
	}
	_ = json.NewDecoder(req.Body).Decode(&asked)
	task := `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}`
	if r.done.Load() {
		task = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a1","parts":[{"text":"It is good."}]}]}`
	}
	if asked.Method == "SendMessage" {
		r.pushes <- asked.Params.Configuration.Push.URL
		task = `{"task":` + task + `}`
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, task)
}

const drafts = `
name: drafts
model: {provider: scripted, turns: [{given: {no_result: true}, calls: [{tool: review, arguments: {draft: A-1}}]}, {given: {tool: review}, say: Reviewed.}]}
tools: [{name: review, a2a: {url: "%s", allow_private: true}, input: "the draft {draft}"}]
permissions: {allow: [review]}
`

// The step function gives the address to the agent, and the function hook takes what it sends.
func TestARemoteAgentPushesOnAWS(t *testing.T) {
	r := newReviewer(t)
	s := newStand(t, r.Server)
	awstest.Deploy(t, s.step.Store, tenant, fmt.Sprintf(drafts, r.URL))
	started, err := s.step.NewFrontend().Start(t.Context(), frontend.Caller{Tenant: tenant, By: "test"}, "", wire.StartRequest{Agent: "drafts", Input: core.Encode("Have it reviewed")})
	s.must(err)
	s.pump("wake")
	path, ours := strings.CutPrefix(<-r.pushes, public)
	at, ok := access.ReadPush(strings.TrimPrefix(path, access.PushPath))
	if !ours || !ok || at.Tenant != tenant {
		t.Fatalf("the address is %s", path)
	}
	before := s.run(at.Run).Remote
	wrong := at
	wrong.Token += "x"
	if got := s.post(access.PushPath+wrong.Text(), "{}", nil); got.StatusCode != 404 || !strings.Contains(got.Body, `"not_found"`) {
		t.Errorf("a wrong token: %d %s", got.StatusCode, got.Body)
	}
	r.done.Store(true)
	for range 2 {
		if got := s.post(path, `{"statusUpdate":{}}`, nil); got.StatusCode != 204 || got.Body != "" {
			t.Fatalf("%d %s\n%s", got.StatusCode, got.Body, s.log.String())
		}
	}
	s.pump("wake")
	if now := s.run(at.Run).Remote; now.NextLookAt != nil && !now.NextLookAt.Before(before.NextLookAt.Time) {
		t.Errorf("the next look was to be at %v, and is to be at %v", before.NextLookAt, now.NextLookAt)
	}
	for s.run(started.Run.ID).Status != "done" {
		s.pump("wake")
	}
	if child := s.run(at.Run); string(child.Output) != `"It is good."` {
		t.Errorf("%+v\n%s", child, s.log.String())
	}
	if got := s.post(path, "{}", nil); got.StatusCode != 204 {
		t.Errorf("at the end: %d %s", got.StatusCode, got.Body)
	}
	if strings.Contains(s.log.String(), at.Token) {
		t.Error("the log has the token")
	}
}
