package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// takers are the calls that take a body.
var takers = []string{"/v1/runs", "/v1/runs/{waiting}/decisions", "/v1/runs/{waiting}/cancel", "/v1/runs/{waiting}/interrupt", "/v1/runs/{paused}/resume",
	"/v1/runs/{failed}/retry", "/v1/threads/{thread of waiting}/messages", "/v1/threads/{thread of paused}/messages", "/v1/threads/{thread of done}/messages",
	"/v1/runs/{created}/decisions", "/v1/runs/{done}/decisions", "/v1/runs/{paused}/decisions", "/v1/runs/{done}/retry"}

var bodySeeds = []struct {
	taker     int
	key, body string
}{
	{0, "k1", `{"agent":"desk","input":"refund A-17","metadata":{"order":"A-17"},"permissions":{"deny":["Bash(rm *)"]},"memory":false}`},
	{0, "", `{"agent":"desk","input":[{"type":"text","text":"a"},{"type":"text","text":""}],"on_pending":"queue"}`},
	{0, "k5", `{"agent":"desk","input":[{"type":"image","media_type":"image/gif","data":"R0lGODlhAQABAAAAACw="},{"type":"text","text":"a"}]}`},
	{0, "", `{"agent":"desk","input":[{"type":"document","media_type":"text/csv","name":"o","data":"YQ=="},{"type":"image","media_type":"image/svg+xml","data":"YQ=="}]}`},
	{8, "m3", `{"input":[{"type":"document","media_type":"application/pdf","name":null,"data":"YR=="}]}`},
	{0, "k2", `{"agent":"desk","input":"next","thread_id":"{thread of done}"}`},
	{0, "k3", `{"agent":"desk","input":"next","thread_id":"{thread of waiting}","on_pending":"abandon"}`},
	{0, "", `{"agent":"nobody","input":"x","input":"y"}`},
	{0, "k4", `{"agent":"desk","input":"` + strings.Repeat("long ", 200) + `"}`},
	{1, "", `{"target":"{approval}","action":"resume","arguments":{"order":"B"},"grant":"run","reason":"fine"}`},
	{1, "", `{"target":"approval","result":{"approved":false,"reason":"no"}}`},
	{1, "", `{"decision_id":"d1","target":"{client}","result":{"city":"Zürich"}}`},
	{1, "", `{"target":"{input}","result":{"approved":"x"}}`},
	{1, "", `{"target":"{unknown}","action":"resume","result":null,"error":"it failed"}`},
	{1, "", `{"target":"{late}","action":"cancel"}`},
	{1, "", `{"decisions":[{"target":"{approval}","action":"cancel"},{"target":"nobody","action":"resume"},{"target":"{client}","error":"lost"},{"target":"sus_zz_a"}]}`},
	{1, "", `{"decisions":null}`}, {1, "", `{"decisions":[null,1]}`},
	{2, "", ``}, {2, "", `{}`}, {3, "i2", ``}, {3, "i1", `{"force":true}`}, {4, "", `{"decision_id":"r1","reason":"go on"}`}, {5, "r", ``}, {5, "", `{}`},
	{6, "m", `{"input":"hi","on_pending":"queue"}`}, {6, "m", `{"input":"hi"}`}, {7, "", `{"input":"hi"}`}, {8, "m2", `{"input":[{"type":"text","text":"thanks"}]}`},
	{10, "", `{"target":"c1","action":"resume"}`}, {11, "", `{"target":"interrupt:x","action":"resume"}`}, {12, "", ``},
}

// Whatever a body is, it is answered, a refusal stores nothing, and the same request again has the
// same answer and stores nothing more.
func FuzzBodies(f *testing.F) {
	d := newDesk(f)
	for _, seed := range bodySeeds {
		f.Add(uint8(seed.taker), seed.key, seed.body)
	}
	f.Fuzz(func(t *testing.T, taker uint8, key, body string) {
		o := d.open(t)
		path := d.names.Replace(takers[int(taker)%len(takers)])
		body = d.names.Replace(body)
		send := func() answered {
			r, ok := o.read("POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json", body)
			if !ok {
				t.Fatalf("the path %s is none", path)
			}
			r.Header["Idempotency-Key"] = []string{key}
			w := o.serve(r)
			return answered{w.Code, w.Body.String()}
		}
		first := send()
		after := o.stored()
		if first.status >= 400 && after != o.fresh && !first.late() {
			t.Fatalf("%s was refused with %d %s, and this was stored:\n%s\nbefore:\n%s", body, first.status, first.text, after, o.fresh)
		}
		if key == "" && !strings.HasSuffix(path, "/decisions") && !strings.HasSuffix(path, "/resume") && !strings.HasSuffix(path, "/retry") {
			return // said twice, it is two requests
		}
		again := send()
		if twice := o.stored(); twice != after {
			t.Fatalf("%s %s, sent again, stored\n%s\nbeside\n%s", path, body, twice, after)
		}
		checkAgain(t, first, again)
	})
}

type answered struct {
	status int
	text   string
}

// late says whether it is the refusal that is recorded. Of several decisions each has its own
// answer.
func (a answered) late() bool { return strings.Contains(a.text, `"code":"late_decision"`) }

// checkAgain holds the answer to a repeat against the first. What was stored now was stored before
// then.
func checkAgain(t *testing.T, first, again answered) {
	t.Helper()
	if first.status >= 300 {
		if first != again {
			t.Fatalf("refused with %v, and then %v", first, again)
		}
		return
	}
	if again.status >= 300 {
		t.Fatalf("taken with %v, and then %v", first, again)
	}
	var one, two wire.Run
	if json.Unmarshal([]byte(first.text), &one) == nil && json.Unmarshal([]byte(again.text), &two) == nil && one.ID != two.ID {
		t.Fatalf("the run %s, and then %s", one.ID, two.ID)
	}
	var several wire.DecisionAnswers
	if json.Unmarshal([]byte(again.text), &several) != nil {
		return
	}
	for _, a := range several.Answers {
		if a.Status == http.StatusAccepted || a.Status >= 500 || a.Status >= 400 && !knownCodes[a.Code] {
			t.Fatalf("sent again, one of several decisions is answered %+v", a)
		}
	}
}
