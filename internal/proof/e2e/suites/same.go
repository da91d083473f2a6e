package suites

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// same: one list of calls, over HTTP and by the program, is sent to the stack and to `dormouse dev`
// with the same agents. What both answer must be equal once ids and times are replaced.
func same(ctx context.Context, t *Target, b *book) {
	agents := t.own("same")
	if !b.check("the agent of the list is deployed", t.deploy(ctx, agents)) {
		return
	}
	dev, err := startDev(ctx, t, agents)
	if !b.check("dormouse dev serves the same agent", err) {
		return
	}
	defer dev.stop()
	here := &caller{url: dev.url, token: dev.token, cli: t, vars: map[string]string{}, names: newNames()}
	there := &caller{url: t.API, token: t.Token, public: true, cli: t, vars: map[string]string{}, names: newNames()}
	for _, c := range callList {
		want, err := here.do(ctx, c)
		if err != nil {
			b.check(c.name, fmt.Errorf("dormouse dev: %w", err))
			return
		}
		got, err := there.do(ctx, c)
		if err == nil && got != want {
			err = fmt.Errorf("- is dormouse dev, + is the stack\n%s", difference(want, got))
		}
		b.check(c.name, err)
	}
}

// difference is where two answers part, and a few lines of what follows in each.
func difference(want, got string) string {
	const shown = 12
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	text := fmt.Sprintf("the same up to line %d:\n", n)
	for _, line := range a[max(0, n-2):min(n, len(a))] {
		text += "  " + line + "\n"
	}
	for _, line := range a[n:min(n+shown, len(a))] {
		text += "- " + line + "\n"
	}
	for _, line := range b[n:min(n+shown, len(b))] {
		text += "+ " + line + "\n"
	}
	return text
}

// dev is a server of this machine.
type dev struct {
	cmd        *exec.Cmd
	url, token string
}

// startDev starts it with one token, for the same tenant and name that the stack's has.
func startDev(ctx context.Context, t *Target, agents string) (*dev, error) {
	dir := filepath.Join(t.Dir, "dev")
	tokens := filepath.Join(dir, "tokens")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	_ = os.Remove(tokens) // of a run before, if the directory is kept
	out, err := t.command(ctx, os.Environ(), "tokens", "add", "proof", "--tenant", t.Tenant, "--roles", "admin", "--file", tokens)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	d := &dev{token: lines[len(lines)-1]}
	d.cmd = exec.CommandContext(ctx, t.CLI, "dev", "--json", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--agents", agents, "--tokens", tokens, "--tenant", t.Tenant)
	log, err := os.Create(filepath.Join(dir, "dev.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	d.cmd.Stderr = log
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var ready struct {
		URL string `json:"url"`
	}
	if err := errors.Join(err, json.Unmarshal(line, &ready)); err != nil {
		d.stop()
		return nil, fmt.Errorf("it does not say where it listens: %w; its log is %s", err, log.Name())
	}
	d.url = ready.URL
	return d, nil
}

func (d *dev) stop() {
	_ = d.cmd.Process.Kill() // it may have ended
	_ = d.cmd.Wait()
}

// call is one of the list. In path, body and args, {name} is what an answer before gave under that
// name.
type call struct {
	name   string
	method string
	path   string
	key    string // Idempotency-Key
	body   string
	args   []string // of the program, instead of HTTP
	settle string   // wait until the run under this name waits or is done, before
	take   map[string]string
}

// callList is what both are asked. Each answer is compared.
var callList = []call{
	{name: "health", method: "GET", path: "/healthz"},
	{name: "the agents", method: "GET", path: "/v1/agents/desk"},
	{name: "no such agent", method: "GET", path: "/v1/agents/nobody"},
	{name: "a run of no agent", method: "POST", path: "/v1/runs", body: `{"agent":"nobody","input":"x"}`},
	{name: "a body that is none", method: "POST", path: "/v1/runs", body: `{"agent":`},
	{name: "a member that is none", method: "POST", path: "/v1/runs", body: `{"agent":"desk","input":"x","color":"red"}`},
	{name: "a start", method: "POST", path: "/v1/runs", key: "same-1", body: `{"agent":"desk","input":"two lamps","metadata":{"for":"hall"}}`,
		take: map[string]string{"run": "id", "thread": "thread_id"}},
	{name: "it waits", method: "GET", path: "/v1/runs/{run}", settle: "run", take: map[string]string{"sus": "pending.0.suspension.id", "call": "pending.0.call_id"}},
	{name: "another body under its key", method: "POST", path: "/v1/runs", key: "same-1", body: `{"agent":"desk","input":"three lamps"}`},
	{name: "the events so far", method: "GET", path: "/v1/runs/{run}/events?limit=100"},
	{name: "a message while it waits", method: "POST", path: "/v1/threads/{thread}/messages", body: `{"input":"and?"}`},
	{name: "a decision on nothing", method: "POST", path: "/v1/runs/{run}/decisions", body: `{"target":"sus_nothing","action":"resume"}`},
	{name: "a decision with arguments that do not fit", method: "POST", path: "/v1/runs/{run}/decisions", body: `{"target":"{sus}","action":"resume","arguments":{"what":"lamp","count":90}}`},
	{name: "a decision", method: "POST", path: "/v1/runs/{run}/decisions", body: `{"decision_id":"d1","target":"{sus}","action":"resume","arguments":{"what":"lamp","count":3},"reason":"three will do"}`},
	{name: "it is done", method: "GET", path: "/v1/runs/{run}", settle: "run"},
	{name: "the same decision again", method: "POST", path: "/v1/runs/{run}/decisions", body: `{"decision_id":"d1","target":"{sus}","action":"resume","arguments":{"what":"lamp","count":3},"reason":"three will do"}`},
	{name: "another decision", method: "POST", path: "/v1/runs/{run}/decisions", body: `{"decision_id":"d2","target":"{sus}","action":"cancel"}`},
	{name: "the conversation", method: "GET", path: "/v1/threads/{thread}/messages"},
	{name: "all events", method: "GET", path: "/v1/runs/{run}/events?limit=100"},
	{name: "a cancel of what is done", method: "POST", path: "/v1/runs/{run}/cancel"},
	{name: "a retry of what did not fail", method: "POST", path: "/v1/runs/{run}/retry", body: ""},
	{name: "the program shows it", args: []string{"runs", "{run}", "--json"}},
	{name: "the program starts one that asks its caller", args: []string{"run", "desk", "where are you?", "--json"}, take: map[string]string{"run2": "id", "thread2": "thread_id"}},
	{name: "it waits for its caller", method: "GET", path: "/v1/runs/{run2}", settle: "run2", take: map[string]string{"sus2": "pending.0.suspension.id"}},
	{name: "a result that does not fit", method: "POST", path: "/v1/runs/{run2}/decisions", body: `{"target":"{sus2}","result":{"town":"Ulm"}}`},
	{name: "the program gives the result", args: []string{"decide", "{run2}", "{sus2}", "--result", `{"city":"Ulm"}`, "--json"}},
	{name: "that one is done", method: "GET", path: "/v1/runs/{run2}", settle: "run2"},
	{name: "the program shows the conversation", args: []string{"messages", "{thread2}", "--json"}},
	{name: "the program follows what happened", args: []string{"watch", "{run2}", "--json"}},
	{name: "another turn of the thread", method: "POST", path: "/v1/threads/{thread2}/messages", key: "same-2", body: `{"input":"let it fail"}`, take: map[string]string{"run3": "id"}},
	{name: "a call that is denied, and one that fails", method: "GET", path: "/v1/runs/{run3}", settle: "run3"},
	{name: "the thread", method: "GET", path: "/v1/threads/{thread2}"},
	{name: "the runs of the thread", method: "GET", path: "/v1/threads/{thread2}/runs"},
	{name: "one to be cancelled", method: "POST", path: "/v1/runs", key: "same-3", body: `{"agent":"desk","input":"two lamps"}`, take: map[string]string{"run4": "id"}},
	{name: "it waits, too", method: "GET", path: "/v1/runs/{run4}", settle: "run4"},
	{name: "it is cancelled", method: "POST", path: "/v1/runs/{run4}/cancel"},
	{name: "it is cancelled for good", method: "GET", path: "/v1/runs/{run4}", settle: "run4!"},
	{name: "no such run", method: "GET", path: "/v1/runs/run_nothing"},
	{name: "no such thread", method: "GET", path: "/v1/threads/thr_nothing/messages"},
	{name: "a cursor that is none", method: "GET", path: "/v1/runs?cursor=nonsense"},
	{name: "a limit that is none", method: "GET", path: "/v1/runs?limit=many"},
	{name: "nothing waits", method: "GET", path: "/v1/approvals?agent=desk"},
	{name: "the program, of what is not there", args: []string{"runs", "run_nothing", "--json"}},
}
