//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// nested is n lists, or objects, in one another.
func nested(n int, open, end string) string {
	return strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
}

// values stand where something else is expected: JSON that is odd, and texts that are no JSON.
var values = map[string]string{
	"null": "null", "true": "true", "false": "false", "zero": "0", "minus zero": "-0", "a half": "0.5", "1e999": "1e999", "-1e999": "-1e999",
	"1e-999": "1e-999", "an exponent of 10 digits": "1e9999999999", "a million digits": strings.Repeat("9", million), "no text": `""`,
	"a blank": `" "`, "a NUL": `"\u0000"`, "half a surrogate": `"\ud800"`, "a direction": `"\u202e"`, "a path": `"../../etc/passwd"`,
	"an order": `"'; DROP TABLE runs; --"`, "a page": `"<script>alert(1)</script>"`, "a list": `[]`, "an object": `{}`, "a list of null": `[null]`,
	"a list of lists": `[[],[[]]]`, "an object without a name": `{"":""}`, "a list of 30,000": "[" + strings.Repeat("0,", 30_000) + "0]",
	"an object of 20,000": crowd(20_000), "100,000 letters": `"` + long[:100_000] + `"`, "250 lists": nested(250, "[", "]"),
	"1,000 objects": nested(1000, `{"a":`, "}"), "10,000 lists": nested(10_000, "[", "]"), "10,000 objects": nested(10_000, `{"a":`, "}"),
	"a million lists": strings.Repeat("[", million), "200,000 objects": strings.Repeat(`{"a":`, 200_000),
	"NaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity", "a hexadecimal": "0x10", "a leading zero": "007", "a plus": "+1", "undefined": "undefined",
	"single quotes": "'x'", "a comment": "/* */1", "a comma too many": "[1,]", "a tab in a text": "\"\t\"", "bytes that are no UTF-8": "\"\xff\xfe\"",
	"a twin": `{"a":1,"a":2}`, "a twin, deep and escaped": `[{"b":{"a":1,"\u0061":2}}]`, "nothing": "", "a text without end": `"x`,
}

func crowd(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	return "{" + b.String() + `"x":0}`
}

// never are the values that no member takes.
var never = []string{"NaN", "Infinity", "-Infinity", "a hexadecimal", "a leading zero", "a plus", "undefined", "single quotes", "a comment",
	"a comma too many", "a tab in a text", "bytes that are no UTF-8", "a twin", "a twin, deep and escaped", "nothing", "a text without end",
	"1,000 objects", "10,000 lists", "10,000 objects", "a million lists", "200,000 objects"}

// place is where a body is sent. The rest of it is fine.
type place struct {
	name, path string
	shape      any
	fine       map[string]string // members that are not under attack
}

// places need a run that waits.
func places(run wire.Run) []place {
	target := fmt.Sprintf("%q", run.Pending[0].Suspension.ID)
	return []place{
		{"a start", "/v1/runs", wire.StartRequest{}, map[string]string{"agent": `"waits"`, "input": `"x"`}},
		{"a decision", "/v1/runs/" + run.ID + "/decisions", wire.Decision{}, map[string]string{"target": target, "action": `"resume"`}},
		{"a message", "/v1/threads/" + run.ThreadID + "/messages", wire.MessageRequest{}, map[string]string{"input": `"x"`, "on_pending": `"queue"`}},
		{"a link", "/v1/runs/" + run.ID + "/links", wire.LinkRequest{}, map[string]string{"target": target, "for": `"anna"`}},
		{"a resume", "/v1/runs/" + run.ID + "/resume", wire.ResumeRequest{}, map[string]string{}},
		{"a cancel", "/v1/runs/" + run.ID + "/cancel", struct{}{}, map[string]string{}},
		{"an interrupt", "/v1/runs/" + run.ID + "/interrupt", struct{}{}, map[string]string{}},
		{"a retry", "/v1/runs/" + run.ID + "/retry", struct{}{}, map[string]string{}},
	}
}

func (p place) members() []string {
	names := []string{"nobody_knows"}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(p.shape)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// body has the value as the member, and everything else as it should be.
func (p place) body(member, value string) string {
	var parts []string
	for name, fine := range p.fine {
		if name != member {
			parts = append(parts, fmt.Sprintf("%q:%s", name, fine))
		}
	}
	return "{" + strings.Join(append(parts, fmt.Sprintf("%q:%s", member, value)), ",") + "}"
}

// TestEveryMemberWithEveryOddValue sends each odd value as each member of each body, to a run that
// waits for its caller and to one that waits for a person. Whatever of it is taken can be read
// afterwards, everywhere it shows.
func TestEveryMemberWithEveryOddValue(t *testing.T) {
	a := attack(t)
	for _, agent := range []string{"waits", "asks"} {
		for i, p := range places(a.waiting(t, agent)) {
			if agent == "asks" && p.name != "a decision" {
				continue // it is the same for both
			}
			t.Run(agent+", "+p.name, func(t *testing.T) {
				a.during(t, func() {
					for _, member := range p.members() {
						run := a.waiting(t, agent)
						a.oddValues(t, places(run)[i], member)
						a.readable(t, run)
					}
				})
			})
		}
	}
	a.lists(t)
}

// oddValues sends them side by side, a few at a time.
func (a *attacked) oddValues(t *testing.T, p place, member string) {
	t.Helper()
	var wg sync.WaitGroup
	room := make(chan struct{}, 4)
	for name, value := range values {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			a.oddValue(t, p, member, name, value)
		})
	}
	wg.Wait()
}

func (a *attacked) oddValue(t *testing.T, p place, member, name, value string) {
	t.Helper()
	got, err := a.send(http.MethodPost, p.path, p.body(member, value))
	if err == nil {
		err = a.check(got)
	}
	if err != nil {
		t.Errorf("%s, %s as %q: %v", p.name, name, member, err)
		return
	}
	if slices.Contains(never, name) && got.code() != "malformed_body" {
		t.Errorf("%s, %s as %q: %s, want it refused as malformed", p.name, name, member, got)
	}
	a.readStarted(t, got)
}

// TestWholeBodiesThatAreNone sends each odd value as a body of its own.
func TestWholeBodiesThatAreNone(t *testing.T) {
	a := attack(t)
	run := a.waiting(t, "waits")
	for _, p := range places(run) {
		t.Run(p.name, func(t *testing.T) {
			a.during(t, func() {
				for name, value := range values {
					got, err := a.send(http.MethodPost, p.path, value)
					if err == nil {
						err = a.check(got)
					}
					if err != nil || got.status < 400 && value != "" && value != "{}" {
						t.Errorf("%s as the body: %v, %s", name, err, got)
					}
				}
			})
		})
	}
	a.readable(t, run)
}

// TestRandomBodies changes bytes of bodies that are fine.
func TestRandomBodies(t *testing.T) {
	a := attack(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	a.during(t, func() {
		for n := range 600 {
			run := wire.Run{ID: "run_x_0", ThreadID: "thr_x", Pending: []wire.Pending{{}}}
			all := places(run)
			p := all[random.IntN(len(all))]
			text := []byte(p.body("metadata", `{"a":[1.5e3,"b\u0041",null,true]}`))
			for range 1 + random.IntN(4) {
				text[random.IntN(len(text))] = byte(random.Uint32())
			}
			got, err := a.send(http.MethodPost, p.path, string(text))
			if err == nil {
				err = a.check(got)
			}
			if err != nil {
				t.Fatalf("seed %d, body %d, %s, %q: %v", seed, n, p.name, text, err)
			}
		}
	})
}

// waiting starts a run and waits until it waits.
func (a *attacked) waiting(t *testing.T, agent string) wire.Run {
	t.Helper()
	return a.waitingWith(t, agent, "x")
}

func (a *attacked) waitingWith(t *testing.T, agent, input string) wire.Run {
	t.Helper()
	run, err := a.api.StartRun(t.Context(), wire.StartRequest{Agent: agent, Input: json.RawMessage(`"` + input + `"`)}, "")
	if err == nil {
		run, err = a.api.PollRun(t.Context(), run.ID, 10*time.Second)
	}
	if err != nil || len(run.Pending) == 0 {
		t.Fatalf("%s does not wait: %+v, %v", agent, run, err)
	}
	return run
}

// readable reads everything that shows a run.
func (a *attacked) readable(t *testing.T, run wire.Run) {
	t.Helper()
	a.reads(t, "/v1/runs/"+run.ID, "/v1/runs/"+run.ID+"/events?limit=1000", "/v1/threads/"+run.ThreadID, "/v1/threads/"+run.ThreadID+"/messages",
		"/v1/threads/"+run.ThreadID+"/runs")
}

// readStarted reads the run that an answer shows, if it is about a new one.
func (a *attacked) readStarted(t *testing.T, got answer) {
	t.Helper()
	var run wire.Run
	if got.header.Get("Location") != "" && json.Unmarshal(got.body, &run) == nil {
		a.readable(t, run)
	}
}

func (a *attacked) lists(t *testing.T) {
	t.Helper()
	a.reads(t, "/v1/runs?limit=100", "/v1/approvals?limit=100", "/v1/agents")
}

func (a *attacked) reads(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		got, err := a.send(http.MethodGet, path, "")
		if err != nil || got.status != http.StatusOK || !json.Valid(got.body) {
			t.Errorf("%s: %v, %s", path, err, got)
		}
	}
}

func (a *attacked) send(method, path, body string) (answer, error) {
	req, err := http.NewRequest(method, "http://"+a.addr+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: got}, err
}
