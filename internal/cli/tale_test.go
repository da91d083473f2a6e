package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestEventsInWords(t *testing.T) {
	const ready = `call.ready {"call_id":"c1","tool_name":"pay","arguments":{"order":"A-17","amount":120}}`
	for name, tt := range map[string]struct {
		events []string // type and data; the last one is told
		want   []string
	}{
		"a call":                   {[]string{ready}, []string{"asks for pay order=A-17 amount=120"}},
		"a call that does not fit": {[]string{`call.invalid {"call_id":"c1","tool_name":"pay","detail":"amount\nmissing"}`}, []string{"asked for pay in a way that does not fit: amount missing"}},
		"a body":                   {[]string{ready, `call.started {"call_id":"c1"}`}, []string{"runs pay"}},
		"a result":                 {[]string{ready, `call.succeeded {"call_id":"c1","result":"paid\u001b[2J"}`}, []string{`pay returns paid\x1b[2J`}},
		"a failure":                {[]string{ready, `call.failed {"call_id":"c1","result":"no money"}`}, []string{"pay failed: no money"}},
		"a call that was closed":   {[]string{ready, `call.cancelled {"call_id":"c1","result":"Not approved"}`}, []string{"pay was not run: Not approved"}},
		"a wait with a deadline": {[]string{`call.suspended {"call_id":"c1","tool_name":"pay","kind":"approval","deadline":"2026-11-21T05:48:44.000Z","suspension":{"id":"s","message":"Above 100."}}`},
			[]string{"waits for approval of pay since 02:28, deadline in 1h 20m", "Above 100."}},
		"a wait for a client": {[]string{`call.suspended {"call_id":"c1","tool_name":"locate","kind":"client","deadline":"1970-01-01T00:00:00.001Z"}`},
			[]string{"waits for the client's result of locate since 02:28, its deadline was 1970-01-01 00:00:00Z"}},
		"a pause":               {[]string{`call.suspended {"call_id":"c1","kind":"interrupt"}`}, []string{"waits for the word to go on since 02:28"}},
		"a yes":                 {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"anna","applied":true}`}, []string{"approved by anna"}},
		"a yes for more":        {[]string{`decision.recorded {"call_id":"c1","action":"resume","grant":"run"}`}, []string{"approved, and the like calls of this turn"}},
		"a no":                  {[]string{`decision.recorded {"call_id":"c1","action":"cancel","by":"anna","reason":"no  damage"}`}, []string{"denied by anna: no damage"}},
		"a result by a person":  {[]string{`decision.recorded {"call_id":"c1","action":"resume","result":{"t":21}}`}, []string{`answered: {"t":21}`}},
		"an error by a person":  {[]string{`decision.recorded {"call_id":"c1","action":"resume","error":"gone"}`}, []string{"answered with an error: gone"}},
		"no one in time":        {[]string{`decision.recorded {"call_id":"c1","action":"cancel","timed_out":true}`}, []string{"no answer came before the deadline"}},
		"too late":              {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"bob","late":true}`}, []string{"approved by bob, too late to count"}},
		"overtaken by a cancel": {[]string{`decision.recorded {"call_id":"c1","action":"resume","applied":false}`}, []string{"approved, without effect: the run was cancelled with it"}},
		"other arguments": {[]string{ready, `decision.recorded {"call_id":"c1","action":"resume","arguments":{"order":"A-17","amount":80}}`},
			[]string{"approved", "with other arguments:", "- amount: 120", "+ amount: 80"}},
		"text":                      {[]string{`text.ended {"text":"one\napproved by anna\u202e"}`}, []string{"says: one", `      approved by anna\u202e`}},
		"the end":                   {[]string{`turn.ended {"status":"done","reason":"natural_end"}`, `run.status {"status":"done","done_reason":"natural_end"}`}, []string{"done (natural_end)"}},
		"an end by a rule":          {[]string{`turn.ended {"reason":"stopped","code":"max_rounds","detail":"20 rounds"}`, `run.status {"status":"done","done_reason":"stopped"}`}, []string{"done (stopped max_rounds): 20 rounds"}},
		"sleep":                     {[]string{`run.status {"status":"waiting"}`}, []string{"sleeps until somebody answers"}},
		"state":                     {[]string{`state.delta {"ops":[{"key":"seen"},{"key":"n"}]}`}, []string{"remembers seen, n"}},
		"a model that is busy":      {[]string{`step.reset {"reason":"model_unavailable","text":"too many requests"}`}, []string{"the model gave no answer and is asked again: too many requests"}},
		"a model that is down":      {[]string{`step.reset {"reason":"model_unavailable","text":"nobody listens","try_at":"2026-11-21T04:29:24.000Z"}`}, []string{"the model gave no answer and is asked again: nobody listens; next attempt in 40 s"}},
		"others first":              {[]string{`step.reset {"reason":"yielded","text":"half"}`}, []string{"makes way for others; the model is asked again"}},
		"what is new":               {[]string{`moon.rose {"detail":"full"}`}, []string{"moon.rose  full"}},
		"no object":                 {[]string{`call.ready [1]`}, []string{"call.ready "}},
		"what is for programs only": {[]string{`step.ended {}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tale := newTale(func() time.Time { return began.Add(2 * time.Hour) })
			var got []string
			for _, e := range tt.events {
				kind, data, _ := strings.Cut(e, " ")
				got = nil
				for _, l := range tale.tell(wire.Event{Type: kind, Turn: 2, At: wire.Time{Time: began}, Data: json.RawMessage(data)}) {
					got = append(got, l.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTerminalIsGivenBackAlsoInAPanic(t *testing.T) {
	var out bytes.Buffer
	given := 0
	w := &walker{c: client.New("http://127.0.0.1:1", "", nil), out: &out, now: time.Now, size: func() (int, int) { panic("lost") },
		read: func([]byte) (int, error) { return 0, errors.New("no keys") }, raw: func() error { return nil }, restore: func() error { given++; return nil }}
	defer func() {
		if recover() == nil || given != 1 {
			t.Errorf("given back %d times", given)
		}
	}()
	_ = w.walk(t.Context())
}

func TestAnInboxWithoutAKeyboardEnds(t *testing.T) {
	var out bytes.Buffer
	given := 0
	w := &walker{c: client.New("http://127.0.0.1:1", "", nil), out: &out, now: time.Now, size: func() (int, int) { return 80, 24 },
		read: func([]byte) (int, error) { return 0, errors.New("no keys") }, raw: func() error { return nil }, restore: func() error { given++; return nil }}
	if err := w.walk(t.Context()); err == nil || !strings.Contains(err.Error(), "no keys") || given != 1 {
		t.Errorf("%v, given back %d times", err, given)
	}
}

func TestKeys(t *testing.T) {
	for sent, want := range map[string][]key{
		"jé":                    {{char: 'j'}, {char: 'é'}},
		"\x1b[A\x1b[B\r\x7f":    {{name: "up"}, {name: "down"}, {name: "enter"}, {name: "back"}},
		"\x1b":                  {{name: "escape"}},
		"\x1b[1;5Cy":            {{char: 'y'}},
		"\x03":                  {{name: "interrupt"}},
		"\x1b[200~y\x1b[201~n":  {{char: 'y', pasted: true}, {char: 'n'}},
		"\x00\x01\xff":          nil,
		"\x1b[999":              nil,
		"\x1b[200~\x1b[2\x1b[J": nil,
	} {
		var board keyboard
		if diff := cmp.Diff(want, board.read([]byte(sent)), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sent, diff)
		}
	}
	var board keyboard
	if got := append(board.read([]byte("\xc3")), board.read([]byte("\xa9"))...); len(got) != 1 || got[0].char != 'é' {
		t.Errorf("a character in two pieces: %v", got)
	}
}

func TestInboxLetsOnlyThePauseThatWasShownGoOn(t *testing.T) {
	paused := waits(1, "interrupt")
	for shown, want := range map[string]string{"sus_1": "POST /v1/runs/run_1/resume", "sus_9": ""} {
		sent := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				sent <- r.Method + " " + r.URL.Path
				_, _ = io.WriteString(w, `{"status":202,"code":"accepted"}`)
				return
			}
			_, _ = fmt.Fprintf(w, `{"id":"run_1","status":"waiting","pending":[{"kind":"interrupt","suspension":{"id":%q}}]}`, shown)
		}))
		w := &walker{c: client.New(server.URL, "", nil)}
		_, err := w.send(t.Context(), paused, wire.Decision{Target: "sus_1", Action: "resume"})
		server.Close()
		close(sent)
		if got := <-sent; got != want || (err == nil) != (want != "") {
			t.Errorf("the run waits on %s: sent %q, %v", shown, got, err)
		}
	}
}
