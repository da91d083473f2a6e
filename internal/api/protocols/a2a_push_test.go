package protocols_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
)

const noPushes = -32003

// pushed is one push notification.
type pushed struct {
	header http.Header
	Task   *task `json:"task"`
	Update *struct {
		TaskID    string `json:"taskId"`
		ContextID string `json:"contextId"`
		task
	} `json:"statusUpdate"`
	Time struct {
		Timestamp time.Time `json:"timestamp"`
	} `json:"-"`
}

// listener receives push notifications, and answers them with a status.
type listener struct {
	*httptest.Server
	t   *testing.T
	got chan pushed

	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request)
}

func listen(t *testing.T) *listener {
	l := &listener{t: t, got: make(chan pushed, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		p := pushed{header: r.Header}
		var of struct {
			Task, StatusUpdate struct{ Status struct{ Timestamp time.Time } }
		}
		if err != nil || json.Unmarshal(body, &p) != nil || json.Unmarshal(body, &of) != nil {
			t.Errorf("%s: %v", body, err)
		}
		p.Time.Timestamp = of.Task.Status.Timestamp
		if p.Update != nil {
			p.Time.Timestamp = of.StatusUpdate.Status.Timestamp
		}
		if l.answer != nil {
			l.answer(w, r)
		}
		l.got <- p
	}))
	t.Cleanup(l.Close)
	return l
}

// next is the next notification: the state of the task that it says, and the whole.
func (l *listener) next() (state string, p pushed) {
	l.t.Helper()
	select {
	case p = <-l.got:
	case <-time.After(time.Minute):
		l.t.Fatal("no notification comes")
	}
	if p.Update != nil {
		return strings.TrimPrefix(p.Update.Status.State, "TASK_STATE_"), p
	}
	return strings.TrimPrefix(p.Task.Status.State, "TASK_STATE_"), p
}

// none is an error if a notification has come.
func (l *listener) none() {
	l.t.Helper()
	select {
	case p := <-l.got:
		l.t.Errorf("a notification came: %+v", p)
	default:
	}
}

// pushTo are the members of a configuration.
func (l *listener) pushTo(more string) string { return `"url":"` + l.URL + `/hook"` + more }

func (l *listener) inMessage(more string) string {
	return `"configuration":{"taskPushNotificationConfig":{` + l.pushTo(more) + `}}`
}

// saysPushed are the parameters of a message with a configuration for push notifications.
func saysPushed(id, text, configuration string) string {
	return strings.TrimSuffix(says(id, text, ""), "}") + "," + configuration + "}"
}

// delivered waits until nothing is on its way to the endpoints of a task, and returns what became
// of the notices, newest first.
func (d *desk) delivered(thread string) (states []string) {
	d.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; {
		page, err := d.api().DeliveryPage(d.Context(), client.DeliveryFilter{Thread: thread})
		if err != nil {
			d.Fatal(err)
		}
		states = nil
		waits := false
		for _, one := range page.Items {
			waits = waits || one.State == "waiting"
			states = append(states, one.State)
		}
		if !waits {
			return states
		}
	}
	d.Fatal("deliveries wait")
	return nil
}

// TestA2APushesTheStatesOfATask: a task that begins with a configuration says that it asks, with
// the question, and how it ends, with its output. The receiver gets the client's headers.
func TestA2APushesTheStatesOfATask(t *testing.T) {
	d, l := newDesk(t), listen(t)
	begun := d.task(d.rpc("SendMessage", saysPushed("m1", "pay 50", l.inMessage(`,"token":"tok-1","authentication":{"scheme":"Bearer","credentials":"cred-1"}`))))
	state, asks := l.next()
	if state != "INPUT_REQUIRED" || asks.Update == nil || asks.Update.TaskID != begun.ID || asks.Update.ContextID != begun.ContextID {
		t.Fatalf("%s, %+v", state, asks)
	}
	for name, want := range map[string]string{"X-A2A-Notification-Token": "tok-1", "A2A-Notification-Token": "tok-1", "Authorization": "Bearer cred-1",
		"Content-Type": "application/a2a+json", "A2A-Version": "1.0"} {
		if got := asks.header.Get(name); got != want {
			t.Errorf("the header %s is %q, want %q", name, got, want)
		}
	}
	q := asks.Update.asks()
	if len(q) != 1 || q[0].ID != begun.asks()[0].ID {
		t.Fatalf("%+v, and the task asks %+v", q, begun.asks())
	}
	d.rpc("SendMessage", answers("m2", begun.ID, `{"decisionId":"`+q[0].ID+`","approved":true}`))
	state, done := l.next()
	if state != "COMPLETED" || done.Task == nil || done.Task.ID != begun.ID || done.Task.output() != "Paid 50." {
		t.Fatalf("%s, %+v", state, done)
	}
	if !done.Time.Timestamp.After(asks.Time.Timestamp) {
		t.Errorf("the end is at %s, the question at %s", done.Time.Timestamp, asks.Time.Timestamp)
	}
	if asks.header.Get("Webhook-Id") == done.header.Get("Webhook-Id") {
		t.Error("two notifications have one id")
	}
	d.delivered(begun.ContextID)
	l.none()
}

// TestA2APushesWhatRunsBelowAsk: the question of an agent that works for the task comes as the
// task's, and its end is not the task's.
func TestA2APushesWhatRunsBelowAsk(t *testing.T) {
	d, l := newDesk(t).at("boss"), listen(t)
	begun := d.task(d.rpc("SendMessage", saysPushed("m1", "pay 50", l.inMessage(""))))
	state, asks := l.next()
	if state != "INPUT_REQUIRED" || asks.Update.TaskID != begun.ID || len(asks.Update.asks()) != 1 || asks.Update.asks()[0].Agent != "desk" {
		t.Fatalf("%s, %+v", state, asks)
	}
	d.rpc("SendMessage", answers("m2", begun.ID, `{"decisionId":"`+asks.Update.asks()[0].ID+`","approved":true}`))
	if state, done := l.next(); state != "COMPLETED" || done.Task.ID != begun.ID || done.Task.output() != "The desk says: Paid 50." {
		t.Fatalf("%s, %+v", state, done)
	}
}

// TestA2APushesToEndpointsThatComeLater: a task that waits, or has ended, is sent at once.
func TestA2APushesToEndpointsThatComeLater(t *testing.T) {
	d, l := newDesk(t), listen(t)
	open := d.begin("m1", "pay 50")
	d.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+open.ID+`",`+l.pushTo(`,"id":"mine"`)+`}`)
	if state, asks := l.next(); state != "INPUT_REQUIRED" || asks.Update.TaskID != open.ID || len(asks.Update.asks()) != 1 {
		t.Fatalf("%s, %+v", state, asks)
	}
	d.rpc("CancelTask", `{"id":"`+open.ID+`"}`)
	if state, end := l.next(); state != "CANCELED" || end.Task.ID != open.ID {
		t.Fatalf("%s, %+v", state, end)
	}
	done := d.begin("m2", "hello")
	d.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+done.ID+`",`+l.pushTo("")+`}`)
	if state, end := l.next(); state != "COMPLETED" || end.Task.output() != "Hello. What can I do?" {
		t.Fatalf("%s, %+v", state, end)
	}
}

// TestA2APushConfigurationsAreKeptWithoutTheirSecrets: they are read, listed, replaced and deleted,
// and a deleted one gets nothing more.
func TestA2APushConfigurationsAreKeptWithoutTheirSecrets(t *testing.T) {
	d, l := newDesk(t), listen(t)
	open := d.begin("m1", "pay 50")
	at := `"taskId":"` + open.ID + `"`
	create := func(more string) string {
		return d.rpc("CreateTaskPushNotificationConfig", `{`+at+`,`+l.pushTo(`,"token":"s3cret-token","authentication":{"scheme":"Basic","credentials":"s3cret-key"}`+more)+`}`).text
	}
	texts := []string{create(`,"id":"a"`), create(`,"id":"a"`), create(""), create(""),
		d.rpc("GetTaskPushNotificationConfig", `{`+at+`,"id":"a"}`).text, d.rpc("ListTaskPushNotificationConfigs", `{`+at+`}`).text}
	for _, text := range texts {
		if strings.Contains(text, "s3cret") || !strings.Contains(text, `"scheme":"Basic"`) || !strings.Contains(text, l.URL) {
			t.Errorf("it is shown as %s", text)
		}
	}
	if listed := texts[5]; strings.Count(listed, `"url"`) != 2 {
		t.Errorf("the list is %s", listed)
	}
	for range 2 {
		l.next()
	}
	var all struct {
		Result struct{ Configs []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(texts[5]), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Result.Configs {
		for range 2 { // again, too
			if text := d.rpc("DeleteTaskPushNotificationConfig", `{`+at+`,"id":"`+c.ID+`"}`).text; strings.Contains(text, "error") {
				t.Error(text)
			}
		}
	}
	if code, _ := d.refused(d.rpc("GetTaskPushNotificationConfig", `{`+at+`,"id":"a"}`)); code != notFound {
		t.Errorf("the code is %d", code)
	}
	d.rpc("CancelTask", `{"id":"`+open.ID+`"}`)
	d.delivered(open.ContextID)
	l.none()
}

// TestA2APushConfigurationsAreRefused: addresses inside, texts that would be more than a header,
// too many, and those of others.
func TestA2APushConfigurationsAreRefused(t *testing.T) {
	d, _ := lonelyDesk(t, t.TempDir(), token("amy", "acme", access.Start, access.Read), token("eve", "evil", access.Admin), token("rob", "acme", access.Read),
		token("ada", "acme", access.Admin))
	amy, l := d.as("amy"), listen(t)
	open := amy.begin("m1", "pay 50")
	create := func(d *desk, members string) answered {
		return d.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+open.ID+`",`+members+`}`)
	}
	public := `"url":"https://hooks.example.com/x"`
	for name, tt := range map[string]struct {
		d       *desk
		members string
		code    int
	}{
		"another tenant":                   {d.as("eve"), public, notFound},
		"a caller who can only read":       {d.as("rob"), public, unauthorized},
		"this machine":                     {amy, l.pushTo(""), invalidParams},
		"a private address":                {amy, `"url":"https://10.0.0.7/x"`, invalidParams},
		"a metadata service":               {d.as("ada"), `"url":"http://169.254.169.254/latest"`, invalidParams},
		"a number as the host":             {d.as("ada"), `"url":"http://2130706433/"`, invalidParams},
		"unencrypted":                      {amy, `"url":"http://hooks.example.com/x"`, invalidParams},
		"no URL":                           {amy, `"token":"a"`, invalidParams},
		"another scheme of URLs":           {amy, `"url":"file:///etc/passwd"`, invalidParams},
		"a secret of the server":           {amy, `"url":"https://hooks.example.com/{secret:KEY}"`, invalidParams},
		"a login in the URL":               {amy, `"url":"https://me:pw@hooks.example.com/"`, invalidParams},
		"a token of two lines":             {amy, public + `,"token":"a\r\nX-Admin: yes"`, invalidParams},
		"credentials of two lines":         {amy, public + `,"authentication":{"scheme":"Bearer","credentials":"a\nHost: b"}`, invalidParams},
		"a scheme that is a header":        {amy, public + `,"authentication":{"scheme":"Bearer x\r\nA:","credentials":"a"}`, invalidParams},
		"credentials without their scheme": {amy, public + `,"authentication":{"scheme":"","credentials":"a"}`, invalidParams},
		"a huge token":                     {amy, public + `,"token":"` + strings.Repeat("a", 100_000) + `"`, invalidParams},
		"huge credentials":                 {amy, public + `,"authentication":{"scheme":"Bearer","credentials":"` + strings.Repeat("a", 100_000) + `"}`, invalidParams},
		"an id that is a path":             {amy, public + `,"id":"../../x"`, invalidParams},
	} {
		if code, of := tt.d.refused(create(tt.d, tt.members)); code != tt.code {
			t.Errorf("%s: %d %s, want %d", name, code, of, tt.code)
		}
	}
	for name, method := range map[string]string{"get": "Get", "list": "List", "delete": "Delete"} {
		plural := map[string]string{"List": "s"}[method]
		if code, _ := d.refused(d.as("eve").rpc(method+"TaskPushNotificationConfig"+plural, `{"taskId":"`+open.ID+`","id":"a"}`)); code != notFound {
			t.Errorf("another tenant can %s: %d", name, code)
		}
	}
	if text := amy.rpc("ListTaskPushNotificationConfigs", `{"taskId":"`+open.ID+`"}`).text; strings.Contains(text, "url") {
		t.Errorf("a refused one is kept: %s", text)
	}
	started, err := client.New(d.url, client.WithToken("ada-secret")).StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: json.RawMessage(`"pay 50"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := d.refused(d.as("ada").rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+started.ID+`",`+public+`}`)); code != noPushes {
		t.Errorf("a run that is no task: %d", code)
	}
}

// TestA2ATasksHaveFewPushConfigurations: of many requests at once, as many are taken as a task may
// have.
func TestA2ATasksHaveFewPushConfigurations(t *testing.T) {
	d, l := newDesk(t), listen(t)
	open := d.begin("m1", "pay 50")
	var group sync.WaitGroup
	for n := range 60 {
		group.Go(func() {
			d.rpc("CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,%s}`, open.ID, l.pushTo(fmt.Sprintf(`,"id":"c%d"`, n))))
		})
	}
	group.Wait()
	for n := range 20 {
		d.rpc("CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,%s}`, open.ID, l.pushTo(fmt.Sprintf(`,"id":"d%d"`, n))))
	}
	if text := d.rpc("ListTaskPushNotificationConfigs", `{"taskId":"`+open.ID+`"}`).text; strings.Count(text, `"url"`) != 8 {
		t.Errorf("the list is %s", text)
	}
}

// TestA2APushesFollowNoRedirect: an endpoint can't lead to another address, and one that is gone is
// asked no more.
func TestA2APushesFollowNoRedirect(t *testing.T) {
	d, l, inner := newDesk(t), listen(t), listen(t)
	l.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusTemporaryRedirect)
	}
	begun := d.task(d.rpc("SendMessage", saysPushed("m1", "pay 50", l.inMessage(""))))
	l.next()
	l.mu.Lock()
	l.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }
	l.mu.Unlock()
	d.rpc("CancelTask", `{"id":"`+begun.ID+`"}`)
	l.next()
	for _, state := range d.delivered(begun.ContextID) {
		if state != "dead" {
			t.Errorf("a notice is %s", state)
		}
	}
	inner.none()
}

// TestA2APushesLateThingsAsTheyAreNow: a notification that its receiver first refuses says, when it
// is sent again, no state that is over.
func TestA2APushesLateThingsAsTheyAreNow(t *testing.T) {
	d, l := newDesk(t), listen(t)
	refuse := true
	l.answer = func(w http.ResponseWriter, _ *http.Request) {
		if refuse {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		refuse = false
	}
	begun := d.task(d.rpc("SendMessage", saysPushed("m1", "pay 50", l.inMessage(""))))
	if state, _ := l.next(); state != "INPUT_REQUIRED" {
		t.Errorf("first came %s", state)
	}
	d.rpc("CancelTask", `{"id":"`+begun.ID+`"}`)
	if state, _ := l.next(); state != "CANCELED" {
		t.Errorf("the end came as %s", state)
	}
	// The time may be later than that of the end: a run that has ended is settled after it.
	if state, again := l.next(); state != "CANCELED" {
		t.Errorf("the question came again as %s at %s", state, again.Time.Timestamp)
	}
}
